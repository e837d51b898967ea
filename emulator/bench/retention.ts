/**
 * Memory while many times the retained amount passes through. In each round messages are delivered or dead, then time
 * moves beyond the retention of log entries and dead letters.
 */
import { CALLERS, mega, seconds, type Rig } from './rig.ts';
import { stop } from '../../bench/measure.ts';

const PASSED = Number(process.env['PASSED'] ?? 10_000);
const ROUNDS = 8;
/** Address without a listener. */
const DEAD = 'http://127.0.0.1:1/';
/** Longer than any retention on the free plan. */
const LATER_MS = 8 * 86_400_000;

export async function retention(rig: Rig): Promise<void> {
  const sink = await rig.sink();
  const { child, url } = await rig.emulator(['--plan', 'free', '--control', '--time', 'virtual']);
  const body = 'x'.repeat(1_000);
  console.log(`\nretention: rounds of ${PASSED} messages, half of them dead in the end, then all expires`);
  const started = performance.now();
  for (let round = 0; round < ROUNDS; round++) {
    let left = PASSED;
    const caller = async (): Promise<void> => {
      for (let index = left--; index > 0; index = left--) {
        const way = index % 4 === 0 ? `trigger/${DEAD}` : `publish/${index % 4 === 1 ? DEAD : sink.url}`;
        const more = { 'svc-retries': '0', 'svc-label': `order-${round}-${index}` };
        await rig.send('POST', `${url}/v2/${way}`, { body, more });
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    const moved = JSON.stringify({ ms: LATER_MS });
    await rig.send('POST', `${url}/-/emulator/clock/advance`, { body: moved });
    const run = round === 0 ? 'first' : String(round + 1);
    console.log(`after ${run.padEnd(6)} ${mega(child)} resident, ${seconds(started)}`);
  }
  await stop(child);
  await stop(sink.child);
}

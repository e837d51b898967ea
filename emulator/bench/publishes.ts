/**
 * Publishes per second, in memory and with a folder, compared with the same requests sent directly to the sink (the
 * floor).
 */
import { join } from 'node:path';
import { CALLERS, mega, type Rig } from './rig.ts';
import { pause, stop } from '../../bench/measure.ts';

const MESSAGES = Number(process.env['MESSAGES'] ?? 20_000);

export async function publishes(rig: Rig): Promise<void> {
  const sink = await rig.sink();
  const memory = await rig.emulator();
  const kept = await rig.emulator(['--data', join(rig.folder, 'flood')]);
  const rivals = [
    { name: 'straight to the sink (floor)', target: sink.url, child: sink.child },
    { name: 'through the emulator', target: `${memory.url}/v2/publish/${sink.url}`, child: memory.child },
    { name: 'through the emulator, --data', target: `${kept.url}/v2/publish/${sink.url}`, child: kept.child },
  ];
  console.log(`${MESSAGES} messages, ${CALLERS} callers         accepted/s  delivered/s  memory afterwards`);
  // Round 0 warms up and is not printed.
  for (let round = 0; round <= 2; round++) {
    for (const { name, target, child } of rivals) {
      const { accepted, delivered } = await flood(rig, target, sink.url);
      const cells = [accepted, delivered].map((ms) => String(Math.round((MESSAGES / ms) * 1_000)).padStart(11));
      if (round > 0) console.log(`${name.padEnd(36)}${cells.join('  ')}   ${mega(child)}`);
    }
  }
  for (const { child } of rivals) await stop(child);
}

/** Sends `MESSAGES` requests. Returns milliseconds until the last response, and until the sink had all. */
async function flood(
  rig: Rig,
  target: string,
  sink: string,
): Promise<{ readonly accepted: number; readonly delivered: number }> {
  const before = Number(await rig.send('GET', sink));
  const started = performance.now();
  let left = MESSAGES;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await rig.send('POST', target);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const accepted = performance.now() - started;
  while (Number(await rig.send('GET', sink)) < before + MESSAGES) await pause(5);
  return { accepted, delivered: performance.now() - started };
}

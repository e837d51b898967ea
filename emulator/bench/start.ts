/**
 * Of the built package: start of `opsd emulator` to its first answered request, and its idle memory, beside `node -e 0`; and the time of
 * `startEmulator()` in a running process. Medians of one run.
 */
import { performance } from 'node:perf_hooks';
import { join } from 'node:path';
import { pause, residentBytes, stop, timeOf, untilScraped } from '../../bench/measure.ts';
import { build } from '../../deploy/package/build.ts';
import { freePort } from '../../test/support/free-port.ts';
import type { Rig } from './rig.ts';

const ROUNDS = 12;
/** After this time, the garbage of the start is collected. */
const IDLE_MS = 3_000;

export async function start({ folder }: Rig): Promise<void> {
  const dist = join(folder, 'dist');
  await build(dist);
  const floors: number[] = [];
  const starts: number[] = [];
  const resident: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const floor = await timeOf(process.execPath, ['-e', '0']);
    const listen = `127.0.0.1:${await freePort()}`;
    const args = [join(dist, 'opsd.js'), 'emulator', '--listen', listen];
    const { child, firstScrapeMs } = await untilScraped(process.execPath, args, `http://${listen}/health`);
    if (round >= 0 && round < 3) {
      await pause(IDLE_MS);
      resident.push(residentBytes(child.pid!) / 1e6);
    }
    await stop(child);
    // The first round fills the compile cache.
    if (round < 0) continue;
    floors.push(floor);
    starts.push(firstScrapeMs);
  }
  const [floor, started] = [median(floors), median(starts)];
  console.log(`node -e 0                              ${floor.toFixed(0)} ms`);
  console.log(`opsd emulator, to the first response   ${started.toFixed(0)} ms, ${(started / floor).toFixed(2)} times`);
  console.log(`  idle                                 ${median(resident).toFixed(0)} MB`);
  await library(join(dist, 'emulator.js'));
}

async function library(path: string): Promise<void> {
  const loading = performance.now();
  const { startEmulator } = (await import(path)) as typeof import('msgsvc-emulator');
  const loaded = performance.now();
  const times: number[] = [];
  for (let round = 0; round < 51; round++) {
    const before = performance.now();
    const emulator = await startEmulator();
    times.push(performance.now() - before);
    await emulator.stop();
  }
  const [first, ...later] = times;
  console.log(`import of the library                  ${(loaded - loading).toFixed(0)} ms`);
  console.log(`startEmulator(), first; later          ${first!.toFixed(1)} ms; ${median(later).toFixed(1)} ms`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

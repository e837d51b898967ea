/**
 * Runs the demo for virtual hours (HOURS, default 24): after the first hour the memory of the process stays within a
 * tenth. One case runs the embedded service alone, the other one runs it with the daemon.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';

const ROOT = join(import.meta.dirname, '../..');
const HOURS = Number(process.env['HOURS'] ?? 24);
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { start: string } };
/**
 * Settings of `npm start`. The allocator's variables keep it from holding freed memory in pieces. The flags keep V8
 * from growing the heap to a multiple of what is in use.
 */
const ALLOCATOR = Object.fromEntries(
  [...scripts.start.matchAll(/(MALLOC_\w+)=(\d+)/g)].map(([, name, value]) => [name!, value!]),
);
const FLAGS = scripts.start.split(' ').filter((word) => word.startsWith('--'));
const PROGRAM = join(ROOT, 'test/support/programs/virtual-demo.ts');

interface Sample {
  readonly minutes: number;
  readonly rss: number;
}

test.each(['service', 'both'])('the memory of the demo: %s', { timeout: HOURS * 1_800_000 }, async (what) => {
  const program = start(process.execPath, ['--expose-gc', ...FLAGS, PROGRAM, String(HOURS), what], { env: ALLOCATOR });
  expect(await program.ended).toMatchObject({ code: 0 });
  const lines = program.stdout().trimEnd().split('\n');
  process.stdout.write(`${what}\n${lines.join('\n')}\n`);
  const samples = lines.map((line) => JSON.parse(line) as Sample);
  const first = samples.find(({ minutes }) => minutes === 60)!;
  const later = samples.filter(({ minutes }) => minutes > 60).map(({ rss }) => rss);
  expect(later.length).toBeGreaterThan(0);
  expect(Math.max(...later)).toBeLessThan(1.1 * first.rss);
});

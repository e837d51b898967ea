/** All files with properties, REPEATS times (default 20): each time with other cases, and the costly ones with all of them. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';

const ROOT = join(import.meta.dirname, '../..');

const files = globSync(['test/**/*.test.ts', 'emulator/test/**/*.test.ts'], {
  cwd: ROOT,
  exclude: ['test/system/**', 'test/soak/**'],
}).filter((path) => /\bfc\.(property|asyncProperty)\(/.test(readFileSync(join(ROOT, path), 'utf8')));

const ROUND = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--reporter', 'dot', ...files];
const rounds = Array.from({ length: Number(process.env['REPEATS'] ?? 20) }, (_, index) => index + 1);

test.each(rounds)('properties hold with other cases, round %i', { timeout: 3_600_000 }, async () => {
  expect(files.length).toBeGreaterThan(90);
  const { code, stdout } = await start(process.execPath, ROUND, { env: { OPSD_TEST_CASES: '1' } }).output();
  expect(code, stdout).toBe(0);
});

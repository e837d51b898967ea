/** All files with properties, REPEATS times (default 20): each time with other cases, and the costly ones with all of them. */
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

const files = globSync(['test/**/*.test.ts', 'emulator/test/**/*.test.ts'], {
  cwd: ROOT,
  exclude: ['test/system/**', 'test/soak/**'],
}).filter((path) => /\bfc\.(property|asyncProperty)\(/.test(readFileSync(join(ROOT, path), 'utf8')));

const run = async (): Promise<string> => {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--reporter', 'dot', ...files];
  const options = { cwd: ROOT, env: { ...process.env, OPSD_TEST_CASES: '1' }, maxBuffer: Infinity };
  try {
    await promisify(execFile)(process.execPath, args, options);
    return '';
  } catch (error) {
    return (error as { stdout?: string }).stdout || String(error);
  }
};

const repeats = Array.from({ length: Number(process.env['REPEATS'] ?? 20) }, (_, index) => index + 1);

test.each(repeats)('properties hold with other cases, round %i', { timeout: 3_600_000 }, async () => {
  expect(files.length).toBeGreaterThan(90);
  expect(await run()).toBe('');
});

/** The loader of the bundle, in processes of its own over files that stand for the bundle. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const LOADER = join(import.meta.dirname, '../../deploy/package/load.js');

interface Part {
  readonly state: string;
  readonly code: Buffer;
}

let folder: string;
let cache: string;

beforeEach(() => {
  folder = tempDir();
  cache = join(tempDir(), 'run.parts');
  writeFileSync(join(folder, 'main.cjs'), `console.log(require('./part.cjs').said(), require('node:path').sep);`);
  writePart('first');
});

function writePart(word: string): void {
  writeFileSync(join(folder, 'part.cjs'), `exports.said = function said() { return '${word}'; };`);
}

/** Returns what the program prints. */
function run(file: string | undefined = cache): string {
  const code = `import { load } from ${JSON.stringify(LOADER)};
load(${JSON.stringify(folder)}, 'main.cjs', ${JSON.stringify(file)});`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }).trim();
}

function kept(): Map<string, Part> {
  return deserialize(readFileSync(cache).subarray(4)) as Map<string, Part>;
}

/** Writes a cache as the loader does. */
function keep(parts: Map<string, Part>): void {
  const bytes = serialize(parts);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(bytes));
  writeFileSync(cache, Buffer.concat([checksum, bytes]));
}

/** Leaves a cache whose part `part.cjs` has the code of another source, as if it were the source's own. */
function keepOtherCode(): void {
  run();
  const ofFirst = kept();
  writePart('other');
  const { state } = (run(), kept().get('part.cjs')!);
  keep(new Map([...ofFirst, ['part.cjs', { state, code: ofFirst.get('part.cjs')!.code }]]));
}

test('a second start runs the code that the first one kept', () => {
  expect(run()).toBe('first /');
  expect([...kept().keys()].toSorted()).toEqual(['main.cjs', 'part.cjs']);
  expect(statSync(cache).mode & 0o077).toBe(0);
  keepOtherCode();
  // The code of the cache ran, not that of the source.
  expect(run()).toBe('first /');
});

test('a damaged cache is not run', () => {
  keepOtherCode();
  const whole = readFileSync(cache);
  for (const at of [0, 4, 11, whole.length - 1]) {
    const bytes = Buffer.from(whole);
    bytes[at]! ^= 1;
    writeFileSync(cache, bytes);
    expect(run(), `byte ${at}`).toBe('other /');
  }
  for (const damaged of ['', 'abc', 'no cache at all']) {
    writeFileSync(cache, damaged);
    expect(run()).toBe('other /');
  }
});

test('a file of the same length that was written later is run, whatever its times say', () => {
  expect(run()).toBe('first /');
  const part = join(folder, 'part.cjs');
  const { atime, mtime } = statSync(part);
  writePart('other');
  utimesSync(part, atime, mtime);
  expect(run()).toBe('other /');
  expect(run()).toBe('other /');
});

test('a start with other parts keeps those that still exist', () => {
  run();
  const before = kept();
  keep(new Map([...before, ['gone-1234.cjs', before.get('part.cjs')!]]));
  writeFileSync(join(folder, 'main.cjs'), `console.log('alone');`);
  expect(run()).toBe('alone');
  expect([...kept().keys()].toSorted()).toEqual(['main.cjs', 'part.cjs']);
});

test('a complete cache is not written again, and a failed command writes none', () => {
  run();
  const { mtimeMs, ino } = statSync(cache);
  run();
  expect(statSync(cache)).toMatchObject({ mtimeMs, ino });
  cache = join(tempDir(), 'typo.parts');
  writeFileSync(join(folder, 'main.cjs'), 'process.exitCode = 64;');
  expect(() => run()).toThrow('Command failed');
  expect(existsSync(cache)).toBe(false);
});

test('without a cache, or without a place for it, the program runs', () => {
  expect(run(join(folder, 'absent/run.parts'))).toBe('first /');
  const code = `import { load } from ${JSON.stringify(LOADER)}; load(${JSON.stringify(folder)}, 'main.cjs', undefined);`;
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }).trim()).toBe(
    'first /',
  );
  expect(readdirSync(folder).toSorted()).toEqual(['main.cjs', 'part.cjs']);
});

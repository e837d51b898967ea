/** A program without its symbols: smaller, and the same otherwise. Linux alone has programs of this format. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withoutSymbols } from '../../deploy/image/symbols.ts';
import { tempDir } from '../support/temp-dir.ts';

test.runIf(process.platform === 'linux')('Node without symbols runs, and its crash reports name functions', () => {
  const whole = readFileSync(process.execPath);
  const program = withoutSymbols(whole);
  expect(program.length).toBeLessThan(whole.length);
  expect(withoutSymbols(program).equals(program)).toBe(true);
  const file = join(tempDir(), 'node');
  writeFileSync(file, program, { mode: 0o755 });
  const script = 'process.report.getReport().nativeStack[0].symbol + process.version';
  const said = execFileSync(file, ['--print', script], { encoding: 'utf8' });
  expect(said).toContain('node::');
  expect(said).toContain(process.version);
});

test('files of other formats stay the same', () => {
  const script = Buffer.from('#!/bin/sh\n');
  expect(withoutSymbols(script)).toBe(script);
});

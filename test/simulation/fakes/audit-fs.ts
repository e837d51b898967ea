/** `node:fs` of the audit log, whose writes may fail, and in which the process may end. */
import * as fs from 'node:fs';
import { writeOrFail } from '../disk.ts';
import { currentProcess } from '../loop.ts';

export * from 'node:fs';

export function writeSync(fd: number, bytes: Buffer | string, ...rest: number[]): number {
  if (typeof bytes === 'string') return fs.writeSync(fd, bytes, rest[0]);
  const [offset = 0, length = bytes.length, position] = rest;
  return writeOrFail(currentProcess(), length, (count) => fs.writeSync(fd, bytes, offset, count, position));
}

/**
 * Folder for the files of tests, in memory if that has room: on a disk, those of one database can cost a third of a second.
 * Writes of a process that is killed are as durable there.
 */
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

export const MEMORY = '/dev/shm';
const ROOM_BYTES = 4e9;

/** Returns the folder. That of `TMPDIR` has precedence. */
export function memoryDir(): string {
  return process.env['TMPDIR'] === undefined && isUsable() ? MEMORY : tmpdir();
}

/** Tests run programs that they write, too. */
function isUsable(): boolean {
  if (
    !existsSync(MEMORY) ||
    new RegExp(`^\\S+ ${MEMORY} .*\\bnoexec\\b`, 'm').test(readFileSync('/proc/self/mounts', 'utf8'))
  )
    return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ROOM_BYTES;
}

/** Sets the folder for all tests and the programs that they start. */
export function setup(): void {
  process.env['TMPDIR'] = memoryDir();
}

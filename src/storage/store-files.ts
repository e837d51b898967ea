/** Files of a store. */
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';

/** Makes a file durable, or the names of the files in a folder. */
export function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Removes a store and the files that an interrupted SQLite leaves beside it. */
export function removeStore(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
}

/**
 * Mark of a clean stop: a file beside the store with the checksum of the whole store file. A store whose content is
 * unchanged since its closing needs no other check. Computing the checksum is fast: 0.9 s per GB.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';

const CHUNK_BYTES = 1_048_576;

/**
 * Compares the store with its mark. Must be called while this process does not have the store open: closing a
 * descriptor of a file drops the process's locks on it.
 */
export function isAsClosed(path: string): boolean {
  try {
    return readFileSync(markOf(path), 'utf8') === checksum(path) && !existsSync(`${path}-wal`);
  } catch {
    return false;
  }
}

/** @returns false if the store had no mark */
export function removeMark(path: string): boolean {
  const isMarked = existsSync(markOf(path));
  rmSync(markOf(path), { force: true });
  return isMarked;
}

/** Marks a closed store. Without the mark, the next opening checks the whole store. */
export function markClosed(path: string): void {
  try {
    if (existsSync(`${path}-wal`)) return;
    writeFileSync(markOf(path), checksum(path), { mode: 0o600 });
  } catch {
    rmSync(markOf(path), { force: true });
  }
}

function markOf(path: string): string {
  return `${path}.clean`;
}

function checksum(path: string): string {
  const fd = openSync(path, 'r');
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let sum = 0;
    let bytes = 0;
    for (let read; (read = readSync(fd, chunk, 0, CHUNK_BYTES, null)) > 0; bytes += read) {
      sum = crc32(chunk.subarray(0, read), sum);
    }
    return `${bytes} bytes, crc32 ${sum.toString(16).padStart(8, '0')}\n`;
  } finally {
    closeSync(fd);
  }
}

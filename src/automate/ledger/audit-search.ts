/**
 * Search of the audit log's files, newest record first. It reads the files backwards in blocks, and a bounded number of
 * bytes per call; a cursor continues. Records that arrive in the meantime are newer, and change nothing for it.
 */
import { statSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { AuditRecord } from './audit-log.ts';
import { AuditCursorError, type AuditPage, type AuditQuery } from './audit-reading.ts';
import { matcherOf } from './audit-match.ts';
import { segmentsOf } from './audit-reader.ts';

const BLOCK_BYTES = 262_144;
/** Maximum number of bytes to read per call. A single longer line is still read. */
const MOST_BYTES = 8 * 1_048_576;
interface LogFile {
  readonly path: string;
  /** Identity of the file, which stays when the active file becomes a segment. */
  readonly inode: number;
  readonly size: number;
}

/** @throws {AuditCursorError} if the cursor is invalid; other errors if a file cannot be read */
export async function searchAudit(path: string, query: AuditQuery, signal: AbortSignal): Promise<AuditPage> {
  const files = newestFirst(path);
  const { index, end } = startOf(files, query.cursor);
  const matches = matcherOf(query);
  const records: AuditRecord[] = [];
  let damaged = 0;
  let left = MOST_BYTES;
  for (let at = index; at < files.length; at += 1) {
    const file = files[at]!;
    const handle = await open(file.path).catch((error: NodeJS.ErrnoException) => error);
    // A segment may be moved away during the search.
    if (handle instanceof Error) {
      if (handle.code === 'ENOENT') continue;
      throw handle;
    }
    try {
      const upTo = at === index ? end : file.size;
      for await (const { text, start } of linesBackwards(handle, upTo, upTo < file.size)) {
        signal.throwIfAborted();
        const found = matches(text);
        if (found === 'damaged') damaged += 1;
        else if (found === 'end') return { records, damaged };
        else if (found !== undefined) records.push(found);
        const isFull = records.length >= query.limit || left - (upTo - start) <= 0;
        if (isFull) return { records, damaged, ...continued(files, at, start) };
      }
      left -= upTo;
    } finally {
      await handle.close();
    }
  }
  return { records, damaged };
}

/** Files of the log, the active one first. A file that is renamed at this moment is listed once. */
function newestFirst(path: string): readonly LogFile[] {
  const files: LogFile[] = [];
  for (const file of [path, ...segmentsOf(path).toReversed()]) {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined || files.some(({ inode }) => inode === stat.ino)) continue;
    files.push({ path: file, inode: stat.ino, size: stat.size });
  }
  return files;
}

function startOf(
  files: readonly LogFile[],
  cursor: string | undefined,
): { readonly index: number; readonly end: number } {
  if (cursor === undefined) return { index: 0, end: files[0]?.size ?? 0 };
  const [, inode, end] = /^(\d{1,20})\.(\d{1,15})$/.exec(cursor) ?? [];
  const index = files.findIndex((file) => file.inode === Number(inode));
  if (index === -1 || Number(end) > files[index]!.size) {
    throw new AuditCursorError('the cursor names no position in the audit log; start again without a cursor');
  }
  return { index, end: Number(end) };
}

function continued(files: readonly LogFile[], at: number, start: number): { readonly cursor?: string } {
  if (start > 0) return { cursor: `${files[at]!.inode}.${start}` };
  const older = files[at + 1];
  return older === undefined ? {} : { cursor: `${older.inode}.${older.size}` };
}

/**
 * Whole lines before `end`, last one first. `start` is the offset of the line.
 *
 * @param isAtLine true if a line must end at `end`; else bytes after the last end of a line are left out
 */
async function* linesBackwards(
  handle: FileHandle,
  end: number,
  isAtLine: boolean,
): AsyncGenerator<{ readonly text: string; readonly start: number }> {
  // Bytes between `from` and the last yielded line.
  let pending = Buffer.alloc(0);
  let from = end;
  let isWhole = false;
  while (from > 0) {
    const length = Math.min(BLOCK_BYTES, from);
    const block = Buffer.alloc(length);
    const { bytesRead } = await handle.read(block, 0, length, from - length);
    if (bytesRead !== length) throw new Error('the file became shorter during the search');
    pending = Buffer.concat([block, pending]);
    from -= length;
    for (;;) {
      // The byte before a line is the end of the previous one. The last line's own end is left out.
      const lineEnd = isWhole ? pending.length - 1 : pending.length;
      const newline = lineEnd === 0 ? -1 : pending.lastIndexOf(0x0a, lineEnd - 1);
      if (newline === -1) break;
      if (isWhole) yield { text: pending.toString('utf8', newline + 1, lineEnd), start: from + newline + 1 };
      else if (isAtLine && newline !== pending.length - 1) break;
      // A last line without its end is a write in progress, and is left out.
      isWhole = true;
      pending = pending.subarray(0, newline + 1);
    }
  }
  if (isAtLine && !isWhole && end > 0) throw new AuditCursorError('the cursor names no record; start again without it');
  if (isWhole && pending.length > 1) yield { text: pending.toString('utf8', 0, pending.length - 1), start: 0 };
}

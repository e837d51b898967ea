/** Lines of the audit log's files, read without waiting: the work of a transaction cannot await. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { segmentsOf } from '#automate/ledger/audit-reader.ts';

const CHUNK_BYTES = 1_048_576;

/** Complete lines of the segments and of the active file, oldest first. */
export function* auditLines(path: string): Generator<string> {
  for (const file of [...segmentsOf(path), path]) if (existsSync(file)) yield* linesOf(file);
}

function* linesOf(file: string): Generator<string> {
  const fd = openSync(file, 'r');
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const decoder = new StringDecoder('utf8');
    let rest = '';
    for (let read; (read = readSync(fd, chunk, 0, CHUNK_BYTES, null)) > 0;) {
      const lines = (rest + decoder.write(chunk.subarray(0, read))).split('\n');
      rest = lines.pop()!;
      yield* lines;
    }
  } finally {
    closeSync(fd);
  }
}

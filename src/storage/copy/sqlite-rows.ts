/** Rows of a store on SQLite and lines of its audit log, read without waiting: the work of a transaction cannot await. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StringDecoder } from 'node:string_decoder';
import { auditPathOf, segmentsOf } from '#automate/ledger/audit-reader.ts';
import type { Row } from '../database.ts';
import { AUDIT, valuesOf, type CopiedTable, type Values } from './tables.ts';

const CHUNK_BYTES = 1_048_576;

export function* sqliteRows(db: DatabaseSync, path: string, table: CopiedTable): Generator<Values> {
  if (table === AUDIT) for (const line of auditLines(auditPathOf(path))) yield [line];
  else for (const row of db.prepare(table.select).iterate()) yield valuesOf(table, row as Row);
}

/** Complete lines of the segments and of the active file, oldest first. */
function* auditLines(path: string): Generator<string> {
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

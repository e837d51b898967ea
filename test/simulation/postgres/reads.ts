/**
 * Reads that PGlite need not run again: transactions that only read, and whose statements had the same results since the
 * last write. The daemon reads the same rows every few seconds.
 */
import type { Batch, Connection } from './connection.ts';
import { message, messagesOf, type Session } from './session.ts';

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL';
const BEGUN = Buffer.concat([message('C', 'BEGIN\0'), message('C', 'SET\0'), message('C', 'SET\0'), message('Z', 'T')]);
const COMMITTED = Buffer.concat([message('C', 'COMMIT\0'), message('Z', 'I')]);
const ROLLED_BACK = Buffer.concat([message('C', 'ROLLBACK\0'), message('Z', 'I')]);

const WRITTEN = /\b(?:INSERT INTO|UPDATE|DELETE FROM|TABLE)\s+(\w+)/gi;
const READ = /\b(?:FROM|JOIN)\s+(\w+)/gi;
/** Results of these change without a write. */
const VOLATILE = /clock_timestamp|pg_/;

/** Bytes of the state in ReadyForQuery. */
const IN_TRANSACTION = 'T'.charCodeAt(0);
const FAILED = 'E'.charCodeAt(0);

export class Reads {
  readonly #session: Session;
  /** Results, with the number of writes to their tables at that time. */
  readonly #results = new Map<string, { readonly response: Uint8Array; readonly writes: number }>();
  /** Number of writes to each table. The schema has neither triggers nor views. */
  readonly #writes = new Map<string, number>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** Runs a statement of a connection that has the session. */
  respond(connection: Connection, batch: Batch): Uint8Array {
    if (!connection.isOpen && batch.text.startsWith(BEGIN)) {
      connection.isReading = true;
      connection.isFailed = false;
      return BEGUN;
    }
    connection.isReading &&= connection.isOpen;
    if (!connection.isReading) this.#note(batch);
    const response = connection.isReading ? this.#read(batch, connection.isFailed) : this.#session.run(batch.bytes);
    connection.isFailed = response.at(-1) === FAILED;
    return response;
  }

  #read({ bytes, text }: Batch, isFailed: boolean): Uint8Array {
    if (text === 'COMMIT' && !isFailed) return COMMITTED;
    if (text === 'COMMIT' || text === 'ROLLBACK') return ROLLED_BACK;
    const key = bytes.toString('latin1');
    const writes = tablesOf(key, READ).reduce((sum, table) => sum + (this.#writes.get(table) ?? 0), 0);
    const known = this.#results.get(key);
    if (known?.writes === writes) return known.response;
    const response = this.#session.run(bytes);
    const isError = messagesOf(response).some(({ type }) => type === 'E');
    response[response.length - 1] = isError ? FAILED : IN_TRANSACTION;
    if (!isError && !VOLATILE.test(key)) this.#results.set(key, { response, writes });
    return response;
  }

  /** Notes what a statement of another transaction may change. */
  #note({ bytes }: Batch): void {
    for (const table of tablesOf(bytes.toString('latin1'), WRITTEN)) {
      this.#writes.set(table, (this.#writes.get(table) ?? 0) + 1);
    }
  }
}

function tablesOf(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, table]) => table!.toLowerCase());
}

/**
 * Moves a store between SQLite and PostgreSQL, in one transaction of PostgreSQL: the other end is read or written
 * between its statements. The last step before its commit marks the source as moved. So a process that is killed leaves
 * no moment in which daemons could use both stores.
 */
import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import type { Value, Work } from '../database.ts';
import { verifyTable } from '../postgres/audit-table.ts';
import { CommitUnknownError } from '../postgres/postgres-error.ts';
import type { PostgresDatabase } from '../postgres/postgres-database.ts';
import { markMoved, unmarkMoved } from '../moved-store.ts';
import { StoreError } from '../store-error.ts';
import {
  beginDestination,
  beginSource,
  endLeases,
  keepLastIds,
  readLastIds,
  readMeta,
  readRows,
  writeMeta,
  writeRows,
} from './postgres-end.ts';
import { createSqlitePart, type SqlitePart } from './sqlite-part.ts';
import { openSqliteSource, type SqliteSource } from './sqlite-source.ts';
import { AUDIT, copiedTables, type Values } from './tables.ts';

export interface CopySummary {
  readonly from: string;
  readonly to: string;
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
  readonly audit: { readonly records: number; readonly head?: string };
}

export interface CopyWatch {
  /** @param rows number of rows that this step has read so far */
  readonly onProgress: (step: 'check' | 'copy' | 'verify', table: string, rows: number) => void;
  readonly signal: AbortSignal;
}

const CHUNK_ROWS = 1_000;
const CHUNK_SIZE = 1_048_576;

/** @throws {StoreError} if a store cannot be used, or the copy differs; nothing was changed then */
export async function moveToPostgres(path: string, database: PostgresDatabase, watch: CopyWatch): Promise<CopySummary> {
  const to = `postgres:${database.place}`;
  watch.onProgress('check', path, 0);
  using source = await openSqliteSource(path);
  try {
    const counts = await database.transaction(intoPostgres(source, database.place, watch));
    return { from: placeOfSqlite(path), to, ...counts };
  } catch (error) {
    // The database may have the store: then this one must not be used any more.
    if (error instanceof CommitUnknownError) throw undecided(error, to);
    source.unmark();
    throw error;
  }
}

type Counts = Pick<CopySummary, 'tables' | 'audit'>;

function* intoPostgres(source: SqliteSource, place: string, watch: CopyWatch): Work<Counts> {
  yield* beginDestination(place);
  const digests = yield* digestsOf(readerOf(source), 'copy', watch, writeRows);
  yield* writeMeta(source.meta);
  yield* keepLastIds(source.lastIds);
  const written = yield* digestsOf(readRows, 'verify', watch);
  assertSame(digests, written, place);
  const head = yield* assertAudit(place);
  source.mark(`postgres:${place}`);
  return summaryOf(written, head);
}

/** @throws {StoreError} if a store cannot be used, or the copy differs; nothing was changed then */
export async function moveToSqlite(database: PostgresDatabase, path: string, watch: CopyWatch): Promise<CopySummary> {
  using part = createSqlitePart(path);
  const to = placeOfSqlite(path);
  const counts = await database.transaction(intoSqlite(part, database.place, to, watch)).catch((error: unknown) => {
    if (error instanceof CommitUnknownError) throw undecided(error, to);
    throw error;
  });
  try {
    part.publish();
  } catch (error) {
    await database.transaction(unmarkMoved());
    throw error;
  }
  return { from: `postgres:${database.place}`, to, ...counts };
}

function* intoSqlite(part: SqlitePart, place: string, to: string, watch: CopyWatch): Work<Counts> {
  yield* beginSource(place);
  watch.onProgress('check', AUDIT.name, 0);
  const head = yield* assertAudit(place);
  const digests = yield* digestsOf(readRows, 'copy', watch, (table, rows) => {
    part.write(table, rows);
    return undefined;
  });
  part.commit(yield* readMeta(), yield* readLastIds());
  const written = yield* digestsOf(readerOf(part), 'verify', watch);
  assertSame(digests, written, to);
  part.seal();
  yield* endLeases();
  yield* markMoved(to);
  return summaryOf(written, head);
}

type Digests = ReadonlyMap<string, RowDigest>;

/** Reads all tables of one end. @param write passes the rows to the other end */
function* digestsOf(
  read: typeof readRows,
  step: 'copy' | 'verify',
  { onProgress, signal }: CopyWatch,
  write?: (...given: Parameters<typeof writeRows>) => Work<void> | undefined,
): Work<Digests> {
  const digests = new Map<string, RowDigest>();
  for (const table of copiedTables()) {
    const digest = new RowDigest();
    digests.set(table.name, digest);
    yield* read(table, function* (rows) {
      signal.throwIfAborted();
      for (const values of rows) digest.add(values);
      onProgress(step, table.name, digest.rows);
      const work = write?.(table, rows);
      if (work !== undefined) yield* work;
    });
  }
  return digests;
}

/** Reads an end on SQLite. */
function readerOf(end: Pick<SqlitePart, 'rows'>): typeof readRows {
  return function* (table, take) {
    for (const rows of chunks(end.rows(table))) yield* take(rows);
  };
}

/** @throws {StoreError} */
function assertSame(read: Digests, written: Digests, place: string): void {
  for (const [table, { rows, digest }] of read) {
    const copy = written.get(table)!;
    if (copy.rows === rows && copy.digest === digest) continue;
    const difference = copy.rows === rows ? 'other values' : `${copy.rows} of ${rows} rows`;
    throw new StoreError(`${place}: the copy is wrong: ${table} has ${difference}. The source was not changed.`);
  }
}

/**
 * @returns the last record
 * @throws {StoreError} if the chain of the audit table is broken
 */
function* assertAudit(place: string): Work<string | undefined> {
  const { finding, head } = yield* verifyTable();
  if (finding !== undefined) throw new StoreError(`${place}: the audit log is damaged: ${finding.problem}.`);
  return head && `${head.sequence}:${head.hash}`;
}

function summaryOf(digests: Digests, head: string | undefined): Counts {
  const counts = [...digests].map(([table, { rows }]) => ({ table, rows }));
  return { tables: counts.filter(({ table }) => table !== AUDIT.name), audit: { records: counts.at(-1)!.rows, head } };
}

function undecided(error: CommitUnknownError, to: string): StoreError {
  return new StoreError(
    `${error.message}. The source is marked as moved to ${to}. If the copy is not there, run "opsd state copy --undo" and copy again.`,
    { cause: error },
  );
}

function* chunks(rows: Iterable<Values>): Generator<readonly Values[]> {
  let chunk: Values[] = [];
  let size = 0;
  for (const values of rows) {
    chunk.push(values);
    for (const value of values) if (typeof value === 'string' || value instanceof Uint8Array) size += value.length;
    if (chunk.length < CHUNK_ROWS && size < CHUNK_SIZE) continue;
    yield chunk;
    chunk = [];
    size = 0;
  }
  if (chunk.length > 0) yield chunk;
}

function placeOfSqlite(path: string): string {
  return `sqlite:${resolve(path)}`;
}

const DIGITS = 12;
const MODULUS = 2 ** 48;

/** Number and checksum of the rows of a table, in any order. */
class RowDigest {
  rows = 0;
  /** Sums of two halves of the rows' hashes, each an exact integer. */
  #high = 0;
  #low = 0;

  add(values: Values): void {
    const digest = hash('sha256', values.map(encoded).join(''));
    this.rows += 1;
    this.#high = (this.#high + Number.parseInt(digest.slice(0, DIGITS), 16)) % MODULUS;
    this.#low = (this.#low + Number.parseInt(digest.slice(DIGITS, 2 * DIGITS), 16)) % MODULUS;
  }

  get digest(): string {
    return [this.#high, this.#low].map((half) => half.toString(16).padStart(DIGITS, '0')).join('');
  }
}

/** Returns a text that is unique to the value, also at the start of a longer text. */
function encoded(value: Value): string {
  if (typeof value === 'string') return `${value.length}:${value}`;
  if (value instanceof Uint8Array) return `x${hash('sha256', value)};`;
  return `${value};`;
}

/** Statements on the side of PostgreSQL. */
import { parseAuditRecord } from '#automate/ledger/audit-chain.ts';
import { all, each, get, run, type Work } from '../database.ts';
import { assertNotMoved } from '../moved-store.ts';
import { DATABASE_CLOCK } from '../postgres/lease-table.ts';
import { lockFor } from '../postgres/locks.ts';
import { migrated } from '../postgres/migrate.ts';
import { POSTGRES_MIGRATIONS } from '../postgres/schema.ts';
import { StoreError } from '../store-error.ts';
import { assertSchema } from './sqlite-source.ts';
import { AUDIT, valuesOf, type CopiedTable, type Values } from './tables.ts';

const TABLES = 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename';

const FETCHED_ROWS = 200;

/** Between two statements, SQLite may be busy for minutes. */
const LIMITS = `SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
  SET LOCAL lock_timeout = '10s'`;

/** Key that only PostgreSQL has. */
const OWN_KEY = 'schema';

/**
 * Makes the database an empty store with the schema.
 *
 * @throws {StoreError} if it has any content
 */
export function* beginDestination(place: string): Work<void> {
  yield* run(LIMITS);
  yield* lockFor('schema');
  const tables = yield* tableNames();
  if (tables.length > 0) yield* assertEmpty(place, tables);
  else yield* migrated(place, POSTGRES_MIGRATIONS);
  yield* run('DELETE FROM meta WHERE key <> ?', OWN_KEY);
}

function* assertEmpty(place: string, tables: readonly string[]): Work<void> {
  yield* assertStore(place);
  // A replica that joins waits for the end of the copy.
  yield* run('LOCK TABLE replicas IN EXCLUSIVE MODE');
  for (const table of tables) {
    if (table === 'meta') continue;
    const row = yield* get(`SELECT 1 AS one FROM "${table}" LIMIT 1`);
    if (row === undefined) continue;
    throw new StoreError(`${place}: the database is not empty: table ${table} has rows. Create an empty database.`);
  }
}

function* assertStore(place: string): Work<void> {
  yield* assertSchemaOf(place);
  yield* assertNotMoved(place);
}

/** @throws {StoreError} if the database is not a store, or has another schema */
export function* assertSchemaOf(place: string): Work<void> {
  const tables = yield* tableNames();
  const row = tables.includes('meta') ? yield* get(`SELECT value FROM meta WHERE key = 'schema'`) : undefined;
  if (row === undefined) {
    const found = tables.length === 0 ? 'it has no tables' : `it has the tables ${tables.slice(0, 3).join(', ')}`;
    throw new StoreError(`${place}: the database is not a store of opsd: ${found}. Check the URL.`);
  }
  assertSchema(Number(row['value']), place, POSTGRES_MIGRATIONS.length);
}

function* tableNames(): Work<readonly string[]> {
  return (yield* all(TABLES)).map(({ name }) => String(name));
}

/**
 * Locks a store against all changes.
 *
 * @throws {StoreError} if a replica is alive
 */
export function* beginSource(place: string): Work<void> {
  yield* run(LIMITS);
  yield* assertStore(place);
  const tables = yield* tableNames();
  // First without locks, which a live replica would wait for.
  yield* assertNoReplica(place);
  yield* lockFor('schema');
  // The check of a lease waits for this lock, and then fails because of the new epoch.
  yield* run('LOCK TABLE leases, replicas IN EXCLUSIVE MODE');
  yield* run(`LOCK TABLE ${tables.map((table) => `"${table}"`).join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
  yield* assertNoReplica(place);
  yield* assertNotMoved(place);
}

function* assertNoReplica(place: string): Work<void> {
  const rows = yield* all(`SELECT name FROM replicas WHERE expires_at > ${DATABASE_CLOCK} ORDER BY name`);
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => String(name)).join(', ');
  throw new StoreError(
    `${place}: the store is in use by ${names}. Stop all daemons first. A daemon that was killed counts as stopped after storage.postgres.leaseFor.`,
  );
}

/** Ends all leases: a process that still believes to have one can commit nothing. */
export function* endLeases(): Work<void> {
  yield* run('DELETE FROM replicas');
  yield* run('UPDATE leases SET owner = NULL, owned_since = NULL, epoch = epoch + 1');
}

export function* readMeta(): Work<ReadonlyMap<string, string>> {
  const rows = yield* all('SELECT key, value FROM meta WHERE key <> ?', OWN_KEY);
  return new Map(rows.map(({ key, value }) => [String(key), String(value)]));
}

export function* writeMeta(meta: ReadonlyMap<string, string>): Work<void> {
  yield* each('INSERT INTO meta (key, value) VALUES (?, ?)', meta, (pair) => pair);
}

/** Passes all rows of a table to `take`, a part at a time. */
export function* readRows(table: CopiedTable, take: (rows: readonly Values[]) => Work<void>): Work<void> {
  yield* run(`DECLARE copied NO SCROLL CURSOR FOR ${table.select}`);
  for (;;) {
    const rows = yield* all(`FETCH ${FETCHED_ROWS} FROM copied`);
    if (rows.length === 0) break;
    yield* take(rows.map((row) => valuesOf(table, row)));
  }
  yield* run('CLOSE copied');
}

/** @throws {StoreError} if a line of the audit log is not a record */
export function* writeRows(table: CopiedTable, rows: readonly Values[]): Work<void> {
  yield* each(table.insert, rows, table === AUDIT ? auditValues : (values) => values);
}

function auditValues([line]: Values): Values {
  const record = parseAuditRecord(String(line));
  if (typeof record === 'string') throw new StoreError(`the audit log was changed during the copy: ${record}`);
  const { sequence, time, type, account = null, policy = null, hash } = record;
  return [sequence, Date.parse(time), type, account, policy, String(line), hash];
}

const ID_COLUMNS = `SELECT table_name AS name, column_name AS "column",
    pg_get_serial_sequence(quote_ident(table_name), column_name) AS sequence
  FROM information_schema.columns WHERE table_schema = current_schema() AND is_identity = 'YES' ORDER BY table_name`;

const idColumns = () => all<Readonly<Record<'name' | 'column' | 'sequence', string>>>(ID_COLUMNS);

/** Returns the last assigned ids by the table. */
export function* readLastIds(): Work<ReadonlyMap<string, number>> {
  const ids = new Map<string, number>();
  for (const { name, sequence } of yield* idColumns()) {
    const row = yield* get(`SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS id FROM ${sequence}`);
    ids.set(name, Number(row?.['id']));
  }
  return ids;
}

/** Continues the ids of all tables after the last ones that were assigned, also if their rows are gone. */
export function* keepLastIds(lastIds: ReadonlyMap<string, number>): Work<void> {
  for (const { name, column, sequence } of yield* idColumns()) {
    const row = yield* get(`SELECT max("${column}") AS id FROM "${name}"`);
    const last = Math.max(lastIds.get(name) ?? 0, Number(row?.['id']));
    if (last > 0) yield* get('SELECT setval(CAST(? AS regclass), CAST(? AS BIGINT))', sequence, last);
  }
}

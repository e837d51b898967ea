/** Creates or updates the schema of PostgreSQL. Replicas that start at the same time do it one after the other. */
import { all, run, type Work } from '../database.ts';
import { metaValue, openedBy, putMeta, type Opened } from '../meta.ts';
import { assertNotMoved } from '../moved-store.ts';
import { StoreError } from '../store-error.ts';
import { lockFor } from './locks.ts';
import type { PostgresDatabase } from './postgres-database.ts';
import { existingTables, missingPrivileges } from './privileges.ts';
import { POSTGRES_MIGRATIONS } from './schema.ts';

const META_COLUMNS = `SELECT column_name FROM information_schema.columns
  WHERE table_schema = current_schema() AND table_name = 'meta' AND column_name IN ('key', 'value')`;

const OTHER_DATABASE =
  'It belongs to another program, or was restored only in part: set another database in storage.postgres.url, or restore the whole backup.';

/**
 * Brings the schema up to date and opens the store.
 *
 * @throws {StoreError} if the schema is newer than this program, the database belongs to another one, the role lacks
 * privileges, or the database is unavailable
 */
export function migrate(database: PostgresDatabase, steps = POSTGRES_MIGRATIONS): Promise<Opened> {
  return database.transaction(migrated(database.place, steps));
}

/** Work of `migrate`, for a transaction that does more. */
export function* migrated(place: string, steps: readonly string[]): Work<Opened> {
  yield* lockFor('schema');
  yield* run('CREATE TABLE IF NOT EXISTS meta (key TEXT COLLATE "C" PRIMARY KEY, value TEXT NOT NULL)');
  const missing = yield* missingPrivileges();
  if (missing !== undefined) throw new StoreError(`${place}: ${missing.text}: ${missing.fix}`);
  const foreign = yield* foreignContent();
  if (foreign !== undefined) throw new StoreError(`${place}: ${foreign}. ${OTHER_DATABASE}`);
  const version = Number((yield* metaValue('schema')) ?? 0);
  if (version > steps.length) {
    throw new StoreError(
      `${place}: the store has schema ${version}, but this program supports schemas only up to ${steps.length}. ` +
        'Run the program that wrote it, or set another database in storage.postgres.url.',
    );
  }
  yield* assertNotMoved(place);
  for (const step of steps.slice(version)) yield { sql: step, rows: [[]] };
  if (version < steps.length) yield* putMeta('schema', String(steps.length));
  return yield* openedBy();
}

/**
 * Returns why the tables are not those of a store; undefined if they are, or if there are none.
 *
 * `meta` must exist.
 */
export function* foreignContent(): Work<string | undefined> {
  const columns = yield* all(META_COLUMNS);
  if (columns.length < 2) return 'the table meta belongs to another program: it lacks the column key or value';
  const schema = yield* metaValue('schema');
  if (schema !== undefined) {
    return /^[1-9]\d*$/.test(schema) ? undefined : `the schema version in the table meta is not a number: ${schema}`;
  }
  const [table] = yield* existingTables();
  return table && `the database has a table ${table}, but the table meta has no schema version`;
}

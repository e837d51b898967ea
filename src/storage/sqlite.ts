/**
 * The store: one SQLite file, opened by one process. The file's own lock is held from opening to closing (`locking_mode
 * = EXCLUSIVE`). A second daemon on the same file is rejected, and a `kill -9` leaves no lock behind.
 *
 * No other code in this process may open the file. POSIX drops a process's locks on a file when any of its descriptors
 * of that file is closed.
 */
import { closeSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { makeFolder } from '#foundation/platform/make-folder.ts';
import { isAsClosed, markClosed, removeMark } from './clean-mark.ts';
import type { Database } from './database.ts';
import { openedBy, type Opened } from './meta.ts';
import { assertNotMoved } from './moved-store.ts';
import { MIGRATIONS } from './schema.ts';
import { damageOf } from './store-check.ts';
import { createSqliteDatabase } from './sqlite-database.ts';
import { transaction } from './sqlite-transaction.ts';
import { StoreDatabase } from './store-database.ts';
import { explain, StoreError } from './store-error.ts';
import { sync } from './store-files.ts';
import { assertOwnStore, markOwnStore } from './store-identity.ts';
import { keepDigests, resetDigests } from './table-digests.ts';

export interface Store extends Opened, Disposable {
  readonly path: string;
  readonly db: DatabaseSync;
  /** The same database, as the stores see it. */
  readonly database: Database;
  /** Reason why the store must not be used: it is damaged, or the file was moved. Undefined if it can be used. */
  readonly problem: string | undefined;
}

/** Maximum time to wait for another process to release the file, such as a daemon that is stopping. */
const BUSY_TIMEOUT_MS = 1_000;

/**
 * Opens the store, creates it and its folder if missing, and updates its schema. A store that was not closed cleanly,
 * or was changed since, is checked first.
 *
 * @throws {StoreError} if another process holds the store, its schema is newer than this program, it is damaged, or the
 * file is not a store
 */
export function openStore(path: string, steps: readonly string[] = MIGRATIONS): Store {
  const { db, asClosed } = openFile(path);
  try {
    // A commit would write the first page of a new file, and wait for the disk five times.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; ROLLBACK');
    assertOwnStore(db, path);
    const version = checkVersion(db, path, steps.length);
    // The mark is removed while the lock is held: another process may have used the store since the comparison.
    if (version > 0 && !(removeMark(path) && asClosed)) refuseDamaged(db, path);
    const database = createSqliteDatabase(db);
    if (version > 0) database.now(assertNotMoved(path));
    db.exec('PRAGMA journal_mode = WAL');
    // Every commit is on disk before the next step. An intent must survive a power failure, and commits are few.
    db.exec('PRAGMA synchronous = FULL');
    db.exec('PRAGMA foreign_keys = ON');
    // Otherwise, a statement that changes many rows writes its statement journal to a file.
    db.exec('PRAGMA temp_store = MEMORY');
    if (version > 0 && version < steps.length) keepCopy(db, `${path}.schema-${version}`);
    // One commit: a new store has its schema, its identity and its first epoch, or nothing.
    const opened = transaction(db, () => {
      migrate(db, version, steps);
      keepDigests(db);
      return database.now(openedBy());
    });
    db.watchFiles(path);
    return {
      ...opened,
      path,
      db,
      database,
      get problem() {
        return db.problem;
      },
      [Symbol.dispose]() {
        const { problem } = db;
        db.close();
        if (problem === undefined) markClosed(path);
      },
    };
  } catch (error) {
    db.close();
    throw explain(error, path);
  }
}

function refuseDamaged(db: DatabaseSync, path: string): void {
  const damage = damageOf(db);
  if (damage === undefined) return;
  throw new StoreError(
    `${path}: the store is damaged: ${damage}. The daemon neither shows its counters nor acts on it. ` +
      'Restore a backup with "opsd state restore FILE", or move the file away to start with an empty store.',
  );
}

/**
 * Checks that the store can be written, which the next opening needs.
 *
 * @throws {StoreError}
 */
export function tryStore({ db, path }: Store): void {
  try {
    transaction(db, () =>
      db.exec(
        `INSERT INTO meta (key, value) VALUES ('tried', '1') ON CONFLICT (key) DO UPDATE SET value = value || ''`,
      ),
    );
  } catch (error) {
    throw explain(error, path);
  }
}

function openFile(path: string): { readonly db: StoreDatabase; readonly asClosed: boolean } {
  try {
    makeFolder(dirname(path), 0o750);
    // The store contains actions and their runs, so it is for its owner only.
    closeSync(openSync(path, 'a', 0o600));
    const asClosed = isAsClosed(path);
    return { db: new StoreDatabase(path, { timeout: BUSY_TIMEOUT_MS }), asClosed };
  } catch (error) {
    throw explain(error, path);
  }
}

/** Creates or updates the schema, within the caller's transaction. */
function migrate(db: DatabaseSync, version: number, steps: readonly string[]): void {
  if (version === steps.length) return;
  for (const step of steps.slice(version)) db.exec(step);
  db.exec(`PRAGMA user_version = ${steps.length}`);
  markOwnStore(db);
  resetDigests(db);
}

/**
 * Returns the version of the schema; 0 for an empty file.
 *
 * @throws {StoreError} if the schema is newer than this program, or the file has tables without a version
 */
export function checkVersion(db: DatabaseSync, path: string, newest = MIGRATIONS.length): number {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version < 0 || (version === 0 && hasTables(db))) {
    throw new StoreError(
      `${path}: the store has tables, but its schema version (user_version) is ${version}: another program changed it. ` +
        'Restore a backup with "opsd state restore FILE", or set another file in storage.sqlite.path.',
    );
  }
  if (version <= newest) return version;
  throw new StoreError(
    `${path}: the store has schema ${version}, but this program supports schemas only up to ${newest}. ` +
      'Run the program that wrote it, or set another file in storage.sqlite.path.',
  );
}

function hasTables(db: DatabaseSync): boolean {
  return db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table'`).get() !== undefined;
}

/** @throws {StoreError} if the file has no store that this program can read */
export function assertFilled(db: DatabaseSync, path: string): void {
  if (checkVersion(db, path) > 0) return;
  throw new StoreError(`${path}: the file is empty, so it is not a store. Name the file of a store.`);
}

/** Copies the store before its schema changes, so that the earlier program can be used again. */
function keepCopy(db: DatabaseSync, copy: string): void {
  try {
    rmSync(copy, { force: true });
    closeSync(openSync(copy, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(copy);
    sync(copy);
  } catch (error) {
    const why = errorMessage(error);
    throw new StoreError(
      `${copy}: the copy of the store before its schema update failed: ${why}. Free some space, or move that file away.`,
      { cause: error },
    );
  }
}

/**
 * Opens a store without a daemon, to inspect or replace it. The schema stays unchanged.
 *
 * @throws {StoreError} if another process holds the store, or the file is not a store
 */
export function lockStore(path: string): { readonly db: DatabaseSync } & Disposable {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT');
    assertOwnStore(db, path);
    return { db, [Symbol.dispose]: () => db.close() };
  } catch (error) {
    db.close();
    throw explain(error, path);
  }
}

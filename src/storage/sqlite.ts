/**
 * The store: one SQLite file, opened by one process. The file's own lock is held from opening to closing
 * (`locking_mode = EXCLUSIVE`), so a second daemon on the same file is refused, and a `kill -9` leaves no lock behind.
 *
 * Nothing else in this process may open the file: POSIX drops a process's locks on a file when any of its descriptors
 * of that file is closed.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { makeFolder } from '#foundation/platform/make-folder.ts';
import { isAsClosed, markClosed, removeMark } from './clean-mark.ts';
import { MIGRATIONS } from './migrations.ts';
import { damageOf } from './store-check.ts';
import { StoreDatabase } from './store-database.ts';
import { explain, StoreError } from './store-error.ts';
import { assertOwnStore, markOwnStore } from './store-identity.ts';
import { hasDigests, keepDigests, resetDigests } from './table-digests.ts';

export interface Store extends Disposable {
  readonly path: string;
  readonly db: DatabaseSync;
  /** Identity of this store, made with it. */
  readonly instance: string;
  /** How many times the store was opened: the fencing number of this process. */
  readonly epoch: number;
  /** Whether the store was there before this process. */
  readonly restored: boolean;
  /** Why nothing may be written to it or done by it: it is damaged, or the file is not at its place. */
  readonly problem: string | undefined;
}

/** How long another process may take to let go of the file: a daemon that is just ending. */
const BUSY_TIMEOUT_MS = 1_000;

/**
 * Opens the store, creates it and its folder when missing, and updates its schema. A store that was not closed cleanly,
 * or was changed since, is checked first.
 *
 * @throws {StoreError} when another process holds it, its schema is newer than this program, it is damaged, or it is
 *   no store
 */
export function openStore(path: string, steps: readonly string[] = MIGRATIONS): Store {
  const { db, asClosed } = openFile(path);
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT');
    assertOwnStore(db, path);
    const version = checkVersion(db, path, steps.length);
    // The mark goes with the lock in hand: another process may have had the store since it was compared.
    if (version > 0 && !(removeMark(path) && asClosed)) refuseDamaged(db, path);
    db.exec('PRAGMA journal_mode = WAL');
    // Every commit is on disk before the next step: an intent must outlive a power cut, and commits are few.
    db.exec('PRAGMA synchronous = FULL');
    db.exec('PRAGMA foreign_keys = ON');
    if (version > 0 && version < steps.length) keepCopy(db, `${path}.schema-${version}`);
    migrate(db, version, steps);
    keepDigests(db);
    const { instance, restored } = identity(db);
    const epoch = nextEpoch(db);
    db.watchFiles(path);
    return {
      path,
      db,
      instance,
      epoch,
      restored,
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
      'Restore a backup with "opsd state restore FILE", or move the file away to begin with an empty store.',
  );
}

/**
 * Whether it can be written, as whoever opens it next must.
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
    // The store tells what was done to whose runs: for its owner alone.
    closeSync(openSync(path, 'a', 0o600));
    const asClosed = isAsClosed(path);
    return { db: new StoreDatabase(path, { timeout: BUSY_TIMEOUT_MS }), asClosed };
  } catch (error) {
    throw explain(error, path);
  }
}

function migrate(db: DatabaseSync, version: number, steps: readonly string[]): void {
  if (version === steps.length && hasDigests(db)) return;
  transaction(db, () => {
    for (const step of steps.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${steps.length}`);
    markOwnStore(db);
    resetDigests(db);
  });
}

/** @throws {StoreError} when the schema is newer than this program */
export function checkVersion(db: DatabaseSync, path: string, newest = MIGRATIONS.length): number {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version <= newest) return version;
  throw new StoreError(
    `${path}: the store has schema ${version}, this program knows schemas up to ${newest}. ` +
      'Run the program that wrote it, or name another file in storage.sqlite.path.',
  );
}

/** The store as it is before its schema changes: the way back to the program that wrote it. */
function keepCopy(db: DatabaseSync, copy: string): void {
  try {
    rmSync(copy, { force: true });
    closeSync(openSync(copy, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(copy);
    const fd = openSync(copy, 'r');
    fsyncSync(fd);
    closeSync(fd);
  } catch (error) {
    const why = errorMessage(error);
    throw new StoreError(
      `${copy}: the store is copied there before its schema changes, and that failed: ${why}. Make room, or move that file away.`,
      { cause: error },
    );
  }
}

/**
 * A store that is looked at or replaced while no daemon runs on it; its schema stays as it is.
 *
 * @throws {StoreError} when another process holds it, or it is no store
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

function identity(db: DatabaseSync): { instance: string; restored: boolean } {
  const known = db.prepare(`SELECT value FROM meta WHERE key = 'instance'`).get()?.['value'];
  if (typeof known === 'string') return { instance: known, restored: true };
  const instance = randomBytes(5).toString('hex');
  db.prepare(`INSERT INTO meta (key, value) VALUES ('instance', ?)`).run(instance);
  return { instance, restored: false };
}

/** One more at each opening, durably: of two processes that believe to have the store, the older one finds its number gone. */
export function nextEpoch(db: DatabaseSync): number {
  const row = db
    .prepare(
      `INSERT INTO meta (key, value) VALUES ('epoch', '1')
       ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING value`,
    )
    .get();
  return Number(row?.['value']);
}

/** Runs `work` in one transaction: all of it is durable when this returns, none of it when it throws. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

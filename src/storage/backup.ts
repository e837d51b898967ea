/** Copies of a store: taken while the daemon runs, put back while it does not. */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { errorMessage } from '../platform/error-message.ts';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import type { AuditHead } from '../ledger/audit-log.ts';
import { readHead } from './audit-head.ts';
import { MUST_ADOPT } from './ledger-trust.ts';
import { removeMark } from './clean-mark.ts';
import { checkStore } from './store-check.ts';
import { explain, isDamage, StoreError } from './store-error.ts';
import { assertOwnStore } from './store-identity.ts';
import { checkVersion, lockStore, type Store } from './sqlite.ts';
import { keepDigests } from './table-digests.ts';

/**
 * A copy as of one moment, made while the store is written. It appears under its name once it is whole and durable.
 *
 * @throws {StoreError} when the file exists, or cannot be written
 */
export async function backupStore({ db }: Store, file: string): Promise<{ readonly bytes: number }> {
  if (existsSync(file)) throw new StoreError(`${file} exists already: name another file, or remove it first.`);
  const part = `${file}.part`;
  rmSync(part, { force: true });
  try {
    // Before the first byte: what is copied is for the owner alone.
    closeSync(openSync(part, 'wx', 0o600));
    await copy(db, part);
    sync(part);
    renameSync(part, file);
    sync(dirname(file));
  } catch (error) {
    rmSync(part, { force: true });
    throw new StoreError(`${file}: the copy could not be written: ${errorMessage(error)}`, { cause: error });
  }
  return { bytes: statSync(file).size };
}

/** Far more than a store that is written all the time needs. */
const TRIES = 20;

/**
 * Node's copy fails with the code 0, "not an error", where its first step meets a transaction under way: it takes that
 * for the end. Nothing is copied by then, and the next try may meet none.
 */
async function copy(db: Store['db'], part: string): Promise<void> {
  for (let left = TRIES - 1; ; left--) {
    try {
      await backup(db, part);
      return;
    } catch (error) {
      if ((error as { readonly errcode?: number }).errcode !== 0 || left === 0) throw error;
    }
  }
}

/**
 * Puts a copy in the place of a store, which is kept beside it. The store acts only once a person has adopted it.
 *
 * @param options.label what the name of the kept store ends with
 * @returns where the store that was there is now; undefined when there was none
 * @throws {StoreError} when a daemon runs on the store, or the copy is no usable store
 */
export function restoreStore(file: string, path: string, options: { readonly label: string }): string | undefined {
  if (!existsSync(file)) throw new StoreError(`${file} does not exist.`);
  // Held until the end: no daemon can begin on a store that is being replaced.
  using lock = existsSync(path) ? lockOfReplaced(path) : undefined;
  const part = `${path}.restoring`;
  for (const left of [part, `${part}-wal`, `${part}-shm`]) rmSync(left, { force: true });
  try {
    copyFileSync(file, part);
    chmodSync(part, 0o600);
    markRestored(part, file);
    sync(part);
  } catch (error) {
    for (const left of [part, `${part}-wal`, `${part}-shm`]) rmSync(left, { force: true });
    throw explain(error, file);
  }
  let kept: string | undefined;
  removeMark(path);
  if (existsSync(path)) {
    kept = `${path}.before-restore-${options.label}`;
    // What a crash left in its write-ahead log stays with the old store; nothing of it may meet the new one.
    const isMerged = lock !== undefined && mergesLog(lock.db);
    renameSync(path, kept);
    if (!isMerged && existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${kept}-wal`);
  }
  rmSync(`${path}-wal`, { force: true });
  renameSync(part, path);
  sync(dirname(path));
  return kept;
}

/** A store so damaged that SQLite cannot read its header has no lock, and no daemon runs on it. */
function lockOfReplaced(path: string): ReturnType<typeof lockStore> | undefined {
  try {
    return lockStore(path);
  } catch (error) {
    if (isDamage((error as Error).cause)) return undefined;
    throw error;
  }
}

/** @returns false when the store is too damaged for it */
function mergesLog(db: DatabaseSync): boolean {
  try {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return true;
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

function markRestored(part: string, file: string): void {
  const db = new DatabaseSync(part);
  try {
    assertOwnStore(db, file);
    checkVersion(db, file);
    checkStore(db, file);
    keepDigests(db);
    const known = readHead(db);
    const reason = `the store was restored from a copy that knows ${known?.sequence ?? 0} records of the audit log`;
    db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)').run(MUST_ADOPT, reason);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}

/**
 * The head of the audit log that a store knows, while no daemon runs on it.
 *
 * @throws {StoreError} when one does, or there is no store
 */
export function storedHead(path: string): AuditHead | undefined {
  if (!existsSync(path)) throw new StoreError(`${path} does not exist.`);
  using store = lockStore(path);
  return readHead(store.db);
}

function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Backups of a store: written while the daemon runs, restored while it does not. */
import { once } from 'node:events';
import { chmodSync, closeSync, copyFileSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { readHead } from './audit-head.ts';
import { MUST_ADOPT } from './ledger-trust.ts';
import { removeMark } from './clean-mark.ts';
import { damageOf } from './store-check.ts';
import { explain, isDamage, StoreError } from './store-error.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import { assertOwnStore } from './store-identity.ts';
import { assertFilled, lockStore, type Store } from './sqlite.ts';
import { removeStore, sync } from './store-files.ts';
import { keepDigests } from './table-digests.ts';

export interface Copies extends AsyncDisposable {
  /** Does the same as `backupStore`, after all earlier backups are done. */
  write(file: string, signal?: AbortSignal): Promise<{ readonly bytes: number }>;
}

/** Serializes backups and ends them with the daemon. A backup that outlives the daemon would keep the store locked. */
export function createCopies(store: Store): Copies {
  const ending = new AbortController();
  const copies = new OneByOne();
  return {
    write: (file, signal = ending.signal) =>
      copies.run(() => backupStore(store, file, AbortSignal.any([signal, ending.signal]))),
    async [Symbol.asyncDispose]() {
      ending.abort(new Error('the daemon stops'));
      await copies.idle();
    },
  };
}

/**
 * Writes a consistent copy while the daemon writes to the store, and checks it. The file gets its final name when it is
 * complete and durable.
 *
 * @param signal aborts the copying; no part of it stays
 * @throws {StoreError} if the file exists, cannot be written, or is damaged
 */
export async function backupStore(
  { db }: Pick<Store, 'db'>,
  file: string,
  signal?: AbortSignal,
): Promise<{ readonly bytes: number }> {
  if (existsSync(file)) throw new StoreError(`${file} already exists: choose another file, or remove it first.`);
  const part = `${file}.part`;
  removeStore(part);
  try {
    signal?.throwIfAborted();
    // The permissions are set before the first byte: the copy is for its owner only.
    closeSync(openSync(part, 'wx', 0o600));
    await copy(db, part, signal);
    await checkCopy(part, signal);
    sync(part);
    renameSync(part, file);
    sync(dirname(file));
  } catch (error) {
    removeStore(part);
    throw new StoreError(`${file}: the copy could not be written: ${errorMessage(error)}`, { cause: error });
  }
  return { bytes: statSync(file).size };
}

/** Maximum number of attempts, far more than a store with constant writes needs. */
const TRIES = 20;

/**
 * Copies the database. Node's copy fails with code 0, "not an error", if its first step meets an active transaction,
 * because it mistakes that for the end. Nothing is copied then, and a retry may succeed.
 */
async function copy(db: Store['db'], part: string, signal: AbortSignal | undefined): Promise<void> {
  const file = await open(part, 'r+');
  let syncing: Promise<void> | undefined;
  const progress = (): void => {
    signal?.throwIfAborted();
    // The last step syncs the file while the store waits, so syncing early shortens that wait.
    syncing ??= file
      .datasync()
      .catch(() => undefined)
      .finally(() => (syncing = undefined));
  };
  try {
    for (let left = TRIES - 1; ; left--) {
      try {
        await backup(db, part, { progress });
        return;
      } catch (error) {
        if ((error as { readonly errcode?: number }).errcode !== 0 || left === 0) throw error;
      }
    }
  } finally {
    await syncing;
    await file.close();
  }
}

/** Checks a copy in a thread, so that the daemon stays responsive. */
async function checkCopy(part: string, signal: AbortSignal | undefined): Promise<void> {
  const thread = new Worker(new URL('./check-copy.ts', import.meta.url), { workerData: part });
  try {
    const [code] = (await once(thread, 'exit', { signal })) as [number];
    if (code !== 0) throw new Error(`the check failed: its thread ended with code ${code}`);
  } finally {
    await thread.terminate();
  }
}

/**
 * Replaces a store with a copy and keeps the old store beside it. The daemon acts on the new store only after an
 * operator has adopted it.
 *
 * @param options.label suffix of the kept store's name
 * @returns path of the kept store; undefined if there was none
 * @throws {StoreError} if a daemon runs on the store, or the copy is not a usable store
 */
export function restoreStore(file: string, path: string, options: { readonly label: string }): string | undefined {
  if (!existsSync(file)) throw new StoreError(`${file} does not exist.`);
  // The lock is held until the end: no daemon can start on a store that is being replaced.
  using lock = existsSync(path) ? lockOfReplaced(path) : undefined;
  const part = `${path}.restoring`;
  removeStore(part);
  try {
    copyFileSync(file, part);
    chmodSync(part, 0o600);
    markRestored(part, file);
    sync(part);
  } catch (error) {
    removeStore(part);
    throw explain(error, file);
  }
  let kept: string | undefined;
  removeMark(path);
  if (existsSync(path)) {
    kept = `${path}.before-restore-${options.label}`;
    // The write-ahead log of a crash stays with the old store and must not be applied to the new one.
    const isMerged = lock !== undefined && mergesLog(lock.db);
    renameSync(path, kept);
    if (!isMerged && existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${kept}-wal`);
  }
  rmSync(`${path}-wal`, { force: true });
  renameSync(part, path);
  sync(dirname(path));
  return kept;
}

/**
 * Locks the store to replace. A store that is too damaged for SQLite to read its header has no lock, and no daemon runs
 * on it.
 */
function lockOfReplaced(path: string): ReturnType<typeof lockStore> | undefined {
  try {
    return lockStore(path);
  } catch (error) {
    if (error instanceof StoreError && isDamage(error.cause)) return undefined;
    throw error;
  }
}

/** @returns false if the store is too damaged */
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
    assertFilled(db, file);
    const damage = damageOf(db);
    if (damage !== undefined) throw new StoreError(`${file}: the copy is damaged: ${damage}. Take another one.`);
    keepDigests(db);
    const known = readHead(db);
    const reason = `the store was restored from a copy that has ${known?.sequence ?? 0} records of the audit log`;
    db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)').run(MUST_ADOPT, reason);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}

/**
 * Returns the head of the audit log in a store. No daemon may be running on it.
 *
 * @throws {StoreError} if a daemon is running, or there is no store
 */
export function backupHead(path: string): AuditHead | undefined {
  if (!existsSync(path)) throw new StoreError(`${path} does not exist.`);
  using store = lockStore(path);
  return readHead(store.db);
}

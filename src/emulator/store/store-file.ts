/**
 * The file behind `--data`: one SQLite file in its folder, held by one process from opening to closing. The lock is
 * the file's own, so a `kill -9` leaves none behind. The schema has a version of its own: a file of another version is
 * refused and never changed.
 */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { makeFolder } from '#foundation/platform/make-folder.ts';

/** Why a folder cannot be used, in words for whoever gave it. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

const FILE = 'emulator.db';
const SCHEMA_VERSION = 1;
/** How long another process may take to let go of the file: one that is just ending. */
const BUSY_TIMEOUT_MS = 1_000;

/** Entries and messages are found by account and place; `item` is everything that is small. */
const SCHEMA = `
  CREATE TABLE message (
    account TEXT NOT NULL, id TEXT NOT NULL, fixed TEXT NOT NULL, body BLOB NOT NULL, progress TEXT NOT NULL,
    outcome TEXT, notice TEXT, PRIMARY KEY (account, id)
  ) WITHOUT ROWID;
  CREATE INDEX message_notice ON message (account, notice) WHERE notice IS NOT NULL;
  CREATE TABLE entry (
    account TEXT NOT NULL, sequence INTEGER NOT NULL, time INTEGER NOT NULL, state TEXT NOT NULL,
    message TEXT NOT NULL, next INTEGER, outcome TEXT, PRIMARY KEY (account, sequence)
  ) WITHOUT ROWID;
  CREATE TABLE letter (
    account TEXT NOT NULL, queue TEXT NOT NULL, sequence INTEGER NOT NULL, id TEXT NOT NULL, message TEXT NOT NULL,
    failed_at INTEGER NOT NULL, PRIMARY KEY (account, queue, sequence)
  ) WITHOUT ROWID;
  CREATE TABLE fact (
    account TEXT NOT NULL, minute INTEGER NOT NULL, kind TEXT NOT NULL, times INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (account, minute, kind)
  ) WITHOUT ROWID;
  CREATE TABLE item (
    account TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (account, kind, key)
  ) WITHOUT ROWID;
`;

export function pathOfStore(folder: string): string {
  return join(folder, FILE);
}

/** @throws {DataFolderError} when another process holds the folder, or its file is not one of this program's */
export function openStoreFile(folder: string): DatabaseSync {
  const path = pathOfStore(folder);
  let db: DatabaseSync | undefined;
  try {
    makeFolder(folder, 0o750);
    // It holds tokens and bodies: for its owner alone.
    closeSync(openSync(path, 'a', 0o600));
    db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    const isNew = checkWhose(db, path);
    db.exec('PRAGMA journal_mode = WAL');
    // What was answered outlives a power cut; many requests share one commit.
    db.exec('PRAGMA synchronous = FULL');
    // Begun even when the schema is there: the write lock it takes keeps another process out.
    db.exec('BEGIN IMMEDIATE');
    if (isNew) db.exec(`${SCHEMA}; PRAGMA user_version = ${SCHEMA_VERSION}`);
    db.exec('COMMIT');
    return db;
  } catch (error) {
    db?.close();
    throw explain(error, path);
  }
}

/** Before anything is written: whatever is refused stays as it is. True for a file without anything in it. */
function checkWhose(db: DatabaseSync, path: string): boolean {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
  const isEmpty = db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (version === SCHEMA_VERSION) return false;
  if (version === 0 && isEmpty) return true;
  const whose = version === 0 ? 'was made by another program' : `has schema ${version}`;
  throw new DataFolderError(
    `${path} ${whose}, and this program knows schema ${SCHEMA_VERSION} alone. Nothing in it was changed. Give another folder, or run the program that wrote it.`,
  );
}

/** Of what was read of a file that was opened. */
export function unreadable(error: unknown, path: string): DataFolderError {
  if (error instanceof DataFolderError) return error;
  return new DataFolderError(
    `${path} cannot be read (${errorMessage(error)}): it is damaged. Nothing in it was changed. Put a copy of it there, or give another folder.`,
    { cause: error },
  );
}

/** At the end of a process whose last changes could not be written. */
export function unwritten(path: string): DataFolderError {
  return new DataFolderError(
    `${path} could not be written until the end: what the process did since its first error is lost. Free space, or mend the disk, before the next start.`,
  );
}

const SQLITE_BUSY = 5;

function explain(error: unknown, path: string): DataFolderError {
  if (error instanceof DataFolderError) return error;
  const { errcode, message } = error as { readonly errcode?: number; readonly message: string };
  // The low byte is the primary code; the rest details it.
  if (errcode !== undefined && (errcode & 0xff) === SQLITE_BUSY) {
    return new DataFolderError(
      `${path} is used by another process. One emulator may run on a folder: stop the other one, or give another folder.`,
      { cause: error },
    );
  }
  return new DataFolderError(
    `${path} cannot be used (${message}). The folder must be writable, and its file one that the emulator made; another folder begins anew.`,
    { cause: error },
  );
}

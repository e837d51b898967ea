/**
 * The file behind `--data`: one SQLite file in its folder, held by one process while it is open. The lock belongs to
 * the file, so a `kill -9` leaves none behind. The schema has a version: a file of another version is rejected and
 * never changed.
 */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { makeFolder } from '#foundation/platform/make-folder.ts';

/** Reason why a folder is unusable, as a message for its user. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

const FILE = 'emulator.db';
const SCHEMA_VERSION = 2;
/** Maximum wait for another process that is just ending to release the file. */
const BUSY_TIMEOUT_MS = 1_000;

/** Entries and messages are found by account and position; `item` contains all small data. */
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
  CREATE TABLE dead_letter (
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

/** @throws {DataFolderError} when another process holds the folder, or its file does not belong to this program */
export function openStoreFile(folder: string): DatabaseSync {
  const path = pathOfStore(folder);
  let db: DatabaseSync | undefined;
  try {
    makeFolder(folder, 0o750);
    // The file contains tokens and bodies, so only its owner can read it.
    closeSync(openSync(path, 'a', 0o600));
    db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    const isNew = checkWhose(db, path);
    db.exec('PRAGMA journal_mode = WAL');
    // Acknowledged changes survive a power failure. Many requests share one commit.
    db.exec('PRAGMA synchronous = FULL');
    // Runs even if the schema exists: the write lock keeps another process out.
    db.exec('BEGIN IMMEDIATE');
    if (isNew) db.exec(`${SCHEMA}; PRAGMA user_version = ${SCHEMA_VERSION}`);
    db.exec('COMMIT');
    return db;
  } catch (error) {
    db?.close();
    throw explain(error, path);
  }
}

/** Checks the file before any write, so that a rejected file stays unchanged. Returns true for an empty file. */
function checkWhose(db: DatabaseSync, path: string): boolean {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
  const isEmpty = db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (version === SCHEMA_VERSION) return false;
  if (version === 0 && isEmpty) return true;
  const whose = version === 0 ? 'was made by another program' : `has schema ${version}`;
  throw new DataFolderError(
    `${path} ${whose}, but this program requires schema ${SCHEMA_VERSION}. The file was not changed. Use another folder, or run the program that wrote the file.`,
  );
}

/** Converts an error of reading an open file. */
export function unreadable(error: unknown, path: string): DataFolderError {
  if (error instanceof DataFolderError) return error;
  return new DataFolderError(
    `${path} cannot be read (${errorMessage(error)}): it is damaged. The file was not changed. Restore a copy of it, or use another folder.`,
    { cause: error },
  );
}

/** Returns the error for the end of a process whose last changes could not be written. */
export function unwritten(path: string): DataFolderError {
  return new DataFolderError(
    `${path} could not be written until the end: all changes since the first error are lost. Free disk space or repair the disk before the next start.`,
  );
}

const SQLITE_BUSY = 5;

function explain(error: unknown, path: string): DataFolderError {
  if (error instanceof DataFolderError) return error;
  const { errcode, message } = error as { readonly errcode?: number; readonly message: string };
  // The low byte is the primary code; the rest details it.
  if (errcode !== undefined && (errcode & 0xff) === SQLITE_BUSY) {
    return new DataFolderError(
      `${path} is used by another process. A folder allows one emulator: stop the other one, or use another folder.`,
      { cause: error },
    );
  }
  return new DataFolderError(
    `${path} cannot be used (${message}). The folder must be writable, and its file created by the emulator. To start empty, use another folder.`,
    { cause: error },
  );
}

import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from './store-error.ts';

/**
 * Application id in the header of each store: `opsd` in ASCII. It distinguishes a store from a database of another
 * program.
 */
const APPLICATION_ID = 0x6f_70_73_64;

/** @throws {StoreError} if the file is a database of another program */
export function assertOwnStore(db: DatabaseSync, path: string): void {
  const id = pragma(db, 'application_id');
  if (id === APPLICATION_ID) return;
  const isEmpty = db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (id === 0 && pragma(db, 'user_version') === 0 && isEmpty) return;
  throw new StoreError(
    `${path}: an SQLite database of another program, not a store of opsd. Set another file in storage.sqlite.path.`,
  );
}

/** Marks the store as one of this program, within the caller's transaction. */
export function markOwnStore(db: DatabaseSync): void {
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
}

function pragma(db: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

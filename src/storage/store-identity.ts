import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from './store-error.ts';

/**
 * Application id in the header of each store: `opsd` in ASCII. It distinguishes a store from a database of another
 * program.
 */
const APPLICATION_ID = 0x6f_70_73_64;

/** Tables that every store has had since its first schema. 0.1.0 wrote no application id. */
const FIRST_TABLES = ['counters', 'intents', 'meta'];

/** @throws {StoreError} if the file is a database of another program */
export function assertOwnStore(db: DatabaseSync, path: string): void {
  if (isMarked(db)) return;
  const id = pragma(db, 'application_id');
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
  const names = new Set(tables.map((row) => row['name']));
  if (id === 0 && pragma(db, 'user_version') === 0 && names.size === 0) return;
  if (id === 0 && pragma(db, 'user_version') > 0 && FIRST_TABLES.every((name) => names.has(name))) return;
  throw new StoreError(
    `${path}: an SQLite database of another program, not a store of opsd. Set another file in storage.sqlite.path.`,
  );
}

/** Marks the store as one of this program, within the caller's transaction. */
export function markOwnStore(db: DatabaseSync): void {
  if (!isMarked(db)) db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
}

export function isMarked(db: DatabaseSync): boolean {
  return pragma(db, 'application_id') === APPLICATION_ID;
}

function pragma(db: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

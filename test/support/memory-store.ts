import { DatabaseSync } from 'node:sqlite';
import { createSqliteDatabase } from '#storage/sqlite-database.ts';
import { SCHEMA } from '#storage/schema.ts';
import type { Store } from '#storage/sqlite.ts';

const empty = new DatabaseSync(':memory:');
empty.exec(SCHEMA);
const EMPTY = empty.serialize();

/** A store with the schema of a store on disk, over a database in memory. */
export function memoryStore(): Store {
  const db = new DatabaseSync(':memory:');
  db.deserialize(EMPTY);
  return {
    db,
    database: createSqliteDatabase(db),
    path: ':memory:',
    instance: 'here',
    epoch: 1,
    restored: false,
    problem: undefined,
    [Symbol.dispose]: () => undefined,
  };
}

/** Store over a database in memory, with the schema of a store on disk. */
import { DatabaseSync } from 'node:sqlite';
import { addMeta, openedBy } from './meta.ts';
import { createSqliteDatabase } from './sqlite-database.ts';
import { SCHEMA } from './schema.ts';
import type { Store } from './sqlite.ts';

/** @param problem reason why this store must not be used for actions; absent if it can be */
export function openMemoryStore(instance = 'here', problem?: string): Store {
  const db = new DatabaseSync(':memory:');
  db.exec(SCHEMA);
  const database = createSqliteDatabase(db);
  database.now(addMeta('instance', instance));
  return {
    ...database.now(openedBy()),
    restored: false,
    db,
    database,
    path: ':memory:',
    problem,
    [Symbol.dispose]: () => db.close(),
  };
}

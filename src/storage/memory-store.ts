/** Store over a database in memory, with the schema of a store on disk. */
import { DatabaseSync } from 'node:sqlite';
import { createSqliteDatabase } from './sqlite-database.ts';
import { SCHEMA } from './schema.ts';
import { nextEpoch, type Store } from './sqlite.ts';

/** @param problem reason why this store must not be used for actions; absent if it can be */
export function openMemoryStore(instance = 'here', problem?: string): Store {
  const db = new DatabaseSync(':memory:');
  db.exec(SCHEMA);
  db.prepare(`INSERT INTO meta (key, value) VALUES ('instance', ?)`).run(instance);
  const epoch = nextEpoch(db);
  return {
    db,
    database: createSqliteDatabase(db),
    path: ':memory:',
    instance,
    epoch,
    restored: false,
    problem,
    [Symbol.dispose]: () => db.close(),
  };
}

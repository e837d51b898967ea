import { DatabaseSync } from 'node:sqlite';
import { MIGRATIONS } from '#storage/migrations.ts';
import type { Store } from '#storage/sqlite.ts';

const empty = new DatabaseSync(':memory:');
for (const step of MIGRATIONS) empty.exec(step);
const EMPTY = empty.serialize();

/** A store with the schema of a store on disk, over a database in memory. */
export function memoryStore(): Store {
  const db = new DatabaseSync(':memory:');
  db.deserialize(EMPTY);
  return {
    db,
    path: ':memory:',
    instance: 'here',
    epoch: 1,
    restored: false,
    problem: undefined,
    [Symbol.dispose]: () => undefined,
  };
}

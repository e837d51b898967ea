import { DatabaseSync } from 'node:sqlite';
import { MIGRATIONS } from '#storage/migrations.ts';
import type { Store } from '#storage/sqlite.ts';

/** A store with the schema of a store on disk, over a database in memory. */
export function memoryStore(): Store {
  const db = new DatabaseSync(':memory:');
  for (const step of MIGRATIONS) db.exec(step);
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

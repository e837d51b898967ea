/** The real ledger over a database in memory: fast enough for property tests, and gone with them. */
import { DatabaseSync } from 'node:sqlite';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { MIGRATIONS } from '../../src/storage/migrations.ts';
import { createLedger } from '../../src/storage/sqlite-ledger.ts';

export function memoryLedger(instance = 'here'): Ledger {
  const db = new DatabaseSync(':memory:');
  for (const step of MIGRATIONS) db.exec(step);
  return createLedger({ db, path: ':memory:', instance, restored: false, [Symbol.dispose]: () => db.close() });
}

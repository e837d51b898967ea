/**
 * Schema as numbered steps: step n updates a store from `user_version` n to n + 1. A released step must never be
 * edited. A change is a new step.
 */
import { DatabaseSync } from 'node:sqlite';
import type { AuditLog } from '#automate/ledger/audit-log.ts';
import { MIGRATIONS } from './migrations.ts';
import { nextEpoch } from './sqlite.ts';
import { createLedger, type SqliteLedger } from './sqlite-ledger.ts';
import { memoryAudit } from './memory-audit.ts';

export function memoryLedger(instance = 'here', audit: AuditLog = memoryAudit()): SqliteLedger {
  const db = new DatabaseSync(':memory:');
  for (const step of MIGRATIONS) db.exec(step);
  db.prepare(`INSERT INTO meta (key, value) VALUES ('instance', ?)`).run(instance);
  const epoch = nextEpoch(db);
  const store = {
    db,
    path: ':memory:',
    instance,
    epoch,
    restored: false,
    problem: undefined,
    [Symbol.dispose]: () => db.close(),
  };
  return createLedger(store, audit);
}

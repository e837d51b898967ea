/** Ledger over a store in memory, for policy tests. */
import type { AuditLog } from '#automate/ledger/audit-log.ts';
import { memoryAudit } from './memory-audit.ts';
import { openMemoryStore } from './memory-store.ts';
import { createLedger, type SqliteLedger } from './sqlite-ledger.ts';

export function memoryLedger(instance = 'here', audit: AuditLog = memoryAudit()): SqliteLedger {
  return createLedger(openMemoryStore(instance), audit);
}

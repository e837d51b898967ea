/** Ledger over a store in memory, for policy tests. */
import type { AuditLog } from '#automate/ledger/audit-log.ts';
import { createJournal } from './ledger-journal.ts';
import { memoryAudit } from './memory-audit.ts';
import { openMemoryStore } from './memory-store.ts';
import { MUST_ADOPT } from './ledger-trust.ts';
import { addMeta } from './meta.ts';
import { createSqliteDatabase } from './sqlite-database.ts';
import { createLedger, type SqliteLedger } from './sqlite-ledger.ts';

/** Creates the ledger of a new store. Its opening is not in the audit log. */
export function memoryLedger(instance = 'here', audit: AuditLog = memoryAudit()): SqliteLedger {
  const store = openMemoryStore(instance);
  const distrust = audit.opening.distrust?.reason;
  if (distrust !== undefined) createSqliteDatabase(store.db).now(addMeta(MUST_ADOPT, distrust));
  return createLedger(createJournal(store, audit), { problem: audit.problem, distrust });
}

/** Audit log in memory, for daemons that only read, and for tests. */
import type { AuditEntry, AuditHead, AuditLog } from '#automate/ledger/audit-log.ts';

interface MemoryAudit extends AuditLog, Disposable {
  readonly entries: readonly AuditEntry[];
}

export function memoryAudit(): MemoryAudit {
  const entries: AuditEntry[] = [];
  const head = (): AuditHead => ({ sequence: entries.length, hash: '' });
  return {
    entries,
    problem: undefined,
    opening: { notes: [] },
    append: (entry) => (entries.push(entry), head()),
    head,
    verify: async () => ({ records: entries.length, isTorn: false }),
    [Symbol.dispose]: () => undefined,
  };
}

/** Audit log that counts the records and failed writes of this process. */
import type { AuditLog } from './audit-log.ts';

export interface AuditCounts {
  readonly records: number;
  readonly failures: number;
}

export function countedAudit(audit: AuditLog): { readonly audit: AuditLog; readonly counts: () => AuditCounts } {
  let records = 0;
  let failures = 0;
  return {
    audit: {
      get problem() {
        return audit.problem;
      },
      opening: audit.opening,
      append(entry) {
        try {
          const head = audit.append(entry);
          records += 1;
          return head;
        } catch (error) {
          failures += 1;
          throw error;
        }
      },
      head: () => audit.head(),
      verify: () => audit.verify(),
    },
    counts: () => ({ records, failures }),
  };
}

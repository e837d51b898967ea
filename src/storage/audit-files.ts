/** Audit log in its files, as its readers see it. */
import { readAudit, verifyAudit } from '#automate/ledger/audit-reader.ts';
import type { AuditReader } from '#automate/ledger/audit-reading.ts';
import { searchAudit } from '#automate/ledger/audit-search.ts';

export function auditFiles(path: string, head: AuditReader['head']): AuditReader {
  return {
    place: path,
    head,
    records: () => readAudit(path),
    search: (query, signal) => searchAudit(path, query, signal),
    verify: (seen) => verifyAudit(path, seen),
  };
}

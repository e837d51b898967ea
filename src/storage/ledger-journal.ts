/** One change of the ledger: a transaction, and the audit record that is on disk before it commits. */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditEntry, AuditLog } from '../ledger/audit-log.ts';
import { transaction, type Store } from './sqlite.ts';

export interface Journal {
  readonly db: DatabaseSync;
  readonly instance: string;
  readonly epoch: number;
  /**
   * Runs `work` in one transaction. What `work` tells is appended to the audit log at once, as the last thing that can
   * refuse: a transaction tells at most once.
   *
   * @throws when the audit log or the store cannot be written; then nothing of it happened
   */
  readonly change: <T>(work: (tell: (entry: AuditEntry) => void) => T) => T;
}

export function createJournal({ db, instance, epoch }: Store, audit: AuditLog | undefined): Journal {
  return {
    db,
    instance,
    epoch,
    change: (work) => transaction(db, () => work((entry) => void audit?.append(entry))),
  };
}

/** A change of the ledger: one transaction, whose audit record is on disk before the commit. */
import type { DatabaseSync } from 'node:sqlite';
import { NOT_COMMITTED, type AuditEntry, type AuditHead, type AuditLog } from '#automate/ledger/audit-log.ts';
import { headWriter } from './audit-head.ts';
import { transaction, type Store } from './sqlite.ts';

export interface Journal {
  readonly db: DatabaseSync;
  readonly instance: string;
  readonly epoch: number;
  /** Returns why this store must not be used for actions; see `Store`. */
  readonly problem: () => string | undefined;
  /**
   * Runs `work` in one transaction. A `tell` in `work` appends to the audit log immediately, so it must come last. A
   * transaction calls it at most once, and only the commit follows.
   *
   * @throws if the audit log or the store cannot be written; nothing has changed then
   */
  readonly change: <T>(work: (tell: (entry: AuditEntry) => void) => T) => T;
}

export function createJournal(store: Store, audit: AuditLog): Journal {
  const { db, instance, epoch } = store;
  const saveHead = headWriter(db);
  /** Record whose transaction failed after the record was appended. */
  let lost: AuditHead | undefined;

  function change<T>(work: (tell: (entry: AuditEntry) => void) => T): T {
    let told: AuditHead | undefined;
    const tell = (entry: AuditEntry): void => {
      if (told !== undefined) throw new Error('a ledger change must write exactly one audit record');
      if (lost !== undefined) audit.append({ type: NOT_COMMITTED, record: lost.sequence });
      lost = undefined;
      told = audit.append(entry);
      saveHead(told);
    };
    try {
      return transaction(db, () => work(tell));
    } catch (error) {
      lost = told ?? lost;
      throw error;
    }
  }

  return { db, instance, epoch, problem: () => store.problem, change };
}

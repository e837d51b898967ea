/** One change of the ledger: a transaction, and the audit record that is on disk before it commits. */
import type { DatabaseSync } from 'node:sqlite';
import { NOT_COMMITTED, type AuditEntry, type AuditHead, type AuditLog } from '#automate/ledger/audit-log.ts';
import { headWriter } from './audit-head.ts';
import { transaction, type Store } from './sqlite.ts';

export interface Journal {
  readonly db: DatabaseSync;
  readonly instance: string;
  readonly epoch: number;
  /** Returns why nothing may be done by this store; see `Store`. */
  readonly problem: () => string | undefined;
  /**
   * Runs `work` in one transaction. What `work` tells is appended to the audit log at once, so it comes last: a
   * transaction tells at most once, and nothing but the commit follows.
   *
   * @throws when the audit log or the store cannot be written; then nothing of it happened
   */
  readonly change: <T>(work: (tell: (entry: AuditEntry) => void) => T) => T;
}

export function createJournal(store: Store, audit: AuditLog): Journal {
  const { db, instance, epoch } = store;
  const saveHead = headWriter(db);
  /** A record whose transaction failed after it was appended. */
  let lost: AuditHead | undefined;

  function change<T>(work: (tell: (entry: AuditEntry) => void) => T): T {
    let told: AuditHead | undefined;
    const tell = (entry: AuditEntry): void => {
      if (told !== undefined) throw new Error('a change of the ledger tells the audit log once');
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

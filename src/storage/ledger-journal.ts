/** A change of the ledger: one transaction, whose audit record is on disk before the commit. */
import { NOT_COMMITTED, type AuditEntry, type AuditHead, type AuditLog } from '#automate/ledger/audit-log.ts';
import { saveHead } from './audit-head.ts';
import type { Database, Work } from './database.ts';
import { createSqliteDatabase } from './sqlite-database.ts';
import { transaction } from './sqlite-transaction.ts';
import type { Store } from './sqlite.ts';

/**
 * Appends to the audit log immediately, so it must come last: a transaction calls it at most once, and only the commit
 * follows.
 */
type Tell = (entry: AuditEntry) => Work<void>;

export interface Journal {
  readonly database: Database;
  readonly instance: string;
  readonly epoch: number;
  /** Returns why this store must not be used for actions; see `Store`. */
  readonly problem: () => string | undefined;
  /**
   * Returns why this process does not own these accounts now. Absent if a store has one process, so that a later
   * opening of the store ends the ownership of all accounts.
   */
  readonly notOwned?: (accounts: readonly string[]) => Work<string | undefined>;
  /**
   * Runs `work` in one transaction.
   *
   * @param account account that the work changes, see `Database`
   * @throws if the audit log or the store cannot be written; nothing has changed then
   */
  readonly write: <T>(work: (tell: Tell) => Work<T>, account?: string) => Promise<T>;
}

export function createJournal(store: Store, audit: AuditLog): Journal {
  const { db, database, instance, epoch } = store;
  const sqlite = createSqliteDatabase(db);
  /** Records that must precede the next one, because it would prove that an uncommitted record was committed. */
  const due = [...audit.opening.notes];

  async function write<T>(work: (tell: Tell) => Work<T>): Promise<T> {
    let told: AuditHead | undefined;
    const tell: Tell = function* (entry) {
      if (told !== undefined) throw new Error('a ledger change must write exactly one audit record');
      for (; due[0] !== undefined; due.shift()) audit.append(due[0]);
      told = audit.append(entry);
      yield* saveHead(told);
    };
    try {
      // Nothing is awaited: the next write must know of a record that this one lost.
      return transaction(db, () => sqlite.now(work(tell)));
    } catch (error) {
      if (told !== undefined) due.push({ type: NOT_COMMITTED, record: told.sequence });
      throw error;
    }
  }

  return { database, instance, epoch, problem: () => store.problem, write };
}

/** A change of the ledger: one transaction, whose audit record is on disk before the commit. */
import type { DatabaseSync } from 'node:sqlite';
import { NOT_COMMITTED, type AuditEntry, type AuditHead, type AuditLog } from '#automate/ledger/audit-log.ts';
import { headWriter } from './audit-head.ts';
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
  readonly db: DatabaseSync;
  readonly database: Database;
  readonly instance: string;
  readonly epoch: number;
  /** Returns why this store must not be used for actions; see `Store`. */
  readonly problem: () => string | undefined;
  /**
   * Runs `work` in one transaction.
   *
   * @param account account that the work changes, see `Database`
   * @throws if the audit log or the store cannot be written; nothing has changed then
   */
  readonly write: <T>(work: (tell: Tell) => Work<T>, account?: string) => Promise<T>;
  /** `write` for work that is not a generator yet. */
  readonly change: <T>(work: (tell: (entry: AuditEntry) => void) => T) => T;
}

export function createJournal(store: Store, audit: AuditLog): Journal {
  const { db, database, instance, epoch } = store;
  const sqlite = createSqliteDatabase(db);
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

  async function write<T>(work: (tell: Tell) => Work<T>): Promise<T> {
    return change((tell) =>
      sqlite.now(
        // eslint-disable-next-line require-yield
        work(function* (entry) {
          tell(entry);
        }),
      ),
    );
  }

  return { db, database, instance, epoch, problem: () => store.problem, write, change };
}

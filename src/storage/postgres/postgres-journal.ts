/** A change of the ledger on PostgreSQL: one transaction with its audit record. */
import type { AuditHead, AuditLog } from '#automate/ledger/audit-log.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Database } from '../database.ts';
import type { Journal } from '../ledger-journal.ts';
import { StoreError } from '../store-error.ts';
import { append, readHead, verifyTable } from './audit-table.ts';
import { lockFor } from './locks.ts';

interface JournalDeps {
  readonly database: Database;
  readonly instance: string;
  readonly epoch: number;
  readonly clock: Clock;
}

export interface PostgresJournal {
  readonly journal: Journal;
  readonly audit: AuditLog;
}

/**
 * All replicas change the ledger one after the other, under the lock of the audit log: the sums of caps and the claims
 * that a change reads are exact until it commits.
 */
export function createPostgresJournal({ database, instance, epoch, clock }: JournalDeps): PostgresJournal {
  /** Last record that this process has seen committed. */
  let seen: AuditHead | undefined;
  let problem: string | undefined;

  const write: Journal['write'] = async (work, account) => {
    let told: AuditHead | undefined;
    const result = await database.transaction(
      (function* () {
        yield* lockFor('audit');
        const after = yield* readHead();
        assertNotBehind(after);
        return yield* work(function* (entry) {
          if (told !== undefined) throw new Error('a ledger change must write exactly one audit record');
          told = yield* append(entry, { instance, epoch, now: clock.now(), after });
        });
      })(),
      account,
    );
    // Responses to two commits may arrive in another order.
    if (told !== undefined && told.sequence > (seen?.sequence ?? 0)) seen = told;
    return result;
  };

  /** A standby that was promoted after a failure may lack the last commits of the server before it. */
  function assertNotBehind(head: AuditHead | undefined): void {
    if ((head?.sequence ?? 0) < (seen?.sequence ?? 0)) {
      problem = `the database lost changes: its audit log ends with record ${head?.sequence ?? 0}, but this process has seen ${seen?.sequence}`;
    }
    if (problem !== undefined) throw new StoreError(problem);
  }

  return {
    journal: { database, instance, epoch, problem: () => problem, write },
    audit: {
      problem: undefined,
      opening: { notes: [] },
      append: () => {
        throw new Error('a record of the audit log is written with its change');
      },
      head: () => seen,
      verify: () => database.read(verifyTable()),
    },
  };
}

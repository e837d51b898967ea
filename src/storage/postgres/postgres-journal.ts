/** A change of the ledger on PostgreSQL: one transaction with its audit record. */
import { DISTRUSTED, type AuditHead, type AuditLog } from '#automate/ledger/audit-log.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { storedHead } from '../audit-head.ts';
import { all, type Database, type Work } from '../database.ts';
import type { Journal } from '../ledger-journal.ts';
import { MUST_ADOPT } from '../ledger-trust.ts';
import { addMeta } from '../meta.ts';
import { assertNotMoved } from '../moved-store.ts';
import { StoreError } from '../store-error.ts';
import { append, verifyTable } from './audit-table.ts';
import { lockFor } from './locks.ts';
import { notify } from './notices.ts';

interface JournalDeps {
  readonly database: Database;
  readonly instance: string;
  readonly epoch: number;
  readonly clock: Clock;
  /** Epoch of this replica's lease on an account; absent without replicas. */
  readonly epochOf?: (account: string) => number | undefined;
}

export interface PostgresJournal {
  readonly journal: Journal;
  readonly audit: AuditLog;
}

/** Changes by operators that concern the runs of all replicas. */
const WAKING: ReadonlySet<string> = new Set(['pause', 'unpause', 'plan.decided', 'deploy']);

/**
 * All replicas change the ledger one after the other, under the lock of the audit log: the sums of caps and the claims
 * that a change reads are exact until it commits.
 */
export function createPostgresJournal(deps: JournalDeps): PostgresJournal {
  const { database, instance, epoch, clock, epochOf } = deps;
  const epochs = `SELECT account, epoch FROM leases WHERE account IN ${database.dialect.members('?1')}`;
  /** Last record that this process has seen committed. */
  let seen: AuditHead | undefined;
  let problem: string | undefined;

  const write: Journal['write'] = async (work, account) => {
    try {
      return await change(work, account);
    } catch (error) {
      if (problem !== undefined) await distrust(problem);
      throw error;
    }
  };

  async function change<T>(work: Parameters<typeof write<T>>[0], account: string | undefined): Promise<T> {
    let told: AuditHead | undefined;
    const result = await database.transaction(function* () {
      yield* lockFor('audit');
      // A process that was paused during the move does not know of it.
      yield* assertNotMoved('storage.postgres');
      const after = yield* storedHead();
      assertNotBehind(after);
      return yield* work(function* (entry) {
        if (told !== undefined) throw new Error('a ledger change must write exactly one audit record');
        told = yield* append(entry, { instance, epoch, now: clock.now(), after });
        if (WAKING.has(entry.type) && entry['by'] !== 'engine') yield* notify('ledger', String(epoch));
      });
    }, account);
    // Responses to two commits may arrive in another order.
    if (told !== undefined && told.sequence > (seen?.sequence ?? 0)) seen = told;
    return result;
  }

  /** Makes other processes wait for an operator: they cannot know what the database has lost. */
  async function distrust(reason: string): Promise<void> {
    const stored = function* (): Work<void> {
      yield* lockFor('audit');
      const after = yield* storedHead();
      if ((yield* addMeta(MUST_ADOPT, reason)) === 0) return;
      yield* append({ type: DISTRUSTED, reason }, { instance, epoch, now: clock.now(), after });
    };
    // Each later change of this process fails as well, and tries again.
    await database.transaction(stored).catch(() => undefined);
  }

  function* notOwned(accounts: readonly string[]): Work<string | undefined> {
    if (epochOf === undefined || accounts.length === 0) return undefined;
    const rows = yield* all(epochs, JSON.stringify(accounts));
    const current = new Map(rows.map((row) => [row['account'], Number(row['epoch'])]));
    const lost = accounts.find(
      (account) => epochOf(account) === undefined || epochOf(account) !== current.get(account),
    );
    if (lost === undefined) return undefined;
    return `another replica owns account ${lost}, or this one cannot extend its lease: the database has epoch ${current.get(lost) ?? 'none'} of the lease, and this replica has ${epochOf(lost) ?? 'none'}`;
  }

  /** A standby that was promoted after a failure may lack the last commits of the server before it. */
  function assertNotBehind(head: AuditHead | undefined): void {
    if ((head?.sequence ?? 0) < (seen?.sequence ?? 0)) {
      problem = `the database lost changes: its audit log ends with record ${head?.sequence ?? 0}, but this process has seen ${seen?.sequence}`;
    }
    if (problem !== undefined) throw new StoreError(problem);
  }

  return {
    journal: { database, instance, epoch, problem: () => problem, notOwned, write },
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

/**
 * Statements on leases and replicas. A lease lasts as long as the heartbeat of its owner. A replica whose heartbeat
 * expired is deleted before its accounts are taken, and its next heartbeat finds nothing to extend. So a replica never
 * extends a lease that another one has taken. All times are those of the database's clock.
 */
import { all, each, get, run, type Work } from '../database.ts';
import { assertNotMoved, NOT_MOVED } from '../moved-store.ts';
import type { RankedReplica } from './rendezvous.ts';
import { ENDED_EPOCHS } from './timeline.ts';

/** A lease as read. */
export interface LeaseRow {
  readonly account: string;
  /** Id of the replica; null after a handover. */
  readonly owner: string | null;
  readonly epoch: number;
  /** False also for a lease of an earlier timeline. */
  readonly isOwnerAlive: boolean;
}

/** Live replica that takes accounts. */
export interface Member extends RankedReplica {
  /** Accounts that it configures. It takes no others. */
  readonly accounts: readonly string[];
}

export type LeaseTable = ReturnType<typeof createLeaseTable>;

/** Clock of the database in epoch milliseconds. It is not the start of the transaction, which may be long ago. */
export const DATABASE_CLOCK = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)';

const LEASES = `SELECT account, owner, epoch,
    EXISTS (SELECT 1 FROM replicas WHERE id = owner) AND epoch > ${ENDED_EPOCHS} AS "isOwnerAlive"
  FROM leases ORDER BY account`;

/** Waits for no change of the account in progress: the next attempt is soon. */
const LOCKED = 'SELECT account FROM leases WHERE account = ?1 AND epoch = ?2 FOR UPDATE SKIP LOCKED';

/** Name of all connections of a process. Another replica finds them by it. */
export function connectionName(session: string, replica: string): string {
  return `opsd ${session} ${replica}`;
}

/** Id of a replica. The session is that of its connections. */
export function replicaId(name: string, session: string, suffix: string): string {
  return `${name}/${session}.${suffix}`;
}

/**
 * Ends the connections of replicas whose heartbeat expired. Their network may swallow everything: without this, each
 * open transaction holds its locks until its timeout, one after the other, and all replicas wait.
 *
 * @param now expression of the present time in epoch milliseconds
 */
const dismiss = (now: string): string => `WITH dead AS (DELETE FROM replicas WHERE expires_at <= ${now} RETURNING id)
  SELECT pg_terminate_backend(pid) FROM dead JOIN pg_stat_activity
    ON application_name LIKE '${connectionName(`' || split_part(split_part(id, '/', 2), '.', 1) || '`, '%')}'
  WHERE usename = current_user AND pid <> pg_backend_pid()`;

/** @param now expression of the present time in epoch milliseconds */
export function createLeaseTable(now = DATABASE_CLOCK) {
  return {
    /**
     * Returns the time of the database.
     *
     * @throws {StoreError} if the store was moved: this one must not be acted on
     */
    *join({ id, name, accounts }: Member, leaseMs: number): Work<number> {
      const row = yield* get(
        `INSERT INTO replicas (id, name, draining, started_at, expires_at, accounts)
         SELECT ?1, ?2, 0, ${now}, ${now} + ?3, ?4 WHERE ${NOT_MOVED} RETURNING expires_at`,
        id,
        name,
        leaseMs,
        JSON.stringify(accounts),
      );
      if (row === undefined) yield* assertNotMoved('storage.postgres');
      return Number(row!['expires_at']) - leaseMs;
    },
    /** Replaces the accounts that a replica configures. */
    configure: (id: string, accounts: readonly string[]): Work<unknown> =>
      run('UPDATE replicas SET accounts = ?2 WHERE id = ?1', id, JSON.stringify(accounts)),
    /** Returns the time of the database; undefined if the replica was deleted: it has no lease any more. */
    *extend(id: string, leaseMs: number): Work<number | undefined> {
      const update = `UPDATE replicas SET expires_at = ${now} + ?2 WHERE id = ?1 RETURNING expires_at`;
      const row = yield* get(update, id, leaseMs);
      return row && Number(row['expires_at']) - leaseMs;
    },
    drain: (id: string): Work<unknown> => run('UPDATE replicas SET draining = 1 WHERE id = ?', id),
    /** Deletes the replica, and with it all of its leases. */
    leave: (id: string): Work<unknown> => run('DELETE FROM replicas WHERE id = ?', id),
    /**
     * Returns all leases and the replicas that take accounts.
     *
     * @param isClockSteady true deletes the replicas whose heartbeat expired
     */
    *survey(accounts: readonly string[], isClockSteady: boolean): Work<Survey> {
      if (isClockSteady) yield* all(dismiss(now));
      const members = 'SELECT id, name, accounts FROM replicas WHERE draining = 0 ORDER BY id';
      const replicas = yield* all<RankedReplica & { readonly accounts: string }>(members);
      const leases = yield* all<Omit<LeaseRow, 'isOwnerAlive'> & { readonly isOwnerAlive: 0 | 1 }>(LEASES);
      const known = new Set(leases.map(({ account }) => account));
      const added = accounts.filter((account) => !known.has(account));
      const insert = 'INSERT INTO leases (account, owner, epoch) VALUES (?, NULL, 0) ON CONFLICT (account) DO NOTHING';
      yield* each(insert, added, (account) => [account]);
      return {
        replicas: replicas.map((member) => ({ ...member, accounts: JSON.parse(member.accounts) as string[] })),
        leases: [
          ...leases.map((lease) => ({ ...lease, isOwnerAlive: lease.isOwnerAlive === 1 })),
          ...added.map((account) => ({ account, owner: null, epoch: 0, isOwnerAlive: false })),
        ],
      };
    },
    /** Takes a lease that still has this epoch. Returns the new epoch; undefined if another replica was faster. */
    *take({ account, epoch }: Lease, id: string): Work<number | undefined> {
      const row = yield* get(
        `UPDATE leases SET owner = ?3, epoch = GREATEST(epoch, ${ENDED_EPOCHS}) + 1, owned_since = ${now}
         WHERE account = (${LOCKED}) RETURNING epoch`,
        account,
        epoch,
        id,
      );
      return row && Number(row['epoch']);
    },
    /** Gives a lease to no one, so that another replica can take it at once. */
    release: ({ account, epoch }: Lease): Work<unknown> =>
      run('UPDATE leases SET owner = NULL, owned_since = NULL WHERE account = ? AND epoch = ?', account, epoch),
  };
}

type Lease = Pick<LeaseRow, 'account' | 'epoch'>;

interface Survey {
  readonly replicas: readonly Member[];
  readonly leases: readonly LeaseRow[];
}

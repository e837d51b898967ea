/** Rows of the store that a generation of the daemon works on, and changes of them. */
import type { Database, Dialect, Work } from './database.ts';
import { LeaseLostError } from './store-error.ts';

export interface RowScope {
  /** Accounts of the rows. Absent: all rows, also those of accounts that the configuration no longer has. */
  readonly accounts?: readonly string[];
  /**
   * Accounts whose rows belong to other replicas. Only the leader has this list, which may be empty. It works on all
   * other rows: those of `accounts`, of accounts that no replica configures, and of the store itself.
   */
  readonly others?: readonly string[];
  /** Replica that works on rows that belong to no account; '' without replicas. */
  readonly replica: string;
}

/** Scope of a process that has the store for itself. */
export const WHOLE: RowScope = { replica: '' };

/** Lease of the leader, as an account. */
const LEADER = '';

/** Returns the account whose lease guards a change of an account's rows; undefined without replicas. */
export function leaseFor({ accounts }: RowScope, account: string): string | undefined {
  if (accounts === undefined) return undefined;
  return accounts.includes(account) ? account : LEADER;
}

/** Returns true if a scope has the rows of an account. */
export function isInScope({ accounts, others }: RowScope, account: string): boolean {
  if (others !== undefined) return !others.includes(account);
  return accounts?.includes(account) ?? true;
}

/** Returns the scope after the loss of a lease. */
export function withoutLease(scope: RowScope, account: string): RowScope {
  const { accounts = [], others, replica } = scope;
  if (account === LEADER) return { accounts, replica };
  const kept = accounts.filter((one) => one !== account);
  return { accounts: kept, others: others && [...others, account], replica };
}

/** Returns a condition on the column `account` that only rows of the scope meet. `?1` is the `accountsParameter`. */
export function isOwn({ members }: Dialect, { accounts, others }: RowScope): string {
  const isListed = accounts !== undefined && others === undefined;
  return `account ${isListed ? 'IN' : 'NOT IN'} ${members('?1')}`;
}

export function accountsParameter({ accounts, others }: RowScope): string {
  return JSON.stringify(others ?? accounts ?? []);
}

export interface Changed<R> {
  /** Results of the transactions. */
  readonly results: readonly R[];
  /** Leases that this replica does not have any more. Their rows were not changed. */
  readonly lost: readonly LeaseLostError[];
}

/**
 * Changes rows in one transaction for each lease that guards them, so that a lost lease affects only its own rows.
 * Rejects with the first other error.
 *
 * @param leaseOf returns the account whose lease guards a row; undefined: none
 */
export async function changeByLease<T, R>(
  database: Database,
  rows: readonly T[],
  leaseOf: (row: T) => string | undefined,
  work: (rows: readonly T[]) => Work<R>,
): Promise<Changed<R>> {
  const results: R[] = [];
  const lost: LeaseLostError[] = [];
  for (const [lease, guarded] of Map.groupBy(rows, leaseOf)) {
    try {
      results.push(await database.transaction(work(guarded), lease));
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
      lost.push(error);
    }
  }
  return { results, lost };
}

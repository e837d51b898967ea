/** Statements and transactions over the rows of a scope. */
import type { Database, Dialect, Work } from './database.ts';
import type { Scope } from './scope.ts';
import { LeaseLostError } from './store-error.ts';

/**
 * Returns a condition on the column `account` that only rows of the scope meet.
 *
 * @param parameter gets the value of `accountsOf`
 */
export function isOwn({ members }: Dialect, { accounts, others }: Scope, parameter: string): string {
  const isListed = accounts !== undefined && others === undefined;
  return `account ${isListed ? 'IN' : 'NOT IN'} ${members(parameter)}`;
}

export function accountsOf({ accounts, others }: Scope): string {
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

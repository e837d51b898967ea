/** Use of caps, and raises of the budget. */
import type { BudgetRaise } from '#foundation/domain/known-budget.ts';
import type { ActionType } from '#foundation/domain/plan.ts';

/** Actions that use a cap; absent fields do not restrict them. */
export interface CapScope {
  readonly policy?: string;
  readonly account?: string;
  readonly actions?: readonly ActionType[];
}

/** Reader of the use of caps. */
export interface Usage {
  /** Numbers of items that count against caps, each since `since`, in the order of the caps. */
  used(caps: readonly { readonly scope: CapScope; readonly since: number }[]): Promise<readonly number[]>;
  /** Time of the oldest action that counts against a cap since `since`. */
  oldestAt(scope: CapScope, since: number): Promise<number | undefined>;
  /** Time of a policy's last intent. */
  lastIntentAt(policy: string): Promise<number | undefined>;
  /** Time of the last action since `since` whose effect is, or was, unknown. */
  lastUnknownAt(policy: string, since: number): Promise<number | undefined>;
  /** Attempts of the runs that were resumed since `since`: one for each run, plus its maximum retries. */
  resumedTries(account: string, since: number): Promise<number>;
}

/** Reader of the raises of the budget. */
export interface Raises {
  /** Raises since `since` that may have had an effect, oldest first. */
  raises(account: string, since: number): Promise<readonly BudgetRaise[]>;
  /** Raises, and changes of the budget by operators, since `since` that may have had an effect, oldest first. */
  budgetChanges(account: string, since: number): Promise<readonly BudgetRaise[]>;
  /** All `budgetChanges` of each of these accounts. */
  budgetChangesOf(accounts: readonly string[]): Promise<ReadonlyMap<string, readonly BudgetRaise[]>>;
  /**
   * Records that the store has watched accounts from now on, unless it already does. An account with another `id` is
   * another account. `adopt` forgets them, since raises may be missing. Writes nothing if nothing is new.
   */
  noteAccounts(accounts: readonly { readonly account: string; readonly id: string }[], at: number): Promise<void>;
  /** Epoch milliseconds since which the store has every raise of an account. */
  accountSince(account: string): Promise<number | undefined>;
}

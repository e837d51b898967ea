/** Use of caps, and raises of the budget. */
import type { BudgetRaise } from '#foundation/domain/known-budget.ts';
import type { ActionType } from '#foundation/domain/plan.ts';
import type { ActionOutcome } from './intents.ts';

/** Reader of the use of caps. */
export interface Usage {
  /** Number of items that count against a cap since `since`. */
  used(
    scope: { readonly policy?: string; readonly account?: string; readonly actions?: readonly ActionType[] },
    since: number,
  ): number;
  /** Time of a policy's last intent. */
  lastIntentAt(policy: string): number | undefined;
  /** Time of the last action since `since` whose effect is, or was, unknown. */
  lastUnknownAt(policy: string, since: number): number | undefined;
  /** Attempts of the runs that were resumed since `since`: one for each run, plus its maximum retries. */
  resumedTries(account: string, since: number): number;
}

/** Reader of the raises of the budget. */
export interface Raises {
  /** Raises since `since` that may have had an effect, oldest first. */
  raises(
    account: string,
    since: number,
  ): readonly {
    readonly at: number;
    readonly fromUsd: number;
    readonly toUsd: number;
    readonly outcome?: ActionOutcome;
  }[];
  /** Raises, and changes of the budget by operators, since `since` that may have had an effect, oldest first. */
  budgetChanges(account: string, since: number): readonly BudgetRaise[];
  /**
   * Records that the store has watched an account from now on, unless it already does. An account with another `id` is
   * another account. `adopt` forgets it, since raises may be missing.
   */
  noteAccount(account: string, id: string, at: number): void;
  /** Epoch milliseconds since which the store has every raise of an account. */
  accountSince(account: string): number | undefined;
}

/** The use of caps, and raises of the budget. */
import type { ActionType } from '#foundation/domain/plan.ts';
import type { ActionOutcome } from './intents.ts';

/** Reads the use of caps. */
export interface Usage {
  /** Items of the acts whose cap is taken, since `since`. */
  used(
    scope: { readonly policy?: string; readonly account?: string; readonly actions?: readonly ActionType[] },
    since: number,
  ): number;
  /** The last intent of a policy. */
  lastIntentAt(policy: string): number | undefined;
  /** When the last act since `since` was sent of which it was not, or is not, known what it did. */
  lastUnknownAt(policy: string, since: number): number | undefined;
  /** Tries of the runs that were resumed since `since`: each once, and as often as it may be retried. */
  resumedTries(account: string, since: number): number;
}

/** Reads the raises of the budget. */
export interface Raises {
  /** Budget raises that may have had an effect, since `since`, oldest first. */
  raises(
    account: string,
    since: number,
  ): readonly {
    readonly at: number;
    readonly fromUsd: number;
    readonly toUsd: number;
    readonly outcome?: ActionOutcome;
  }[];
  /**
   * Notes that the store watches an account from now on, unless it does so already. An account that got another `id` is
   * another account. `adopt` forgets it: raises may be missing.
   */
  noteAccount(account: string, id: string, at: number): void;
  /** Epoch milliseconds since which the store has every raise of an account. */
  accountSince(account: string): number | undefined;
}

/**
 * Enforces an account's monthly budget. The budget covers the cost of messages; the reserved price of a plan does not
 * count. When the budget is spent, no message is accepted or delivered. This ends when the month turns, the budget is
 * raised or removed, or the plan no longer bills each message.
 *
 * A message that becomes due fails permanently and enters its DLQ. It counts as an attempt.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Account } from '../state/account.ts';

export interface BudgetGuardOptions {
  readonly clock: Clock;
  /** Returns the cost of messages in the present UTC month. */
  readonly spentMicroUsd: (accountId: string, now: number) => number;
  /** False disables all budgets. */
  readonly enforced: boolean;
}

interface Exhausted {
  readonly reason: string;
  /** Milliseconds until the month turns. */
  readonly resetMs: number;
}

export class BudgetGuard {
  readonly #options: BudgetGuardOptions;

  constructor(options: BudgetGuardOptions) {
    this.#options = options;
  }

  /** Returns undefined while budget is left. */
  exhausted({ id, plan, budgetUsd }: Account): Exhausted | undefined {
    const { clock, spentMicroUsd, enforced } = this.#options;
    if (!enforced || budgetUsd === 0 || plan !== 'paid') return undefined;
    const now = clock.now();
    if (spentMicroUsd(id, now) < budgetUsd * 1_000_000) return undefined;
    const date = new Date(now);
    const turn = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
    const reason = `quota exhausted: the account ${id} has spent its budget of ${budgetUsd} dollars a month`;
    return { reason, resetMs: turn - now };
  }
}

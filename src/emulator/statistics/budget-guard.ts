/**
 * Whether an account has spent its budget of the month. What counts is what its messages cost; the reserved price of a
 * plan is agreed on and stops nothing. From the moment the budget is reached no message is accepted and none delivered,
 * until the month turns, the budget is raised or taken away, or the plan no longer pays by the message.
 *
 * A message that comes to its delivery then fails for good and falls into its DLQ. It counts, as any attempt does.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Account } from '../state/account.ts';

export interface BudgetGuardOptions {
  readonly clock: Clock;
  /** What the messages of the present UTC month have cost. */
  readonly spentMicroUsd: (accountId: string, now: number) => number;
  /** False: no budget stops anything. */
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

  /** Undefined while there is budget left. */
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

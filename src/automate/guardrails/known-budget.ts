import { isOutdated, type BudgetDoubt } from '#foundation/domain/known-budget.ts';
import type { RaiseFacts } from './guard.ts';

/**
 * Requires a known budget. No operation reads the budget, so a raise from an unknown, old or disproved value is a
 * guess.
 */
export function knownBudget({ known, spend, doubt, isApproved, now }: RaiseFacts): BudgetDoubt | undefined {
  if (known === undefined) return hold('the budget is unknown');
  if (isOutdated(known, now)) return hold('the known budget is too old');
  if (!spend.fresh || spend.monthUsd === undefined) return hold('the spend of the month is unknown');
  if (!(spend.monthUsd * 10 <= known.knownUsd * 11)) {
    return hold(`the spend of $${spend.monthUsd.toFixed(2)} proves that the budget is not $${known.knownUsd}`);
  }
  return doubt?.verdict === 'approve' && isApproved ? undefined : doubt;
}

function hold(reason: string): BudgetDoubt {
  return { verdict: 'hold', reason };
}

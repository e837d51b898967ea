import type { BudgetDoubt } from '#foundation/domain/known-budget.ts';
import type { RaiseFacts } from './guard.ts';

/** No operation reads the budget: a raise from one that is not known, too old, or proven wrong by the spend is a guess. */
export function knownBudget({ known, spend, doubt, isApproved, now }: RaiseFacts): BudgetDoubt | undefined {
  if (known === undefined) return hold('the budget is not known');
  if (!(now - known.assertedAt <= known.maxAgeMs)) return hold('what is known of the budget is too old');
  if (!spend.fresh || spend.monthUsd === undefined) return hold('the spend of the month is not known');
  if (!(spend.monthUsd * 10 <= known.knownUsd * 11)) {
    return hold(`the spend of $${spend.monthUsd.toFixed(2)} proves that the budget is not $${known.knownUsd}`);
  }
  return doubt?.verdict === 'approve' && isApproved ? undefined : doubt;
}

function hold(reason: string): BudgetDoubt {
  return { verdict: 'hold', reason };
}

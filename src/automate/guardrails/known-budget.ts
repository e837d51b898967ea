import type { Hold } from '#foundation/domain/hold.ts';
import { isOutdated } from '#foundation/domain/known-budget.ts';
import type { RaiseFacts } from './guard.ts';

/**
 * Requires a known budget. No operation reads the budget, so a raise from an unknown, old or disproved value is a
 * guess.
 */
export function knownBudget(
  facts: RaiseFacts,
): { readonly verdict: 'hold' | 'approve'; readonly hold: Hold } | undefined {
  const { doubt, isApproved } = facts;
  const unusable = unusableBudget(facts);
  if (unusable !== undefined) return { verdict: 'hold', hold: holdOf(unusable) };
  if (doubt === undefined || (doubt.verdict === 'approve' && isApproved)) return undefined;
  return { verdict: doubt.verdict, hold: holdOf(doubt.reason) };
}

function unusableBudget({ known, spend, now }: RaiseFacts): string | undefined {
  if (known === undefined) return 'the budget is unknown';
  if (isOutdated(known, now)) return 'the known budget is too old';
  if (!spend.fresh || spend.monthUsd === undefined) return 'the spend of the month is unknown';
  if (spend.monthUsd * 10 <= known.knownUsd * 11) return undefined;
  return `the spend of $${spend.monthUsd.toFixed(2)} proves that the budget is not $${known.knownUsd}`;
}

function holdOf(measured: string): Hold {
  return {
    measured,
    needed: 'a raise needs a budget and a spend that are known and agree',
    remedy: 'read the budget in the console and assert it in `budget` of the account, with the day',
  };
}

import type { RaiseFacts } from './guard.ts';

/** Keeps a raise below its ceiling and within the month's limits. */
export function raiseLimits(facts: RaiseFacts): { readonly verdict: 'hold'; readonly reason: string } | undefined {
  const reason = overLimit(facts);
  return reason === undefined ? undefined : { verdict: 'hold', reason };
}

function overLimit(facts: RaiseFacts): string | undefined {
  const { known, toUsd, ceilingUsd, maxPerMonth, maxRaisePerMonthUsd } = facts;
  if (known === undefined || toUsd === undefined) return 'the new budget is unknown';
  if (!(toUsd <= ceilingUsd)) return `$${toUsd} is above the ceiling of $${ceilingUsd}`;
  if (!(toUsd > known.knownUsd)) return `$${known.knownUsd} cannot be raised: the ceiling is $${ceilingUsd}`;
  if (maxPerMonth !== undefined && !(facts.raisesThisMonth < maxPerMonth)) {
    return `${facts.raisesThisMonth} of ${maxPerMonth} raises of the month are used`;
  }
  const added = facts.raisedThisMonthUsd + toUsd - known.knownUsd;
  if (maxRaisePerMonthUsd === undefined || added <= maxRaisePerMonthUsd) return undefined;
  return `$${added} would be added in this month, more than $${maxRaisePerMonthUsd}`;
}

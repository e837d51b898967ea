import type { Hold } from '#foundation/domain/hold.ts';
import type { RaiseFacts } from './guard.ts';

/** Keeps a raise below its ceiling and within the month's limits. */
export function raiseLimits(facts: RaiseFacts): { readonly verdict: 'hold'; readonly hold: Hold } | undefined {
  const over = overLimit(facts);
  if (over === undefined) return undefined;
  const [measured, needed, until] = over;
  const remedy = 'decide how much the month is allowed to cost';
  return { verdict: 'hold', hold: { measured, needed, ...(until !== undefined && { until }), remedy } };
}

function overLimit(
  facts: RaiseFacts,
): readonly [measured: string, needed: string, until?: number | undefined] | undefined {
  const { known, toUsd, ceilingUsd, maxPerMonth, maxRaisePerMonthUsd, monthEndsAt } = facts;
  const ceiling = `the ceiling is $${ceilingUsd}`;
  if (known === undefined || toUsd === undefined) return ['the new budget is unknown', ceiling];
  if (!(toUsd <= ceilingUsd)) return [`the new budget would be $${toUsd}`, ceiling];
  if (!(toUsd > known.knownUsd)) return [`$${known.knownUsd} cannot be raised`, ceiling];
  if (maxPerMonth !== undefined && !(facts.raisesThisMonth < maxPerMonth)) {
    return [`${facts.raisesThisMonth} raises in this month`, `limits.maxPerMonth is ${maxPerMonth}`, monthEndsAt];
  }
  const added = facts.raisedThisMonthUsd + toUsd - known.knownUsd;
  if (maxRaisePerMonthUsd === undefined || added <= maxRaisePerMonthUsd) return undefined;
  // A raise above the limit of one month does not fit into the next month either.
  const until = toUsd - known.knownUsd <= maxRaisePerMonthUsd ? monthEndsAt : undefined;
  return [`$${added} would be added in this month`, `limits.maxRaisePerMonthUsd is $${maxRaisePerMonthUsd}`, until];
}

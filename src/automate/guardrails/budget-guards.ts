/** Guards of a raise of the budget. */
import { trendOfAmounts, type Hold } from '#foundation/domain/hold.ts';
import { isOutdated } from '#foundation/domain/known-budget.ts';
import type { RaiseFacts } from './guard.ts';

/**
 * Requires a known and recent budget, and a known spend of at most 1.1 times the budget. The assertion must not be
 * older than the store, nor its amount changed without its day. One of the day on which the store began, or of more
 * than 7 days ago, requires an approval. Remedy: assert the budget of the service's console in `budget` of the account,
 * with the day.
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

/**
 * Requires several readings that agree, unless an operator approved the plan: 2, 15 min apart, or 5 min if fewer than 3
 * hours are left. Remedy: wait.
 */
export function confirmation({
  unconfirmed,
  isApproved,
}: RaiseFacts): { readonly verdict: 'hold'; readonly hold: Hold } | undefined {
  if (unconfirmed === undefined || isApproved) return undefined;
  const { readings, needed, apart, windowMs, until } = unconfirmed;
  return {
    verdict: 'hold',
    hold: {
      measured: `reading ${readings} of ${needed}`,
      needed: `they must agree and be ${apart} apart`,
      windowMs,
      until,
      remedy: 'wait for the next readings',
    },
  };
}

/**
 * Keeps a raise within `action.ceilingUsd`, `limits.maxPerMonth`, and `limits.maxRaisePerMonthUsd`. Remedy: decide how
 * much the month is allowed to cost.
 */
export function raiseLimits(facts: RaiseFacts): { readonly verdict: 'hold'; readonly hold: Hold } | undefined {
  const over = overLimit(facts);
  if (over === undefined) return undefined;
  const [measured, needed, until] = over;
  const remedy = 'decide how much the month is allowed to cost';
  return { verdict: 'hold', hold: { measured, needed, until, remedy } };
}

function overLimit(facts: RaiseFacts): readonly [measured: string, needed: string, until?: number] | undefined {
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

const DAY_MS = 86_400_000;

/**
 * Requires approval of a raise if the usual spend is not known, the spend of the last day is more than 2.5 times as
 * high, or this daemon causes more than a tenth of the messages: it may be a loop. Remedy: look for a loop first, then
 * approve the plan.
 */
export function surge(facts: RaiseFacts): { readonly verdict: 'approve'; readonly hold: Hold } | undefined {
  const reason = facts.isApproved ? undefined : notUsual(facts);
  if (reason === undefined) return undefined;
  const { hoursLeft } = facts.spend;
  const left = hoursLeft === undefined ? 'hours left unknown' : `${hoursLeft.toFixed(1)} hours left`;
  const { measured, needed, trend } = reason;
  const remedy = 'look for a loop, then approve or reject the plan';
  return { verdict: 'approve', hold: { measured: `${measured} (${left})`, needed, windowMs: DAY_MS, trend, remedy } };
}

function notUsual({ spend }: RaiseFacts): Pick<Hold, 'measured' | 'needed' | 'trend'> | undefined {
  const { last24hUsd, dayBeforeUsd = Number.NaN, medianDayUsd, messagesLastDay, ownMessagesLastDay } = spend;
  if (last24hUsd === undefined || medianDayUsd === undefined) {
    const needed = 'a raise without approval needs three days of history';
    return { measured: 'the usual spend of a day is unknown', needed };
  }
  if (!(last24hUsd * 2 <= medianDayUsd * 5)) {
    return {
      measured: `$${last24hUsd.toFixed(2)} in 24 hours`,
      needed: `at most 2.5 times the usual $${medianDayUsd.toFixed(2)} is normal`,
      trend: trendOfAmounts(dayBeforeUsd, last24hUsd),
    };
  }
  // Without a count of the daemon's own messages, the check of the spend above detects a loop.
  if (ownMessagesLastDay === undefined || messagesLastDay === undefined) return undefined;
  if (ownMessagesLastDay * 10 <= messagesLastDay) return undefined;
  const own = `${ownMessagesLastDay} of ${messagesLastDay} messages of the last day come from actions of this daemon`;
  return { measured: own, needed: 'at most a tenth is normal' };
}

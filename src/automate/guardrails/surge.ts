import { trendOfAmounts, type Hold } from '#foundation/domain/hold.ts';
import type { RaiseFacts } from './guard.ts';

const DAY_MS = 86_400_000;

/**
 * Requires approval of a raise after unusual spend or spend that this daemon caused: it may be a loop, so an operator
 * decides.
 */
export function surge(facts: RaiseFacts): { readonly verdict: 'approve'; readonly hold: Hold } | undefined {
  const reason = facts.isApproved ? undefined : notUsual(facts);
  if (reason === undefined) return undefined;
  const { hoursLeft } = facts.spend;
  const left = hoursLeft === undefined ? 'hours left unknown' : `${hoursLeft.toFixed(1)} hours left`;
  const { measured, needed, trend } = reason;
  const remedy = 'look for a loop, then approve or reject the plan';
  const past = trend !== undefined && { trend };
  return { verdict: 'approve', hold: { measured: `${measured} (${left})`, needed, windowMs: DAY_MS, ...past, remedy } };
}

function notUsual({ spend }: RaiseFacts): Pick<Hold, 'measured' | 'needed' | 'trend'> | undefined {
  const { last24hUsd, dayBeforeUsd = Number.NaN, medianDayUsd, messagesLastDay, ownMessagesLastDay } = spend;
  if (last24hUsd === undefined || medianDayUsd === undefined) {
    const needed = 'a raise without approval needs three days of history';
    return { measured: 'the usual spend of a day is unknown', needed };
  }
  if (!(last24hUsd * 2 <= medianDayUsd * 5)) {
    const trend = trendOfAmounts(dayBeforeUsd, last24hUsd);
    return {
      measured: `$${last24hUsd.toFixed(2)} in 24 hours`,
      needed: `at most 2.5 times the usual $${medianDayUsd.toFixed(2)} is normal`,
      ...(trend !== undefined && { trend }),
    };
  }
  // Without a count of the daemon's own messages, the check of the spend above detects a loop.
  if (ownMessagesLastDay === undefined || messagesLastDay === undefined) return undefined;
  if (ownMessagesLastDay * 10 <= messagesLastDay) return undefined;
  const own = `${ownMessagesLastDay} of ${messagesLastDay} messages of the last day come from actions of this daemon`;
  return { measured: own, needed: 'at most a tenth is normal' };
}

import type { RaiseFacts } from './guard.ts';

/**
 * Requires approval of a raise after unusual spend or spend that this daemon caused: it may be a loop, so an operator
 * decides.
 */
export function surge(facts: RaiseFacts): { readonly verdict: 'approve'; readonly reason: string } | undefined {
  const reason = facts.isApproved ? undefined : notUsual(facts);
  if (reason === undefined) return undefined;
  const { hoursLeft } = facts.spend;
  const left = hoursLeft === undefined ? 'hours left unknown' : `${hoursLeft.toFixed(1)} hours left`;
  return { verdict: 'approve', reason: `${reason}; ${left}` };
}

function notUsual({ spend }: RaiseFacts): string | undefined {
  const { last24hUsd, medianDayUsd, messagesLastDay, ownMessagesLastDay } = spend;
  if (last24hUsd === undefined || medianDayUsd === undefined) return 'the usual spend of a day is unknown';
  if (!(last24hUsd * 2 <= medianDayUsd * 5)) {
    return `$${last24hUsd.toFixed(2)} in 24 hours, more than 2.5 times the usual $${medianDayUsd.toFixed(2)}`;
  }
  // Without a count of the daemon's own messages, the check of the spend above detects a loop.
  if (ownMessagesLastDay === undefined || messagesLastDay === undefined) return undefined;
  if (ownMessagesLastDay * 10 <= messagesLastDay) return undefined;
  return `${ownMessagesLastDay} of ${messagesLastDay} messages of the last day come from actions of this daemon`;
}

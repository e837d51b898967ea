import { isoTime, trendOfShares, type Hold } from '#foundation/domain/hold.ts';
import type { AccountFacts, Arrivals } from './guard.ts';

const HOLD_MS = 600_000;
const ARRIVALS_MS = 900_000;

/**
 * Holds an account whose requests fail for quota or rate: resumed runs would fail for the same reason. A raise of the
 * budget is the remedy, so it is not held.
 */
export function quota({ action, refusedAt, recentArrivals, now }: AccountFacts): Hold | undefined {
  if (action === 'budget.raise') return undefined;
  const remedy = 'raise the budget or the limit of the plan, or send less';
  if (refusedAt !== undefined && !(now - refusedAt >= HOLD_MS)) {
    return {
      measured: `the service rejected a request with 429 or for its quota at ${isoTime(Math.round(refusedAt))}`,
      needed: 'the last rejection must be 10 minutes old',
      windowMs: HOLD_MS,
      since: refusedAt,
      until: refusedAt + HOLD_MS,
      remedy,
    };
  }
  const { all, quota, newer } = recentArrivals;
  if (quota * 5 <= all) return undefined;
  const older = newer && { all: all - newer.all, quota: quota - newer.quota };
  const trend = older && trendOfShares(othersOf(older), othersOf(newer));
  return {
    measured: `${quota} of ${all} runs that failed in the last 15 minutes failed with 429`,
    needed: 'at most a fifth is allowed',
    windowMs: ARRIVALS_MS,
    ...(trend !== undefined && { trend }),
    remedy,
  };
}

function othersOf({ all, quota }: Arrivals) {
  return { good: all - quota, all };
}

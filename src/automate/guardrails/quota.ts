import type { AccountFacts } from './guard.ts';

const HOLD_MS = 600_000;

/**
 * Holds an account whose requests fail for quota or rate: resumed runs would fail for the same reason. A raise of the
 * budget is the remedy, so it is not held.
 */
export function quota({ action, refusedAt, recentArrivals, now }: AccountFacts): string | undefined {
  if (action === 'budget.raise') return undefined;
  if (refusedAt !== undefined && !(now - refusedAt >= HOLD_MS)) {
    return `the service rejected a request with 429 or for its quota at ${new Date(refusedAt).toISOString()}`;
  }
  const { all, quota } = recentArrivals;
  return quota * 5 <= all ? undefined : `${quota} of ${all} runs that failed in the last 15 minutes failed with 429`;
}

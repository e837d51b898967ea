import type { AccountFacts } from './guard.ts';

const HOLD_MS = 600_000;

/**
 * An account that is refused for its quota or rate is not asked for more: resumed runs would fail of the same. A raise
 * of the budget is the way out, so it is not held.
 */
export function quota({ action, refusedAt, recentArrivals, now }: AccountFacts): string | undefined {
  if (action === 'budget.raise') return undefined;
  if (refusedAt !== undefined && !(now - refusedAt >= HOLD_MS)) {
    return `the service refused a request with 429 or for its quota at ${new Date(refusedAt).toISOString()}`;
  }
  const { all, quota } = recentArrivals;
  return quota * 5 <= all ? undefined : `${quota} of ${all} runs that failed in the last 15 minutes failed with 429`;
}

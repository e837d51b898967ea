/**
 * Shown bound of a prune: its filters, its bound in time, and its maximum number of messages. The messages cannot be
 * listed, so an approval is valid for one run and only while none of the three is wider.
 */
import type { Plan, PruneFilter } from '#foundation/domain/plan.ts';
import type { PrunePolicy } from '../../policies/policy.ts';

export interface PruneBound {
  /** Latest time of a failure, in epoch milliseconds. */
  readonly notAfter: number;
  readonly atMost: number;
}

/** Undefined for a plan with another action. */
export function pruneBound({ action, chosen, at }: Plan): PruneBound | undefined {
  if (action !== 'message-dlq.prune') return undefined;
  const pages = chosen.flatMap((page) => (page.action === 'message-dlq.prune' ? [page] : []));
  return {
    notAfter: Math.min(at, ...pages.map(({ filter }) => filter.toDate)),
    atMost: pages.reduce((sum, { items }) => sum + items, 0),
  };
}

/** Returns true if the policy requests no more at `now` (epoch milliseconds) than the plan showed. */
export function isWithinShown({ chosen }: Plan, policy: PrunePolicy, now: number): boolean {
  const asked = policy.filter(now);
  return chosen.every(
    (page) =>
      page.action !== 'message-dlq.prune' ||
      (filterText(page.filter) === filterText(asked) &&
        (asked.fromDate ?? -Infinity) >= (page.filter.fromDate ?? -Infinity)),
  );
}

/** Filter without its times, as text. */
export function filterText({ toDate: _toDate, fromDate: _fromDate, ...selection }: PruneFilter): string {
  return JSON.stringify(Object.entries(selection).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

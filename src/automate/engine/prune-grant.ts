/**
 * What a person has seen of a prune: its filters, its bound in time, and how many messages at most. Nobody lists them, so
 * an approval of it holds as far as none of the three is wider, and for one run.
 */
import type { Plan, PruneFilter } from '#foundation/domain/plan.ts';
import type { PrunePolicy } from '../policies/policy.ts';

export interface PruneBound {
  /** Nothing that failed later; epoch milliseconds. */
  readonly notAfter: number;
  readonly atMost: number;
}

/** Undefined where the plan is of another action. */
export function pruneBound({ action, chosen, at }: Plan): PruneBound | undefined {
  if (action !== 'message-dlq.prune') return undefined;
  const pages = chosen.flatMap((page) => (page.action === 'message-dlq.prune' ? [page] : []));
  return {
    notAfter: Math.min(at, ...pages.map(({ filter }) => filter.toDate)),
    atMost: pages.reduce((sum, { items }) => sum + items, 0),
  };
}

/** Whether the policy asks for no more at `now` (epoch milliseconds) than the plan showed. */
export function isWithinShown({ chosen }: Plan, policy: PrunePolicy, now: number): boolean {
  const asked = policy.filter(now);
  return chosen.every(
    (page) =>
      page.action !== 'message-dlq.prune' ||
      (selectionOf(page.filter) === selectionOf(asked) &&
        (asked.fromDate ?? -Infinity) >= (page.filter.fromDate ?? -Infinity)),
  );
}

/** A filter without its times, as text. */
export function selectionOf({ toDate: _toDate, fromDate: _fromDate, ...selection }: PruneFilter): string {
  return JSON.stringify(Object.entries(selection).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Last reduction before a plan: the limit of one run, and what the caps still allow. */
import { denialBy, type Plan, type Proposal } from '#foundation/domain/plan.ts';
import type { Policy } from '../../policies/policy.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import { guardsAt } from '../guard/guards-at.ts';
import type { Draft } from './plan-draft.ts';

/**
 * @param allowed in the order of execution
 * @returns the actions that fit
 */
export function withinCaps<P extends Proposal>(
  policy: Policy,
  allowed: readonly P[],
  { draft, caps }: { readonly draft: Draft; readonly caps: Plan['caps'] },
  { guards }: Pick<EngineDeps, 'guards'>,
): readonly P[] {
  const items = allowed.reduce((sum, { items }) => sum + items, 0);
  let room = items;
  for (const guard of guardsAt(guards, 'plan')) {
    const { allowed: count, hold } = guard.check({ matched: items, maxPerRun: policy.limits.maxPerRun, caps });
    room = Math.min(room, count);
    if (hold === undefined) continue;
    if (count === 0) draft.hold(denialBy(guard.name, hold));
    else draft.checks.push({ guard: guard.name, passed: false, reason: `${hold.measured}; ${hold.needed}` });
  }
  const chosen: P[] = [];
  for (const proposal of allowed) {
    // A page may be smaller; an entry is acted on or not.
    const fits = proposal.action === 'message-dlq.prune' ? Math.min(proposal.items, room) : proposal.items;
    if (fits === 0 || fits > room) break;
    room -= fits;
    chosen.push({ ...proposal, items: fits });
  }
  return chosen;
}

/** Last part of a decision over entries: what the account, each group and the caps allow in this run. */
import { denialBy, type Plan } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { guardsAt } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { withinCaps } from './caps.ts';
import { drainOf } from './drain.ts';
import { chooseByGroup, type Choosing, type EntryProposal, type GroupedPolicy } from './groups.ts';
import { deferredOf } from './plan-draft.ts';

type Chosen<P> = Pick<Plan, 'backlog' | 'campaigns' | 'caps' | 'drain'> & {
  readonly chosen: readonly P[];
  readonly deferred?: readonly P[];
};

export function choose<E extends WorkflowDlqEntry, P extends EntryProposal>(
  policy: GroupedPolicy,
  allowed: readonly E[],
  choosing: Choosing<E, P>,
  deps: EngineParts,
): Chosen<P> {
  const { population, now, draft, propose, caps, retention } = choosing;
  const recentArrivals = population.recent();
  const isMessageDelete = policy.action.type === 'message-dlq.delete';
  for (const guard of isMessageDelete ? [] : guardsAt(deps.guards, 'account')) {
    const refusedAt = deps.facts.refusedAt(policy.account);
    const hold = guard.check({ action: policy.action.type, refusedAt, recentArrivals, now });
    if (hold !== undefined) draft.hold(denialBy(guard.name, hold));
  }
  const groups = chooseByGroup(policy, allowed, choosing, deps);
  const chosen = withinCaps(policy, groups.allowed, { draft, caps }, deps);
  const expiries = Float64Array.from(allowed, ({ createdAt }) => createdAt + (retention ?? Infinity));
  return {
    chosen,
    backlog: allowed.length - chosen.length,
    deferred: deferredOf(allowed.values().map(propose), chosen),
    campaigns: groups.campaigns,
    caps,
    drain: isMessageDelete ? undefined : drainOf(policy, expiries, groups.campaigns, now),
  };
}

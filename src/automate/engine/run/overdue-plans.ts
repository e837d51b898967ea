/**
 * Ends pending plans on which no decision has an effect any more: they would ask for attention until they expire.
 */
import type { StoredPlan } from '../../ledger/plans.ts';
import type { Decision } from '../decide/plan-draft.ts';
import type { EngineParts } from '../guard/engine-parts.ts';

/** Ends the pending plans of policies that were removed, or that need no approval or send nothing in their mode. */
export async function endUnwanted(deps: EngineParts): Promise<void> {
  // The configuration is unknown, or the store is not trusted yet: both end without a new decision.
  if (deps.auditOnly?.() !== undefined || deps.ledger.mustBeAdopted !== undefined) return;
  for (const stored of await pendingPlans(deps)) {
    const reason = unwantedBecause(stored, deps);
    if (reason !== undefined) await end(stored, reason, deps);
  }
}

function unwantedBecause({ plan }: StoredPlan, { byName, authority, shared }: EngineParts): string | undefined {
  const policy = byName.get(plan.policy);
  // Another replica runs the policy, and ends its plans.
  if (policy === undefined && shared?.allPolicies.has(plan.policy) === true) return undefined;
  if (policy?.account !== plan.account || policy.action.type !== plan.action) {
    return `policy ${plan.policy} does not exist any more, or has another action or account`;
  }
  const { mode } = authority.mode(policy);
  if (mode === 'approve' || (mode === 'enforce' && plan.needsApproval !== undefined)) return undefined;
  const now = mode === 'enforce' ? 'its runs act without an approval' : 'its runs send nothing';
  return `policy ${plan.policy} is in mode ${mode}: ${now}`;
}

/**
 * Ends the pending plan of a policy if a complete reading has none of its entries.
 *
 * @param decision decision without an approval, which would hide other entries
 */
export async function endEmptied({ plan, targets, meant = [], tally }: Decision, deps: EngineParts): Promise<void> {
  const isRead = plan.state !== 'aborted' && plan.matched !== undefined && plan.read?.complete !== false;
  // Amounts and pages have no entries.
  if (!isRead || plan.action === 'budget.raise' || plan.action === 'message-dlq.prune') return;
  const left = new Set([...targets, ...meant, ...tally.waiting]);
  for (const stored of await pendingPlans(deps)) {
    if (stored.plan.policy !== plan.policy || stored.targets.some((target) => left.has(target))) continue;
    await end(stored, 'none of its entries is left', deps);
  }
}

async function pendingPlans({ ledger, clock }: EngineParts): Promise<readonly StoredPlan[]> {
  return (await ledger.storedPlans(['pending'], clock.now())).filter(({ plan }) => plan.manual === undefined);
}

async function end({ plan }: StoredPlan, reason: string, { ledger, clock }: EngineParts): Promise<void> {
  const { id, account } = plan;
  await ledger.decidePlan(id, { state: 'expired', at: clock.now(), by: 'engine', reason, account });
}

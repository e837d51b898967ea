/**
 * Plans that wait for a person, and what a person allowed. An approval is bound to the plan's hash, covers the acts
 * that were shown and no others, expires, and each act of it is done once. Until a waiting plan is decided, expires or
 * has nothing left of it, no other takes its place: people decide on what they have read.
 */
import type { Plan } from '../domain/plan.ts';
import type { Ledger, StoredPlan } from '../ledger/ledger.ts';
import type { Policy } from '../policies/policy.ts';
import type { Decision } from './plan-draft.ts';

/** What of a policy's acts a person has approved and is not done. Undefined when there is none. */
export function approvedTargets(policy: Policy, ledger: Ledger, now: number): ReadonlySet<string> | undefined {
  const approved = ledger.storedPlans(['approved'], now).filter(({ plan }) => plan.policy === policy.name);
  return approved.length === 0 ? undefined : new Set(approved.flatMap(({ targets }) => targets));
}

/** Approvals of which nothing is left to do are used up. */
export function useUp(policy: Policy, ledger: Ledger, now: number): void {
  for (const { plan } of ledger.storedPlans(['approved'], now)) {
    if (plan.policy === policy.name) ledger.decidePlan(plan.id, { state: 'used', at: now, by: 'engine' });
  }
}

/**
 * @returns the plan that waits now: this one, or an older one that still means something; undefined when a person has
 *   said no to this very plan, which then is not asked for again as long as it would have waited
 */
export function awaitApproval(
  { plan, targets }: Decision,
  options: { readonly ledger: Ledger; readonly now: number; readonly expireAfterMs: number },
): StoredPlan | undefined {
  const { ledger, now, expireAfterMs } = options;
  const refused = ledger.storedPlan(plan.hash, now);
  if (refused?.state === 'rejected' && now < refused.expiresAt) return undefined;
  const waiting = ledger.storedPlans(['waiting'], now).find((stored) => stored.plan.policy === plan.policy);
  if (waiting !== undefined && stillMeans(waiting, plan, new Set(targets))) return waiting;
  const stored: StoredPlan = { plan, targets, savedAt: now, expiresAt: now + expireAfterMs, state: 'waiting' };
  if (waiting !== undefined) {
    ledger.decidePlan(waiting.plan.id, {
      state: 'rejected',
      at: now,
      by: 'engine',
      reason: `${plan.id} took its place`,
    });
  }
  ledger.savePlan(stored);
  return stored;
}

function stillMeans({ plan, targets }: StoredPlan, now: Plan, standing: ReadonlySet<string>): boolean {
  if (plan.hash === now.hash) return true;
  // Amounts and pages are the whole of such plans: another amount is another plan.
  if (plan.action === 'budget.raise' || plan.action === 'message-dlq.prune') return false;
  return targets.some((target) => standing.has(target));
}

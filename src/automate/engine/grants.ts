/**
 * Pending plans and approvals. An approval is bound to the plan's hash, covers exactly the actions in the plan, and
 * expires. Each of its actions is done once. A pending plan is replaced only after it is decided, expires, or has
 * nothing left to do: operators decide on the plan that they have read.
 */
import type { Plan } from '#foundation/domain/plan.ts';
import type { PlanReader, Plans, StoredPlan } from '../ledger/plans.ts';
import type { Policy, PrunePolicy } from '../policies/policy.ts';
import type { Decision } from './plan-draft.ts';
import { isWithinShown, pruneBound, type PruneBound } from './prune-grant.ts';

/** Approved actions that are not done yet. */
interface Grant {
  readonly only: ReadonlySet<string>;
  /** For prunes only. */
  readonly prune?: PruneBound;
}

/** Returns the current grant; undefined if there is none. */
export function grantOf(policy: Policy, ledger: PlanReader, now: number): Grant | undefined {
  const [newest, ...older] = approvedPlans(policy, ledger, now).filter((plan) => stillShows(plan, policy, now));
  if (newest === undefined) return undefined;
  const prune = pruneBound(newest.plan);
  // Two approved prunes do not add up to a larger one.
  if (prune !== undefined) return { only: new Set(newest.targets), prune };
  return { only: new Set([newest, ...older].flatMap(({ targets }) => targets)) };
}

/** Marks approvals that have nothing left to do as used. */
export function useUp(policy: Policy, ledger: Plans, now: number): void {
  for (const { plan } of approvedPlans(policy, ledger, now)) {
    ledger.decidePlan(plan.id, { state: 'applied', at: now, by: 'engine' });
  }
}

/**
 * Returns true if the policy is still the one of the plan: another policy may have its name now. Ids bind other
 * actions; a prune must not request more than the plan showed.
 */
export function stillShows({ plan }: StoredPlan, policy: Policy, now: number): boolean {
  const isSame = plan.account === policy.account && plan.action === policy.action.type;
  if (!isSame || plan.policy !== policy.name) return false;
  return policy.action.type !== 'message-dlq.prune' || isWithinShown(plan, policy as PrunePolicy, now);
}

function approvedPlans(policy: Policy, ledger: PlanReader, now: number): readonly StoredPlan[] {
  return ledger.storedPlans(['approved'], now).filter(({ plan }) => plan.policy === policy.name);
}

/**
 * @returns the plan that is pending now: this one, or an older one that is still valid; undefined if an operator
 *   rejected this plan, which is then not presented again before its expiry
 */
export function awaitApproval(
  { plan, targets }: Decision,
  options: { readonly ledger: Plans; readonly now: number; readonly expireAfterMs: number },
): StoredPlan | undefined {
  const { ledger, now, expireAfterMs } = options;
  const refused = ledger.storedPlan(plan.hash, now);
  if (refused?.state === 'rejected' && now < refused.expiresAt) return undefined;
  const pending = ledger.storedPlans(['pending'], now).find((stored) => stored.plan.policy === plan.policy);
  if (pending !== undefined && stillMeans(pending, plan, new Set(targets))) return pending;
  const stored: StoredPlan = { plan, targets, savedAt: now, expiresAt: now + expireAfterMs, state: 'pending' };
  if (pending !== undefined) {
    ledger.decidePlan(pending.plan.id, {
      state: 'rejected',
      at: now,
      by: 'engine',
      reason: `replaced by plan ${plan.id}`,
    });
  }
  ledger.savePlan(stored);
  return stored;
}

function stillMeans({ plan, targets }: StoredPlan, now: Plan, allowed: ReadonlySet<string>): boolean {
  if (plan.hash === now.hash) return true;
  if (plan.action !== now.action || plan.account !== now.account) return false;
  // Amounts and pages define such plans completely: another amount is another plan.
  if (plan.action === 'budget.raise' || plan.action === 'message-dlq.prune') return false;
  return targets.some((target) => allowed.has(target));
}

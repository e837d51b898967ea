/**
 * Plans that wait for a person, and what a person allowed. An approval is bound to the plan's hash, covers the acts
 * that were shown and no others, expires, and each act of it is done once. Until a waiting plan is decided, expires or
 * has nothing left of it, no other takes its place: people decide on what they have read.
 */
import type { Plan } from '#foundation/domain/plan.ts';
import type { PlanReader, Plans, StoredPlan } from '../ledger/plans.ts';
import type { Policy, PrunePolicy } from '../policies/policy.ts';
import type { Decision } from './plan-draft.ts';
import { isWithinShown, pruneBound, type PruneBound } from './prune-grant.ts';

/** What a person has approved and is not done. */
interface Grant {
  readonly only: ReadonlySet<string>;
  /** Of prunes. */
  readonly prune?: PruneBound;
}

/** Undefined when there is none. */
export function grantOf(policy: Policy, ledger: PlanReader, now: number): Grant | undefined {
  const [newest, ...older] = approvedPlans(policy, ledger, now).filter((plan) => stillShows(plan, policy, now));
  if (newest === undefined) return undefined;
  const prune = pruneBound(newest.plan);
  // Two prunes that were approved are not one that is twice as large.
  if (prune !== undefined) return { only: new Set(newest.targets), prune };
  return { only: new Set([newest, ...older].flatMap(({ targets }) => targets)) };
}

/** Approvals of which nothing is left to do are used up. */
export function useUp(policy: Policy, ledger: Plans, now: number): void {
  for (const { plan } of approvedPlans(policy, ledger, now)) {
    ledger.decidePlan(plan.id, { state: 'used', at: now, by: 'engine' });
  }
}

/**
 * Whether the policy still is what the plan was made of: its name alone may have become another's. Acts with ids are bound
 * by these; a prune asks for no more than was shown.
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
 * @returns the plan that waits now: this one, or an older one that still means something; undefined when a person has
 *   said no to this very plan, which then is not asked for again as long as it would have waited
 */
export function awaitApproval(
  { plan, targets }: Decision,
  options: { readonly ledger: Plans; readonly now: number; readonly expireAfterMs: number },
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
  if (plan.action !== now.action || plan.account !== now.account) return false;
  // Amounts and pages are the whole of such plans: another amount is another plan.
  if (plan.action === 'budget.raise' || plan.action === 'message-dlq.prune') return false;
  return targets.some((target) => standing.has(target));
}

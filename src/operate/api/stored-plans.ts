/** Plans that were kept, as pages and the API show them. */
import type { ActionType, Denial, Plan, PlanState } from '#foundation/domain/plan.ts';
import type { StoredPlan } from '#automate/ledger/plans.ts';

export const STORED_STATES = ['draft', 'pending', 'approved', 'rejected', 'applied', 'expired'] as const;

/** One plan without its acts: `/api/v1/plans`. */
export interface StoredPlanView {
  readonly id: string;
  readonly hash: string;
  readonly policy: string;
  readonly account: string;
  readonly action: ActionType;
  /** `draft`: made manually. `pending`: asks for approval. */
  readonly state: StoredPlan['state'];
  /** What the plan itself says: `changes`, `held`, … */
  readonly planState: PlanState;
  readonly savedAt: number;
  readonly expiresAt: number;
  /** Entries that the guards allowed, and those that would be acted on at once. */
  readonly matched: number;
  readonly now: number;
  /** Acts that an approval covers. */
  readonly covers: number;
  /** Why it needs a person, where that is not its mode. */
  readonly needsApproval?: Denial;
  readonly stopped?: Denial;
  readonly by?: string;
  readonly reason?: string;
}

/** A plan with its acts: `/api/v1/plans/{id}`. */
export interface StoredPlanDetail extends StoredPlanView {
  readonly plan: Plan;
  /** The targets of the acts that an approval covers. */
  readonly targets: readonly string[];
}

export function storedPlanView(stored: StoredPlan): StoredPlanView {
  const { plan, targets, savedAt, expiresAt, state, by, reason } = stored;
  const { id, hash, policy, account, action, matched, chosen, needsApproval, stopped } = plan;
  return {
    id,
    hash,
    policy,
    account,
    action,
    state,
    planState: plan.state,
    savedAt,
    expiresAt,
    matched,
    now: chosen.length,
    covers: targets.length,
    ...(needsApproval !== undefined && { needsApproval }),
    ...(stopped !== undefined && { stopped }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
  };
}

export function storedPlanDetail(stored: StoredPlan): StoredPlanDetail {
  return { ...storedPlanView(stored), plan: stored.plan, targets: stored.targets };
}

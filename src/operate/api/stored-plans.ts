/** Stored plans, for pages and the API. */
import { allowedOf, type ActionType, type Denial, type Plan, type PlanState } from '#foundation/domain/plan.ts';
import { planProgress, type PlanProgress } from './plan-progress.ts';
import type { StoredPlan } from '#automate/ledger/plans.ts';

export const STORED_STATES = ['draft', 'pending', 'approved', 'rejected', 'applied', 'cancelled', 'expired'] as const;

/** One plan without its actions: `/api/v1/plans`. */
export interface StoredPlanView {
  readonly id: string;
  readonly hash: string;
  readonly policy: string;
  readonly account: string;
  readonly action: ActionType;
  /** `draft`: made by a command. `pending`: pending approval. */
  readonly state: StoredPlan['state'];
  /** State of the plan itself: `changes`, `held`, … */
  readonly planState: PlanState;
  readonly savedAt: number;
  readonly expiresAt: number;
  /** Number of entries that the guards allowed, and of those in the next run. */
  readonly matched: number;
  readonly now: number;
  /** Number of actions that an approval covers. */
  readonly covers: number;
  /** Reason for an approval that the mode does not require. */
  readonly needsApproval?: Denial;
  readonly stopped?: Denial;
  readonly by?: string;
  readonly reason?: string;
  /** `manual`: made from an operator's selection. */
  readonly origin: 'policy' | 'manual';
  /** Operator who made a manual plan, and the reason. A later decision does not change them. */
  readonly madeBy?: string;
  readonly madeFor?: string;
}

/** Plan with its actions: `/api/v1/plans/{id}`. */
export interface StoredPlanDetail extends StoredPlanView {
  readonly plan: Plan;
  /** Targets of the actions that an approval covers. */
  readonly targets: readonly string[];
  /** For manual plans only. */
  readonly progress?: PlanProgress;
}

export function storedPlanView(stored: StoredPlan): StoredPlanView {
  const { plan, targets, savedAt, expiresAt, state, by, reason } = stored;
  const { id, hash, policy, account, action, chosen, needsApproval, stopped, manual } = plan;
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
    matched: allowedOf(plan),
    now: chosen.length,
    covers: targets.length,
    ...(needsApproval !== undefined && { needsApproval }),
    ...(stopped !== undefined && { stopped }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
    origin: manual === undefined ? 'policy' : 'manual',
    ...(manual !== undefined && { madeBy: manual.by, madeFor: manual.reason }),
  };
}

export async function storedPlanDetail(
  stored: StoredPlan,
  deps: Parameters<typeof planProgress>[1],
): Promise<StoredPlanDetail> {
  const { plan, targets } = stored;
  const progress = plan.manual === undefined ? {} : { progress: await planProgress(stored, deps) };
  return { ...storedPlanView(stored), plan, targets, ...progress };
}

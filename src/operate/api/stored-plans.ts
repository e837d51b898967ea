/** Stored plans, for pages and the API. */
import { allowedOf, type ActionType, type Denial, type Plan, type PlanState } from '#foundation/domain/plan.ts';
import { planProgress, type PlanProgress } from './plan-progress.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { PlanReader, StoredPlan } from '#automate/ledger/plans.ts';

export const STORED_STATES = [
  'draft',
  'pending',
  'approved',
  'rejected',
  'applied',
  'cancelled',
  'replaced',
  'expired',
] as const;

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
  /** Number of actions that an approval covers, and how many of them an active approval still allows. */
  readonly covers: number;
  readonly left?: number;
  /** Reason for an approval that the mode does not require. */
  readonly needsApproval?: Denial;
  readonly stopped?: Denial;
  readonly by?: string;
  readonly reason?: string;
  readonly decidedAt?: number;
  /** Operator who approved it. A later decision keeps both. */
  readonly approvedBy?: string;
  readonly approvedAt?: number;
  /** Id of the newer plan, if it was replaced. */
  readonly replacedBy?: string;
  /** Reason why an approved plan is not continued now. */
  readonly held?: Denial;
  /** `manual`: made from an operator's selection. */
  readonly origin: 'policy' | 'manual';
  /** Operator who made it, and the reason of a manual plan. A later decision does not change them. */
  readonly madeBy?: string;
  readonly madeFor?: string;
}

/** Plan with its actions: `/api/v1/plans/{id}`. */
export interface StoredPlanDetail extends StoredPlanView {
  readonly plan: Plan;
  /** Targets of the actions that an approval covers. */
  readonly targets: readonly string[];
  /** Absent for a plan of a policy that was not applied or approved. */
  readonly progress?: PlanProgress;
}

/** @param conditions active conditions, for the hold of an approved plan */
export function storedPlanView(stored: StoredPlan, conditions: readonly Condition[] = []): StoredPlanView {
  const { plan, targets, savedAt, expiresAt, state, by, reason, madeBy } = stored;
  const { decidedAt, approvedBy, approvedAt, replacedBy, left } = stored;
  const hold = state === 'approved' ? conditions.find(({ key }) => key === `held/${plan.policy}`) : undefined;
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
    ...(left !== undefined && { left }),
    ...(needsApproval !== undefined && { needsApproval }),
    ...(stopped !== undefined && { stopped }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
    ...(decidedAt !== undefined && { decidedAt }),
    ...(approvedBy !== undefined && { approvedBy }),
    ...(approvedAt !== undefined && { approvedAt }),
    ...(replacedBy !== undefined && { replacedBy }),
    ...(hold !== undefined && { held: { guard: hold.guard ?? 'error', reason: hold.detail } }),
    origin: manual === undefined ? 'policy' : 'manual',
    ...(madeBy !== undefined && { madeBy }),
    ...(manual !== undefined && { madeBy: manual.by, madeFor: manual.reason }),
  };
}

/** @returns undefined if no plan has the id */
export async function readPlan(
  id: string,
  deps: Parameters<typeof planProgress>[1] & {
    readonly ledger: Pick<PlanReader, 'storedPlan'>;
    /** Epoch milliseconds. */
    readonly at: number;
  },
): Promise<StoredPlanDetail | undefined> {
  const stored = await deps.ledger.storedPlan(id, deps.at);
  if (stored === undefined) return undefined;
  const { plan, targets } = stored;
  const progress = await planProgress(stored, deps);
  return {
    ...storedPlanView(stored, deps.engine.conditions()),
    plan,
    targets,
    ...(progress !== undefined && { progress }),
  };
}

/** Stored plans, for pages and the API. */
import { allowedOf } from '#foundation/domain/plan.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { PlanReader, StoredPlan } from '#automate/ledger/plans.ts';
import type { StoredPlanDetail, StoredPlanView } from '../contract/plans.ts';
import { planProgress } from './plan-progress.ts';

/** @param conditions active conditions, for the hold of an approved plan */
export function storedPlanView(stored: StoredPlan, conditions: readonly Condition[] = []): StoredPlanView {
  const { plan, targets, revision: _revision, ...decision } = stored;
  const hold = decision.state === 'approved' ? conditions.find(({ key }) => key === `held/${plan.policy}`) : undefined;
  const { id, hash, policy, account, action, chosen, needsApproval, stopped, manual } = plan;
  return {
    id,
    hash,
    policy,
    account,
    action,
    planState: plan.state,
    matched: allowedOf(plan),
    now: chosen.length,
    covers: targets.length,
    needsApproval,
    stopped,
    held: hold && { guard: hold.guard ?? 'error', reason: hold.detail },
    origin: manual === undefined ? 'policy' : 'manual',
    ...decision,
    madeBy: manual?.by ?? decision.madeBy,
    madeFor: manual?.reason,
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
    progress,
  };
}

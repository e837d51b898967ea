/** Report of a run: the event, and its condition. */
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import type { Plan } from '#foundation/domain/plan.ts';
import type { Policy } from '../../policies/policy.ts';
import type { Conditions } from '../guard/conditions.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import type { RunResult } from './run-result.ts';

export function reportRun(
  policy: Policy,
  at: number,
  result: RunResult,
  plan: Plan | undefined,
  deps: Pick<EngineDeps, 'events'>,
): void {
  const denials = new Map<string, number>();
  for (const { guard, count } of plan?.skipped ?? []) denials.set(guard, (denials.get(guard) ?? 0) + count);
  deps.events.emit({
    type: 'policy.run',
    policy: policy.name,
    account: policy.account,
    at,
    trigger: plan?.trigger.kind ?? 'schedule',
    planId: plan?.id,
    outcome: result.outcome,
    matched: result.matched,
    acted: result.acted,
    backlog: result.backlog,
    denials: [...denials].map(([guard, count]) => ({ guard, count })),
    evaluationErrors: plan?.evaluationErrors ?? 0,
    drainMs: plan?.drain?.ms,
    stopped: result.stopped,
    error: result.error,
  });
}

/**
 * Updates the policy's condition: holds, aborts and errors stay active until a run ends without one. An interrupted run
 * changes nothing.
 */
export function noteConditions(policy: Policy, result: RunResult, conditions: Conditions): void {
  const key = holdKey(policy);
  const isHeld = ['held', 'aborted', 'incomplete', 'failed', 'halted'].includes(result.outcome);
  if (result.stopped?.guard === 'interrupted') return;
  if (!isHeld) return conditions.resolve(key);
  const guard = result.stopped?.guard ?? 'error';
  const isTrouble = result.outcome !== 'held';
  conditions.raise({
    key,
    severity:
      guard === 'outcome_mismatch' || guard === 'exceeded_request' ? 'critical' : isTrouble ? 'warning' : 'info',
    ...about(policy),
    guard,
    summary: `${titleOf(policy)} is held by ${guard}`,
    detail: result.stopped?.reason ?? result.detail ?? result.error ?? result.outcome,
    denial: result.stopped,
  });
}

/** Key of the condition for a held policy. */
export function holdKey({ name }: Pick<Policy, 'name'>): string {
  return `held/${name}`;
}

/** Subject of a sentence about a policy. That of a manual plan names its id and its operator. */
export function titleOf({ name, manual }: Pick<Policy, 'name' | 'manual'>): string {
  return manual === undefined ? `Policy ${name}` : `Manual plan ${manualPlanId(name)} by ${manual.by}`;
}

/** Fields of a condition that name its policy. */
export function about({ name, account, owner }: Policy) {
  return { policy: name, account, owner };
}

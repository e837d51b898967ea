/**
 * State of policies between their runs. A trigger is pending until a run has handled it or its alert has ended. Guards
 * that need no read are checked again at each settling: a hold ends with its reason, not with the next run.
 */
import type { Denial, Plan, Trigger } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { StoredPlan } from '../../ledger/plans.ts';
import type { PendingTrigger, Signals } from '../../ledger/signals.ts';
import type { Policy } from '../../policies/policy.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import { firstDenial, guardsAt } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { grantOf } from './grants.ts';
import { holdKey, noteConditions } from './report.ts';
import { isOnItsWay, type RunResult } from './run-result.ts';

/** Keys of `when` that wait for a trigger. */
const EVENTS = { alert: 'alert', callback: 'failureCallback', deploy: 'afterDeploy' } as const;

/** Pending triggers that policies, as configured now, wait for: by policy, oldest first. */
export async function heldTriggers(
  policies: readonly Policy[],
  { ledger, clock }: { readonly ledger: Pick<Signals, 'pendingTriggers'>; readonly clock: EngineDeps['clock'] },
): Promise<ReadonlyMap<string, readonly PendingTrigger[]>> {
  const waiting = policies.filter(
    ({ mode, when }) => mode !== 'off' && Object.values(EVENTS).some((event) => event in when),
  );
  const found = await ledger.pendingTriggers(waiting, clock.now());
  return new Map(
    waiting.map((policy) => [policy.name, (found.get(policy.name) ?? []).filter((one) => isMeant(policy, one))]),
  );
}

function isMeant({ when }: Policy, { trigger }: PendingTrigger): boolean {
  if (trigger.kind === 'alert') return 'alert' in when && trigger.name === when.alert;
  return EVENTS[trigger.kind] in when;
}

/** Returns true if the trigger may have its run: a deploy has to wait. */
export function isDue({ when }: Policy, { trigger }: PendingTrigger, now: number): boolean {
  return trigger.kind !== 'deploy' || !('afterDeploy' in when) || now >= trigger.at + when.afterDeploy;
}

export function pendingStatus(pending: readonly PendingTrigger[]): Pick<PolicyStatus, 'pending'> {
  const [first] = pending;
  if (first === undefined) return {};
  const { trigger, at: since } = first;
  const alert = trigger.kind === 'alert' && { alert: trigger.name };
  const version = trigger.kind === 'deploy' && { version: trigger.name };
  return { pending: { trigger: trigger.kind, ...alert, ...version, count: pending.length, since } };
}

/** Returns true if the run handled its trigger: no guard held the run or one of its groups. */
export function isDealtWith({ outcome, stopped }: RunResult, plan: Plan): boolean {
  if (outcome === 'acted' || outcome === 'nothing_to_do' || outcome === 'denied' || outcome === 'would_act')
    return plan.campaigns.every(({ held }) => held === undefined);
  // The plan is pending approval, or this was the audit run that probation requires.
  return stopped?.guard === 'approval' || stopped?.guard === 'probation';
}

/** Returns true if the guard needs no read, so it can be checked at any time. */
export function isAskedFirst(guard: string | undefined, { guards }: Pick<EngineDeps, 'guards'>): boolean {
  return guard === 'mode' || guardsAt(guards, 'run').some(({ name }) => name === guard);
}

/** Reason why a run would be held now, before it reads anything. */
async function denialBefore(
  policy: Policy,
  trigger: Trigger | undefined,
  deps: EngineParts,
): Promise<Denial | undefined> {
  const facts = await deps.authority.runFacts(policy, { first: true, trigger });
  const denial = firstDenial(guardsAt(deps.guards, 'run'), facts);
  if (denial !== undefined) return denial;
  const reduced = deps.authority.mode(policy);
  if (reduced.mode === policy.mode) return undefined;
  const guard = guardsAt(deps.guards, 'act').filter(({ name }) => name === 'mode');
  return firstDenial(guard, { ...reduced, isApproved: false, probationLeft: 0 });
}

/**
 * Starts the hold of a pending trigger, and ends a hold whose reason is gone.
 *
 * @param facts.pending oldest pending trigger of the policy
 * @param facts.approved approved plans of all policies
 * @returns the trigger that can have its run now
 */
export async function reviewHold(
  policy: Policy,
  { pending, approved }: { readonly pending: PendingTrigger | undefined; readonly approved: readonly StoredPlan[] },
  deps: EngineParts,
): Promise<PendingTrigger | undefined> {
  const { conditions } = deps;
  const holdNow = () => conditions.active().find(({ key }) => key === holdKey(policy));
  const hold = holdNow();
  if (pending === undefined && hold === undefined) return undefined;
  const isLast = pending === undefined && !(await mayRunAgain(policy, approved, deps));
  const denial = isLast ? undefined : await denialBefore(policy, pending?.trigger, deps);
  // A run has started or ended a hold since: the next review has the facts about it.
  if (holdNow() !== hold) return undefined;
  if (isLast) {
    // For a policy that runs only manually, trouble stays visible until its next run.
    if (hold?.severity === 'info' || !('byHand' in policy.when)) conditions.resolve(holdKey(policy));
    return undefined;
  }
  const isHoldAskedFirst = isAskedFirst(hold?.guard, deps);
  if (denial === undefined) {
    if (isHoldAskedFirst) conditions.resolve(holdKey(policy));
    return pending;
  }
  // A mode holds the actions of a run. Without a run, no actions are known.
  if (pending === undefined && isHoldAskedFirst && denial.guard === 'mode' && hold?.guard !== 'mode') {
    conditions.resolve(holdKey(policy));
  } else if ((pending !== undefined || isHoldAskedFirst) && denial.guard !== hold?.guard) {
    noteConditions(policy, heldBy(denial), conditions);
  }
  return undefined;
}

function heldBy(denial: Denial): RunResult {
  const outcome = isOnItsWay(denial.guard) ? 'deferred' : 'held';
  const detail = `${denial.guard}: ${denial.reason}`;
  return { outcome, acted: 0, detail, stopped: denial };
}

/** Returns true if a later run could end the hold: by the schedule, or for a campaign. */
async function mayRunAgain(
  policy: Policy,
  approved: readonly StoredPlan[],
  { authority, ledger, clock }: EngineParts,
): Promise<boolean> {
  const { when, name } = policy;
  if (authority.mode(policy).mode === 'off') return false;
  if ('every' in when || 'cron' in when) return true;
  const isUnderWay = (await ledger.campaigns()).some(({ policy: of, state }) => of === name && state !== 'ended');
  return isUnderWay && (!('byHand' in when) || grantOf(policy, approved, clock.now()) !== undefined);
}

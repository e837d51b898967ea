/**
 * Policies between their runs. A trigger is pending until a run dealt with it or its alert ended. The guards that need
 * no reading are asked again at each settling: a hold ends with its reason, not with the next run.
 */
import type { Denial, Plan, Trigger } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Campaigns } from '../ledger/campaigns.ts';
import type { PlanReader } from '../ledger/plans.ts';
import type { PendingTrigger, Signals } from '../ledger/signals.ts';
import type { Policy } from '../policies/policy.ts';
import type { Authority } from './authority.ts';
import type { Conditions } from './conditions.ts';
import type { EngineDeps } from './engine-deps.ts';
import { grantOf } from './grants.ts';
import { firstDenial, guardsAt } from './guards-at.ts';
import { holdKey, noteConditions } from './report.ts';
import { isOnItsWay, type RunResult } from './run-result.ts';

interface HoldDeps extends EngineDeps<Signals & Campaigns & PlanReader> {
  readonly authority: Authority;
  readonly conditions: Conditions;
}

/** Pending triggers that the policy, as it is configured now, waits for; the oldest first. */
export function pendingTriggers(
  { name, account, mode, when }: Policy,
  { ledger, clock }: Pick<EngineDeps<Signals>, 'ledger' | 'clock'>,
): readonly PendingTrigger[] {
  const alert = 'alert' in when ? when.alert : undefined;
  const takesCallbacks = 'failureCallback' in when;
  if (mode === 'off' || (alert === undefined && !takesCallbacks)) return [];
  return ledger
    .pendingTriggers(name, account, clock.now())
    .filter(({ trigger }) => (trigger.kind === 'alert' ? trigger.name === alert : takesCallbacks));
}

export function pendingStatus(pending: readonly PendingTrigger[]): Pick<PolicyStatus, 'pending'> {
  const [first] = pending;
  if (first === undefined) return {};
  const { trigger, at: since } = first;
  const alert = trigger.kind === 'alert' && { alert: trigger.name };
  return { pending: { trigger: trigger.kind, ...alert, count: pending.length, since } };
}

/** Whether the run dealt with its trigger: no guard held it, or a group of it. */
export function isDealtWith({ outcome, stopped }: RunResult, plan: Plan): boolean {
  if (outcome === 'acted' || outcome === 'nothing') return plan.campaigns.every(({ held }) => held === undefined);
  // The plan waits for a person, or was the audit run that probation asks for.
  return stopped?.guard === 'approval' || stopped?.guard === 'probation';
}

/** Whether the guard needs no reading: it can be asked at any time. */
export function isAskedFirst(guard: string | undefined, { guards }: Pick<EngineDeps, 'guards'>): boolean {
  return guard === 'mode' || guardsAt(guards, 'run').some(({ name }) => name === guard);
}

/** Why a run would be held at this moment, before it reads anything. */
function denialBefore(policy: Policy, trigger: Trigger | undefined, deps: HoldDeps): Denial | undefined {
  const facts = deps.authority.runFacts(policy, { first: true, ...(trigger && { trigger }) });
  const denial = firstDenial(guardsAt(deps.guards, 'run'), facts);
  if (denial !== undefined) return denial;
  const { mode, reducedBy } = deps.authority.mode(policy);
  const isReduced = mode !== policy.mode && (mode === 'off' || mode === 'audit');
  return isReduced ? { guard: 'mode', reason: reducedBy ?? `the mode is ${mode}` } : undefined;
}

/**
 * Begins the hold of a pending trigger, and ends a hold whose reason is over.
 *
 * @returns the trigger that may have its run now
 */
export function reviewHold(policy: Policy, deps: HoldDeps): PendingTrigger | undefined {
  const { conditions } = deps;
  const [pending] = pendingTriggers(policy, deps);
  const hold = conditions.standing().find(({ key }) => key === holdKey(policy));
  if (pending === undefined && hold === undefined) return undefined;
  if (pending === undefined && !mayRunAgain(policy, deps)) {
    // Whoever runs it by hand is told of trouble until the next run.
    if (hold?.severity === 'info' || !('byHand' in policy.when)) conditions.ended(holdKey(policy));
    return undefined;
  }
  const denial = denialBefore(policy, pending?.trigger, deps);
  const isHoldAskedFirst = isAskedFirst(hold?.guard, deps);
  if (denial === undefined) {
    if (isHoldAskedFirst) conditions.ended(holdKey(policy));
    return pending;
  }
  // A mode holds what a run wants to do, and nothing is known of that.
  if (pending === undefined && isHoldAskedFirst && denial.guard === 'mode' && hold?.guard !== 'mode') {
    conditions.ended(holdKey(policy));
  } else if ((pending !== undefined || isHoldAskedFirst) && denial.guard !== hold?.guard) {
    noteConditions(policy, heldBy(denial), conditions);
  }
  return undefined;
}

function heldBy(denial: Denial): RunResult {
  const outcome = isOnItsWay(denial.guard) ? 'waiting' : 'held';
  const detail = `${denial.guard}: ${denial.reason}`;
  return { outcome, matched: 0, acted: 0, backlog: 0, detail, stopped: denial };
}

/** Whether a run follows that would end the hold: by the schedule, or for a campaign. */
function mayRunAgain(policy: Policy, { authority, ledger, clock }: HoldDeps): boolean {
  const { when, name } = policy;
  if (authority.mode(policy).mode === 'off') return false;
  if ('every' in when || 'cron' in when) return true;
  const isUnderWay = ledger.campaigns().some(({ policy: of, state }) => of === name && state !== 'ended');
  return isUnderWay && (!('byHand' in when) || grantOf(policy, ledger, clock.now()) !== undefined);
}

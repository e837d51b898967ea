/** Reports of runs, and the conditions that last between them: halts, unknown outcomes, approvals and pauses. */
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import type { Plan } from '#foundation/domain/plan.ts';
import type { Pause } from '../../ledger/pauses.ts';
import type { StoredPlan } from '../../ledger/plans.ts';
import { haltKey, shownGroup } from '../../ledger/shown-group.ts';
import type { Policy } from '../../policies/policy.ts';
import type { Conditions } from '../guard/conditions.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import type { CampaignChange } from '../settle/campaigns.ts';
import type { RunResult } from './run-result.ts';

export function reportRun(
  policy: Policy,
  at: number,
  result: RunResult,
  plan: Plan | undefined,
  deps: EngineParts,
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
export function holdKey({ name }: Pick<Policy, 'name'>): `held/${string}` {
  return `held/${name}`;
}

/** Subject of a sentence about a policy. That of a manual plan names its id and its operator. */
function titleOf({ name, manual }: Pick<Policy, 'name' | 'manual'>): string {
  return manual === undefined ? `Policy ${name}` : `Manual plan ${manualPlanId(name)} by ${manual.by}`;
}

/** Fields of a condition that name its policy. */
export function about({ name, account, owner }: Policy) {
  return { policy: name, account, owner };
}

export function announceCampaign({ before, after }: CampaignChange, { byName, conditions, events }: EngineParts): void {
  const { policy: name, state, step, size, reason } = after;
  const group = shownGroup(after.group);
  events.emit({ type: 'campaign.changed', policy: name, account: after.account, group, state, step, size, reason });
  const key = haltKey(name, after.group);
  const policy = byName.get(name)!;
  if (state === 'halted' || state === 'audit') {
    const until = after.until === undefined ? 'an operator lifts it' : new Date(after.until).toISOString();
    conditions.raise({
      key,
      severity: state === 'audit' ? 'critical' : 'warning',
      ...about(policy),
      group,
      guard: 'ramp',
      summary: `${titleOf(policy)} ${state === 'audit' ? 'stopped resuming' : 'has halted'} ${group}`,
      detail: `${reason ?? 'reason unknown'}; no resumes until ${until}`,
    });
  } else if (before.halts > 0 && after.halts === 0) {
    conditions.resolve(key);
  }
}

/** @param unknown number of unknown outcomes by policy */
export function announceUnknown(unknown: ReadonlyMap<string, number>, { byName, conditions }: EngineParts): void {
  for (const [name, count] of unknown) {
    conditions.raise({
      key: `unknown/${name}`,
      severity: 'warning',
      ...(byName.has(name) ? about(byName.get(name)!) : { policy: name }),
      summary: `${titleOf(byName.get(name) ?? { name })} has actions with unknown outcome`,
      detail: `${count} unknown; later reads resolve them, and no request is repeated`,
    });
  }
  conditions.keepOnly('unknown/', new Set([...unknown.keys()].map((name) => `unknown/${name}`)));
}

/**
 * Announces active approvals, so that every later action is visible before it happens. Resolves the
 * conditions of plans that were decided, were used, or have expired.
 *
 * @param plans pending and approved plans, just read
 */
export function announceApprovals(plans: readonly StoredPlan[], { byName, conditions }: EngineParts): void {
  const active = new Set<string>();
  for (const { plan, state, expiresAt, approvedBy = 'an operator', approvedAt } of plans) {
    const policy = byName.get(plan.policy);
    const key = state === 'pending' ? `approval/${plan.policy}` : `approved/${plan.id}`;
    active.add(key);
    if (state === 'pending' || policy === undefined) continue;
    const until = new Date(expiresAt).toISOString();
    const takeBack = plan.manual === undefined ? `opsd reject ${plan.id}` : `opsd cancel ${plan.id} --reason TEXT`;
    conditions.raise({
      key: `approved/${plan.id}`,
      severity: 'info',
      ...about(policy),
      guard: 'approval',
      summary: `Plan ${plan.id} of ${plan.policy} is approved by ${approvedBy}`,
      detail: `runs do its actions when no guard holds them, until ${until}; \`${takeBack}\` takes it back`,
      since: approvedAt,
    });
  }
  conditions.keepOnly('approval/', active);
  conditions.keepOnly('approved/', active);
}

/**
 * Reports the pauses, which last until an operator lifts them. A paused group is reported as a halt. Of several engines,
 * one reports each pause.
 */
export function announcePauses(all: readonly Pause[], { byName, conditions, shared }: EngineParts): void {
  const isMine = (scope: string): boolean => {
    const [, name] = /^policy\/(.*)$/s.exec(scope) ?? [];
    if (shared === undefined || (name !== undefined && byName.has(name))) return true;
    if (name === undefined) return shared.isLeader;
    return shared.isLeader && !shared.allPolicies.has(name) && manualPlanId(name) === undefined;
  };
  const pauses = all.filter(({ scope }) => !scope.startsWith('group/') && isMine(scope));
  for (const { scope, reason, at, by } of pauses) {
    const policy = byName.get(scope.replace(/^policy\//, ''));
    conditions.raise({
      key: `paused/${scope}`,
      severity: by === 'engine' ? 'critical' : 'warning',
      ...(policy !== undefined && about(policy)),
      summary: policy?.manual === undefined ? `Paused: ${scope}` : `Paused: ${titleOf(policy)}`,
      detail: `${reason} (by ${by}); \`opsd unpause${policy === undefined ? '' : ` --policy ${policy.name}`} --reason TEXT\` lifts it`,
      since: at,
    });
  }
  conditions.keepOnly('paused/', new Set(pauses.map(({ scope }) => `paused/${scope}`)));
}

/**
 * Reports the pause by the kill switch, which each process has for itself: its file may exist on one machine only. A
 * store that fails keeps it out of the audit log, not out of the conditions.
 */
export async function announceKillSwitch({ authority, conditions }: EngineParts): Promise<void> {
  const { killSwitch } = authority;
  if (killSwitch === undefined) conditions.resolve('paused');
  else {
    conditions.raise({
      key: 'paused',
      severity: 'warning',
      guard: 'kill_switch',
      summary: 'The kill switch pauses all policies',
      detail: `${killSwitch.reason}; ${killSwitch.remedy}`,
    });
  }
  await authority.noteKillSwitch(killSwitch?.reason);
}

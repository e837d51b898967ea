/** Commands of operators to the engine: plan, apply, approve, reject, pause and unpause. */
import { unknownPolicy } from '#foundation/domain/suggest.ts';
import type { Plan } from '#foundation/domain/plan.ts';
import type { StoredPlan } from '../../ledger/plans.ts';
import type { Applied, Decided, Person, Planned, PlanRequest, Refusal } from '../../ledger/commands.ts';
import { lift } from '../../guardrails/campaign.ts';
import { overrule, overruledSettle } from '../../policies/overrule.ts';
import { isRepairing, type Policy } from '../../policies/policy.ts';
import { announceApprovals } from '../run/report.ts';
import { overruleSettle } from '../settle/campaigns.ts';
import { stillShows } from '../run/grants.ts';
import { makePlan, UNDONE, wouldAct } from './make-plan.ts';
import { boundsOf, type RunDeps, type PolicyRunOptions } from '../run/run-policy.ts';
import type { RunResult } from '../run/run-result.ts';
import { haltKey } from '../../ledger/shown-group.ts';

/** Milliseconds during which an applied manual plan continues. */
const MANUAL_APPROVED_FOR_MS = 7 * 86_400_000;
/** Milliseconds during which an approved raise can be sent. */
const RAISE_APPROVED_FOR_MS = 3_600_000;

export interface EngineCommandDeps extends RunDeps {
  /** Runs a policy in its turn: runs of one policy never overlap. */
  inTurn(policy: Policy, options: PolicyRunOptions): Promise<RunResult>;
  runSoon(policy: string): void;
  /** Resolves the outcomes of earlier actions, and judges the steps that are due. */
  settle(signal: AbortSignal): Promise<void>;
}

export async function planPolicy(
  name: string,
  request: PlanRequest,
  deps: EngineCommandDeps,
  signal: AbortSignal,
): Promise<Planned> {
  signal.throwIfAborted();
  const found = policyWith(name, request.overrule, deps);
  return 'name' in found ? makePlan(found, request, deps, signal) : found;
}

/**
 * Applies the actions of a plan that are still valid. Everything is listed and checked again, so the plan can only
 * shrink. The run stores the decision right before its first request: a plan that is held stays as it is.
 */
export async function applyPlan(
  id: string,
  person: Person,
  deps: EngineCommandDeps,
  signal: AbortSignal,
): Promise<Applied> {
  const stored = await usable(id, UNDONE, deps);
  if ('ok' in stored) return stored;
  const found = policyOf(stored, deps);
  if (!('name' in found)) return found;
  if (!stillShows(stored, found, deps.clock.now())) return outdated(stored);
  const { mode } = deps.authority.mode(found);
  if (mode === 'off' || mode === 'audit') return refused('mode', modeMessage(found, deps));
  // If an approval is required, this one covers the whole plan: later steps need no other.
  const lasts = mode === 'approve' || stored.plan.needsApproval !== undefined;
  const decision = { ...approvalOf(stored, person, deps), state: lasts ? ('approved' as const) : ('applied' as const) };
  let isTaken = false;
  const accept = async () => {
    isTaken = stored.state !== 'approved' && !(await deps.ledger.decidePlan(stored.plan.id, decision));
    if (isTaken) return false;
    deps.conditions.resolve(`approval/${found.name}`);
    await deps.manual.review();
    return true;
  };
  // A manual plan has no earlier steps, and its policy already has the overruled value.
  if (found.manual === undefined && isRepairing(found) && overruledSettle(found, stored.plan.overruled) !== undefined) {
    if (await wouldAct(found, stored, deps, signal)) {
      await overruleSettle(found, deps);
      await deps.settle(signal);
    }
  }
  const result = await deps.inTurn(found, {
    trigger: { kind: 'hand' },
    signal,
    applied: { plan: stored.plan.id, lasts, accept, ...boundsOf(stored) },
  });
  if (isTaken) return decidedMeanwhile(stored, deps);
  return { ok: true, plan: stored.plan, result, stored: await present(stored, deps) };
}

/** Approves a plan. The policy's own runs do its actions when no guard holds them, the first of them at once. */
export async function approvePlan(id: string, person: Person, deps: EngineCommandDeps): Promise<Decided> {
  const stored = await usable(id, ['draft', 'pending'], deps);
  if ('ok' in stored) return stored;
  const policy = policyOf(stored, deps);
  if (!('name' in policy)) return policy;
  if (!stillShows(stored, policy, deps.clock.now())) return outdated(stored);
  const { mode } = deps.authority.mode(policy);
  if (mode === 'off' || mode === 'audit') return refused('mode', modeMessage(policy, deps));
  if (mode !== 'approve' && stored.plan.needsApproval === undefined) {
    const message = `Plan ${stored.plan.id} needs no approval: policy ${policy.name} is in mode ${mode}. \`opsd apply ${stored.plan.id}\` applies it.`;
    return refused('mode', message);
  }
  if (!(await deps.ledger.decidePlan(stored.plan.id, approvalOf(stored, person, deps))))
    return decidedMeanwhile(stored, deps);
  deps.conditions.resolve(`approval/${stored.plan.policy}`);
  await deps.manual.review();
  announceApprovals(await deps.ledger.storedPlans(['pending', 'approved'], deps.clock.now()), deps);
  deps.runSoon(stored.plan.policy);
  return { ok: true, plan: await present(stored, deps) };
}

/** Returns a plan as it is stored now. */
async function present(
  stored: StoredPlan,
  { ledger, clock }: Pick<EngineCommandDeps, 'ledger' | 'clock'>,
): Promise<StoredPlan> {
  return (await ledger.storedPlan(stored.plan.id, clock.now())) ?? stored;
}

/**
 * Decision for an approval. An approved amount expires early: the longer it waits, the likelier another budget was set.
 */
function approvalOf({ plan, expiresAt }: StoredPlan, person: Person, { clock }: EngineCommandDeps) {
  const at = clock.now();
  const approval = { state: 'approved' as const, at, ...person };
  if (plan.action === 'budget.raise') {
    return { ...approval, expiresAt: Math.min(expiresAt, at + RAISE_APPROVED_FOR_MS) };
  }
  return plan.manual === undefined ? approval : { ...approval, expiresAt: at + MANUAL_APPROVED_FOR_MS };
}

/** Rejects a plan, or takes its approval back: after the request in flight, nothing more is sent for it. */
export async function rejectPlan(id: string, person: Person, deps: EngineCommandDeps): Promise<Decided> {
  const stored = await usable(id, UNDONE, deps);
  if ('ok' in stored) return stored;
  const { policy } = stored.plan;
  const decision = { state: 'rejected' as const, at: deps.clock.now(), ...person };
  if (!(await deps.ledger.decidePlan(stored.plan.id, decision))) return decidedMeanwhile(stored, deps);
  deps.conditions.resolve(`approval/${policy}`);
  if (stored.plan.manual !== undefined) deps.manual.stop(policy, `rejected by ${person.by}`);
  await deps.manual.review();
  announceApprovals(await deps.ledger.storedPlans(['pending', 'approved'], deps.clock.now()), deps);
  return { ok: true, plan: await present(stored, deps) };
}

/** Lifts halts together with pauses: the scope is `group/POLICY/GROUP` or a policy. */
export async function liftHalts(scope: string | undefined, deps: EngineCommandDeps): Promise<number> {
  return deps.verdicts.run(async () => {
    let lifted = 0;
    for (const campaign of await deps.ledger.campaigns()) {
      const isMeant = scope === `policy/${campaign.policy}` || scope === `group/${campaign.policy}/${campaign.group}`;
      if (!isMeant || lift(campaign) === campaign) continue;
      const after = await deps.ledger.changeCampaign(campaign, (present) => present && lift(present));
      if (after === undefined) continue;
      deps.conditions.resolve(haltKey(campaign.policy, campaign.group));
      lifted++;
    }
    return lifted;
  });
}

function policyWith(name: string, overruled: PlanRequest['overrule'], deps: EngineCommandDeps): Policy | Refusal {
  const policy = deps.policies.find((one) => one.name === name);
  const names = deps.policies.map((one) => one.name);
  if (policy === undefined) return refused('unknown_policy', unknownPolicy(name, names));
  if (overruled === undefined) return policy;
  const changed = overrule(policy, overruled.settings);
  return typeof changed === 'string' ? refused('bad_override', changed) : changed;
}

/** Policy of a stored plan: of the configuration, or of the manual plan itself. */
function policyOf({ plan }: StoredPlan, deps: EngineCommandDeps): Policy | Refusal {
  const { manual } = plan;
  if (manual === undefined) return policyWith(plan.policy, plan.overruled, deps);
  const policy = deps.manual.policyOf({ ...plan, manual });
  return typeof policy === 'string' ? refused('expired', `Plan ${plan.id}: ${policy}.`) : policy;
}

function modeMessage(policy: Policy, { authority }: EngineCommandDeps): string {
  const { mode, reducedBy = '' } = authority.mode(policy);
  return policy.manual === undefined
    ? `Policy ${policy.name} is in mode ${mode}: its plans cannot be applied. Change its mode first.`
    : `Manual plans of account ${policy.account} are in mode ${mode} and cannot be applied: ${reducedBy}.`;
}

/** Command that makes such a plan again. */
function again({ policy, manual }: Plan): string {
  return manual === undefined
    ? `\`opsd plan ${policy} --keep\``
    : `\`opsd dlq ${manual.selection.action.split('-')[0]}\``;
}

export async function usable(
  id: string,
  states: readonly StoredPlan['state'][],
  deps: EngineCommandDeps,
): Promise<StoredPlan | Refusal> {
  const stored = await deps.ledger.storedPlan(id, deps.clock.now());
  if (stored === undefined) {
    return refused('unknown_plan', `Plan ${id.slice(0, 80)} does not exist. \`opsd plan POLICY --keep\` makes one.`);
  }
  return states.includes(stored.state) ? stored : decided(stored);
}

/** Refusal of a plan that someone else has decided since it was read. */
export async function decidedMeanwhile(stored: StoredPlan, { ledger, clock }: EngineCommandDeps): Promise<Refusal> {
  return decided(await present(stored, { ledger, clock }));
}

function outdated({ plan: { id, policy } }: StoredPlan): Refusal {
  return refused(
    'expired',
    `The policy of plan ${id} has changed since. \`opsd plan ${policy} --keep\` makes a new one.`,
  );
}

export function decided({ plan, state, by, reason, replacedBy }: StoredPlan): Refusal {
  const why = reason === undefined ? '' : `: ${reason}`;
  if (state === 'expired') {
    return refused('expired', `Plan ${plan.id} has expired${why}. ${again(plan)} makes a new one.`);
  }
  const who = replacedBy ?? by;
  return refused('decided', `Plan ${plan.id} is ${state}${who === undefined ? '' : ` by ${who}`}${why}.`);
}

export function refused(code: Refusal['code'], message: string): Refusal {
  return { ok: false, code, message };
}

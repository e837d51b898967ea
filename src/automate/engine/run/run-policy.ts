/** One run of a policy: decide, check the guards, act, record. Failures are outcomes; the promise never rejects. */
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import { allowedOf, foundBy, leastMode, type Denial, type Plan, type Trigger } from '#foundation/domain/plan.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { isRepairing, type Policy } from '../../policies/policy.ts';
import type { StoredPlan } from '../../ledger/plans.ts';
import { execute } from '../act/execute.ts';
import { mayNotSend, type PolicyRun } from '../act/sending.ts';
import { absoluteAmount } from '../decide/budget.ts';
import { campaignsOf } from '../decide/campaigns.ts';
import { capsOf } from '../decide/caps.ts';
import { decide, unreadPlan } from '../decide/decide.ts';
import type { Decision, PlanContext } from '../decide/plan-draft.ts';
import { pruneBound, type PruneBound } from '../decide/prune-grant.ts';
import { policyScope } from '../guard/authority.ts';
import { firstDenial, guardsAt, hearClock, interruptedBy, isStopped, lostLease } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { endDrained } from '../settle/campaigns.ts';
import { awaitApproval, grantOf, NOTHING_LEFT, undecidedPlans, useUp, endEmptied } from './grants.ts';
import { isDealtWith, isDue, heldTriggers } from './holds.ts';
import type { ManualPlans } from './manual-plans.ts';
import { about, noteConditions, reportRun } from './report.ts';
import { concluded, heldBy, ledgerFields, skipped, unacted, type RunResult } from './run-result.ts';

export interface RunDeps extends EngineParts {
  readonly manual: ManualPlans;
}

export interface PolicyRunOptions {
  readonly trigger: Trigger;
  /** Plan that an operator applies: its targets, and its overruled limits. */
  readonly applied?: {
    readonly plan: string;
    /** True if the approval remains after this run. */
    readonly lasts: boolean;
    /** Stores the operator's decision. Returns false if someone else has decided since. Absent if it is stored. */
    accept?(): Promise<boolean>;
    readonly targets: readonly string[];
    readonly prune?: PruneBound;
    readonly overruled?: Plan['overruled'];
  };
  readonly signal: AbortSignal;
}

/** Returns true if a stop ends the run before it has done anything: the next engine decides. Operators get a result. */
function isCalledOff({ signal, applied }: PolicyRunOptions): boolean {
  return isStopped(signal) && applied === undefined;
}

export async function runPolicy(policy: Policy, options: PolicyRunOptions, deps: RunDeps): Promise<RunResult> {
  if (isCalledOff(options)) return skipped();
  await hearClock(policy.account, deps, options.signal);
  const at = deps.clock.now();
  let runId: number | undefined;
  let plan: Plan | undefined;
  const sent = { acted: 0 };
  const over = (): RunResult => {
    const result = skipped();
    reportRun(policy, at, result, plan, deps);
    return result;
  };
  try {
    const { mode } = deps.authority.mode(policy);
    const isOver =
      policy.manual !== undefined &&
      options.applied === undefined &&
      (await deps.manual.approved(policy.name)) === undefined;
    if (mode === 'off' || isOver) return over();
    const isEvent = 'key' in options.trigger;
    const held = isEvent ? ((await heldTriggers([policy], deps)).get(policy.name) ?? []) : [];
    const triggers = held.filter((one) => isDue(policy, one, at));
    const context = await contextOf(policy, { at, trigger: options.trigger, signal: options.signal }, deps);
    const decided = await decideRun(policy, context, options, deps);
    if (isCalledOff(options)) return skipped();
    ({ plan } = decided.decision);
    const id = plan.state === 'changes' ? (runId = await deps.ledger.beginRun(plan, at)) : undefined;
    const { result, pending } = await actOn(policy, { id, sent, known: context.known, ...decided }, options, deps);
    if (pending !== undefined) plan = { ...plan, id: pending };
    if (isDealtWith(result, plan)) await deps.ledger.endTriggers(policy, triggers);
    const finished = { at: deps.clock.now(), planId: pending, ...ledgerFields(result, plan) };
    if (id === undefined) await deps.ledger.recordRun(plan, at, finished);
    else await deps.ledger.finishRun(id, policy.account, finished);
    reportRun(policy, at, result, plan, deps);
    noteConditions(policy, result, deps.conditions);
    return result;
  } catch (error) {
    if ((await lostLease(policy.account, deps)) !== undefined) return over();
    const message = errorMessage(error);
    deps.events.emit({ type: 'store.failed', operation: `run of policy ${policy.name}`, message });
    const result = { outcome: 'failed' as const, ...sent, detail: message };
    try {
      if (runId !== undefined) await deps.ledger.finishRun(runId, policy.account, { at: deps.clock.now(), ...result });
    } catch {
      // The ledger itself failed, and the event above has reported it.
    }
    const failed = { ...result, error: message };
    reportRun(policy, at, failed, plan, deps);
    noteConditions(policy, failed, deps.conditions);
    return failed;
  }
}

interface Decided {
  readonly decision: Decision;
  readonly isApproved: boolean;
  /** Ids of the plans that approve it and are not used up yet. */
  readonly approval?: readonly [string, ...string[]];
}

async function decideRun(
  policy: Policy,
  context: PlanContext,
  options: PolicyRunOptions,
  deps: RunDeps,
): Promise<Decided> {
  const { at } = context;
  const applied = options.applied ?? (policy.manual && (await appliedOf(policy, deps)));
  if (context.stopped !== undefined) return { decision: unreadPlan(policy, context), isApproved: false };
  const granted = async () => grantOf(policy, await deps.ledger.storedPlans(['approved'], at), at);
  if (applied !== undefined) {
    const { plan, lasts, targets, prune, overruled } = applied;
    const bound = { ...context, only: new Set(targets), prune, overruled };
    const others = lasts ? ((await granted())?.plans ?? []) : [];
    const approval = lasts ? ([plan, ...others.filter((id) => id !== plan)] as const) : undefined;
    return { decision: named(await decide(policy, bound, deps), plan), isApproved: true, approval };
  }
  const decision = await decide(policy, context, deps);
  const needsPerson = context.effectiveMode === 'approve' || decision.plan.needsApproval !== undefined;
  const grant = needsPerson ? await granted() : undefined;
  if (grant === undefined || decision.plan.state === 'aborted') return { decision, isApproved: false };
  const { plans: approval, ...bound } = grant;
  const within = await decide(policy, { ...context, ...bound }, deps);
  if (allowedOf(within.plan) > 0 || within.plan.state === 'aborted') {
    return { decision: named(within, approval[0]), isApproved: true, approval };
  }
  await useUp(approval, deps.ledger, { account: policy.account, at, reason: NOTHING_LEFT });
  return { decision, isApproved: false };
}

/** Gives a decision the id of the stored plan that it belongs to. */
function named(decision: Decision, id: string): Decision {
  return { ...decision, plan: { ...decision.plan, id } };
}

/** Part of a manual plan that every run of its policy applies. */
async function appliedOf({ name }: Policy, { manual }: RunDeps): Promise<NonNullable<PolicyRunOptions['applied']>> {
  const stored = await manual.approved(name);
  const plan = manualPlanId(name) ?? name;
  if (stored === undefined) return { plan, lasts: false, targets: [], prune: { notAfter: 0, atMost: 0 } };
  return { plan, lasts: true, ...boundsOf(stored) };
}

/** Bounds of a stored plan on a run that applies it. */
export function boundsOf({ plan, targets }: StoredPlan) {
  return { targets, prune: pruneBound(plan), overruled: plan.overruled };
}

/** Context of a decision, before anything is read, with the denial by the guards that need no read. */
export async function contextOf(
  policy: Policy,
  of: Pick<PlanContext, 'at' | 'trigger' | 'signal'>,
  deps: EngineParts,
): Promise<PlanContext> {
  // Outside of the view, this tries again to write to an audit log that could not be written.
  if (deps.ledger.mustBeAdopted !== undefined) await deps.ledger.leaseLost(policy.account);
  const [stored, campaigns, caps, versions, pending] = await deps.ledger.view((ledger) => {
    const view = { ...deps, ledger };
    return Promise.all([
      deps.authority.stored(policy, ledger),
      campaignsOf(policy, view),
      capsOf(policy, view),
      ledger.policyVersions([policy.name]),
      undecidedPlans(view),
    ]);
  });
  const facts = await deps.authority.runFacts(policy, { first: true, trigger: of.trigger }, stored);
  const { mode } = deps.authority.mode(policy);
  const effectiveMode = facts.paused === undefined ? mode : leastMode(mode, 'off');
  const known = { campaigns, caps, version: versions.get(policy.name), pending };
  return { ...of, known, effectiveMode, stopped: firstDenial(guardsAt(deps.guards, 'run'), facts) };
}

async function actOn(
  policy: Policy,
  run: Decided & Pick<PlanContext, 'known'> & Pick<PolicyRun, 'sent'> & { readonly id: number | undefined },
  options: PolicyRunOptions,
  deps: RunDeps,
): Promise<{ readonly result: RunResult; readonly pending?: string }> {
  const { decision, known, id, sent, approval = [] } = run;
  const { plan } = decision;
  await remember(policy, decision, deps);
  const carryOut = async (id: number): Promise<RunResult> => {
    const probationLeft = run.isApproved ? 0 : await deps.authority.probationLeft(policy);
    const inProgress = { id, sent, plan, isApproved: run.isApproved, probationLeft, approvals: approval };
    const objection = await notAccepted(policy, inProgress, options, deps);
    const isApproved = objection === undefined && run.isApproved && (await isStillApproved(run, deps));
    const totals =
      objection === undefined
        ? await execute(policy, { ...inProgress, isApproved }, deps, options.signal)
        : { ...NOTHING_SENT, left: plan.chosen.length, stopped: objection };
    const unbalanced = firstDenial(guardsAt(deps.guards, 'outcome'), { planned: plan.chosen.length, ...totals });
    if (unbalanced !== undefined) await deps.authority.pause(policyScope(policy.name), unbalanced.reason);
    return concluded(policy, plan, totals, unbalanced);
  };
  let result = id === undefined ? unacted(plan) : await carryOut(id);
  let pending: string | undefined;
  if (result.outcome === 'pending_approval' && policy.manual === undefined) {
    const requested = await requestApproval(policy, decision, deps);
    if (requested !== undefined && 'guard' in requested) result = heldBy(result, requested);
    else pending = requested?.plan.id;
  } else if (policy.manual === undefined && !run.isApproved) await endEmptied(decision, known.pending, deps);
  if (policy.manual !== undefined) await deps.manual.finishAfter(policy, decision);
  else if (plan.state !== 'aborted')
    await deps.authority.noteRun(policy, result.stopped?.guard === 'probation', known.version);
  // The dead letters of the store are complete.
  if (isRepairing(policy) && (plan.read?.complete ?? plan.action === 'message-dlq.republish')) {
    const groups = new Set(plan.campaigns.map(({ group }) => group));
    await endDrained({ groups, campaigns: known.campaigns.byGroup.values() }, deps);
  }
  return { result, pending };
}

const NOTHING_SENT = { acted: 0, skipped: 0, failed: 0, unknown: 0, done: 0 };

/** Stores the decision of an operator who applies the plan. A plan that a guard holds is not decided. */
async function notAccepted(
  policy: Policy,
  run: PolicyRun,
  { applied, signal }: PolicyRunOptions,
  deps: RunDeps,
): Promise<Denial | undefined> {
  if (applied?.accept === undefined) return undefined;
  const held = await mayNotSend(policy, run, deps, signal);
  if (held !== undefined || (await applied.accept())) return held;
  return interruptedBy('the plan was decided by someone else');
}

/**
 * Uses up the approval of a prune before its first page, since pages have no ids to track progress.
 *
 * @returns false if the approval is no longer valid
 */
async function isStillApproved({ decision, approval }: Decided, { ledger, clock }: RunDeps): Promise<boolean> {
  if (decision.plan.action !== 'message-dlq.prune' || approval === undefined) return true;
  const reason = 'a prune is approved for one run, which has begun';
  return useUp(approval, ledger, { account: decision.plan.account, at: clock.now(), reason });
}

/** Stores the starting points for later runs: the first match of an entry, and the series of readings. */
async function remember(policy: Policy, { meant, readings, plan }: Decision, { ledger }: RunDeps): Promise<void> {
  if (meant !== undefined && policy.action.type === 'workflow-dlq.delete' && policy.manual === undefined) {
    await ledger.noteMatches(policy, meant, plan.at);
  }
  if (readings !== undefined) await ledger.saveCondition(policy, readings === 'none' ? undefined : readings);
}

/** @returns the pending plan; the objection of the operator who rejected it; undefined if an operator has decided since */
async function requestApproval(
  policy: Policy,
  decision: Decision,
  deps: RunDeps,
): Promise<StoredPlan | Denial | undefined> {
  const { ledger, clock, settings } = deps;
  const expireAfterMs = settings.approvals.expireAfter;
  const pending = await awaitApproval(decision, { ledger, now: clock.now(), expireAfterMs });
  if (pending === undefined || 'guard' in pending || pending.state !== 'pending') return pending;
  const { plan } = pending;
  const why = plan.needsApproval === undefined ? '' : `; ${plan.needsApproval.guard}: ${foundBy(plan.needsApproval)}`;
  const [raise] = plan.chosen;
  const sets = raise?.action === 'budget.raise' ? ` ${absoluteAmount(raise.toUsd)}` : '';
  deps.conditions.raise({
    key: `approval/${policy.name}`,
    severity: 'warning',
    ...about(policy),
    guard: 'approval',
    summary: `Plan ${plan.id} of policy ${policy.name} is pending approval`,
    detail: `${allowedOf(plan)} to act on${why}; \`opsd approve ${plan.id}\`, or \`opsd reject ${plan.id}\`.${sets}`,
  });
  return pending;
}

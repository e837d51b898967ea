/** One run of a policy: decide, check the guards, act, record. Failures are outcomes; the promise never rejects. */
import { allowedOf, foundBy, leastMode, type Plan, type Trigger } from '#foundation/domain/plan.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { isResume, type Policy } from '../policies/policy.ts';
import type { Plans } from '../ledger/plans.ts';
import type { Runs } from '../ledger/runs.ts';
import { policyScope } from './authority.ts';
import { endDrained } from './campaigns.ts';
import type { Conditions } from './conditions.ts';
import { hearClock } from './clock-denial.ts';
import { absoluteAmount } from './decide-budget.ts';
import { decide, unread } from './decide.ts';
import type { DecideDeps } from './decide-deps.ts';
import type { ExecuteDeps } from './execute-deps.ts';
import { execute, type RunTotals } from './execute.ts';
import { awaitApproval, grantOf, useUp } from './grants.ts';
import { firstDenial, guardsAt, isStopped } from './guards-at.ts';
import type { Decision, PlanContext } from './plan-draft.ts';
import type { ManualPlans } from './manual-plans.ts';
import { lostLease } from './lost-lease.ts';
import { pruneBound, type PruneBound } from './prune-grant.ts';
import { isDealtWith, pendingTriggers } from './holds.ts';
import { about, noteConditions, reportRun } from './report.ts';
import { concluded, ledgerFields, skipped, unacted, type RunResult } from './run-result.ts';

type RunLedger = ExecuteDeps['ledger'] & DecideDeps['ledger'] & Runs & Plans;

export interface RunDeps extends ExecuteDeps<RunLedger> {
  readonly manual: ManualPlans;
  readonly conditions: Conditions;
}

export interface RunOptions {
  readonly trigger: Trigger;
  /** Plan that an operator applies: its targets, and its overruled limits. */
  readonly applied?: {
    /** Id of the plan while it is approved; absent if it was used up before the run. */
    readonly plan?: string;
    readonly targets: readonly string[];
    readonly prune?: PruneBound;
    readonly overruled?: Plan['overruled'];
  };
  readonly signal: AbortSignal;
}

/** Returns true if a stop ends the run before it has done anything: the next engine decides. Operators get a result. */
function isCalledOff({ signal, applied }: RunOptions): boolean {
  return isStopped(signal) && applied === undefined;
}

export async function runPolicy(policy: Policy, options: RunOptions, deps: RunDeps): Promise<RunResult> {
  if (isCalledOff(options)) return skipped();
  await hearClock(policy.account, deps, options.signal);
  const at = deps.clock.now();
  let runId: number | undefined;
  let plan: Plan | undefined;
  try {
    const { mode } = deps.authority.mode(policy);
    const isOver = policy.manual !== undefined && (await deps.manual.approved(policy.name)) === undefined;
    if (mode === 'off' || isOver) {
      const result = skipped();
      reportRun(policy, at, result, undefined, deps);
      return result;
    }
    const isEvent = 'key' in options.trigger;
    const triggers = isEvent ? ((await pendingTriggers([policy], deps)).get(policy.name) ?? []) : [];
    const decided = await decideRun(policy, at, options, deps);
    if (isCalledOff(options)) return skipped();
    ({ plan } = decided.decision);
    const id = (runId = await deps.ledger.beginRun(plan, at));
    const result = await actOn(policy, { id, ...decided }, options, deps);
    if (isDealtWith(result, plan)) await deps.ledger.endTriggers(policy, triggers);
    await deps.ledger.finishRun(id, policy.account, { at: deps.clock.now(), ...ledgerFields(result, plan) });
    reportRun(policy, at, result, plan, deps);
    noteConditions(policy, result, deps.conditions);
    return result;
  } catch (error) {
    if ((await lostLease(policy.account, deps)) !== undefined) {
      const result = skipped();
      reportRun(policy, at, result, plan, deps);
      return result;
    }
    const message = errorMessage(error);
    deps.events.emit({ type: 'store.failed', operation: `run of policy ${policy.name}`, message });
    const result = { outcome: 'failed' as const, acted: 0, detail: message };
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
  readonly approval?: readonly [string, ...string[]] | undefined;
}

async function decideRun(policy: Policy, at: number, options: RunOptions, deps: RunDeps): Promise<Decided> {
  const { trigger, signal } = options;
  const applied = policy.manual === undefined ? options.applied : await appliedOf(policy, deps);
  const context = await contextOf(policy, { at, trigger, signal }, deps);
  const facts = await deps.authority.runFacts(policy, { first: true, trigger });
  const denial = firstDenial(guardsAt(deps.guards, 'run'), facts);
  if (denial !== undefined) return { decision: unread(policy, context, denial), isApproved: false };
  const granted = async () => grantOf(policy, await deps.ledger.storedPlans(['approved'], at), at);
  if (applied !== undefined) {
    const only = new Set(applied.targets);
    const { plan, prune, overruled } = applied;
    const bound = { ...context, only, ...(prune && { prune }), ...(overruled && { overruled }) };
    const others = plan === undefined ? [] : ((await granted())?.plans ?? []);
    const approval = plan === undefined ? undefined : ([plan, ...others.filter((id) => id !== plan)] as const);
    return { decision: await decide(policy, bound, deps), isApproved: true, approval };
  }
  const decision = await decide(policy, context, deps);
  const needsPerson = context.effectiveMode === 'approve' || decision.plan.needsApproval !== undefined;
  const grant = needsPerson ? await granted() : undefined;
  if (grant === undefined || decision.plan.state === 'aborted') return { decision, isApproved: false };
  const { plans: approval, ...bound } = grant;
  const within = await decide(policy, { ...context, ...bound }, deps);
  if (allowedOf(within.plan) > 0 || within.plan.state === 'aborted') {
    return { decision: within, isApproved: true, approval };
  }
  await useUp(approval, deps.ledger, { account: policy.account, now: at });
  return { decision, isApproved: false };
}

/** Part of a manual plan that every run of its policy applies. */
async function appliedOf({ name }: Policy, { manual }: RunDeps): Promise<RunOptions['applied']> {
  const stored = await manual.approved(name);
  if (stored === undefined) return { targets: [], prune: { notAfter: 0, atMost: 0 } };
  const prune = pruneBound(stored.plan);
  const { overruled } = stored.plan;
  return { plan: stored.plan.id, targets: stored.targets, ...(prune && { prune }), ...(overruled && { overruled }) };
}

/** Context of a decision, before anything is read. */
export async function contextOf(
  policy: Policy,
  of: Pick<PlanContext, 'at' | 'trigger' | 'signal'>,
  deps: Pick<RunDeps, 'authority'>,
): Promise<PlanContext> {
  const paused = await deps.authority.paused(policy);
  const { mode } = deps.authority.mode(policy);
  const effectiveMode = paused === undefined ? mode : leastMode(mode, 'off');
  return { ...of, effectiveMode };
}

async function actOn(
  policy: Policy,
  run: Decided & { readonly id: number },
  { signal }: RunOptions,
  deps: RunDeps,
): Promise<RunResult> {
  const { decision, id } = run;
  const { plan } = decision;
  await remember(policy, decision, deps);
  const probationLeft = run.isApproved ? 0 : await deps.authority.probationLeft(policy);
  const carryOut = async (): Promise<RunResult> => {
    const isApproved = run.isApproved && (await isStillApproved(run, deps));
    const totals = await execute(policy, { id, plan, isApproved, probationLeft }, deps, signal);
    const unbalanced = balance(plan, totals, deps);
    if (unbalanced !== undefined) await deps.authority.pause(policyScope(policy.name), unbalanced.reason);
    return concluded(policy, plan, totals, unbalanced);
  };
  const result = plan.state === 'changes' ? await carryOut() : unacted(plan);
  if (result.outcome === 'pending_approval' && policy.manual === undefined)
    await requestApproval(policy, decision, deps);
  if (policy.manual !== undefined) await deps.manual.finishAfter(policy, decision);
  else if (plan.state !== 'aborted') await deps.authority.noteRun(policy, result.stopped?.guard === 'probation');
  if (isResume(policy) && plan.read?.complete === true) await endDrained(policy, groupsOf(plan), deps);
  return result;
}

/**
 * Uses up the approval of a prune before its first page, since pages have no ids to track progress.
 *
 * @returns false if the approval is no longer valid
 */
async function isStillApproved({ decision, approval }: Decided, { ledger, clock }: RunDeps): Promise<boolean> {
  if (decision.plan.action !== 'message-dlq.prune' || approval === undefined) return true;
  return useUp(approval, ledger, { account: decision.plan.account, now: clock.now() });
}

function balance(plan: Plan, totals: RunTotals, deps: RunDeps) {
  const { acted, skipped, failed, unknown, left } = totals;
  return firstDenial(guardsAt(deps.guards, 'outcome'), {
    planned: plan.chosen.length,
    acted,
    skipped,
    failed,
    unknown,
    left,
  });
}

function groupsOf(plan: Plan): ReadonlySet<string> {
  return new Set(plan.campaigns.map(({ group }) => group));
}

/** Stores the starting points for later runs: the first match of an entry, and the series of readings. */
async function remember(policy: Policy, { meant, readings, plan }: Decision, { ledger }: RunDeps): Promise<void> {
  if (meant !== undefined && policy.action.type === 'workflow-dlq.delete' && policy.manual === undefined) {
    await ledger.noteMatches(policy, meant, plan.at);
  }
  if (readings !== undefined) await ledger.saveCondition(policy, readings === 'none' ? undefined : readings);
}

async function requestApproval(policy: Policy, decision: Decision, deps: RunDeps): Promise<void> {
  const { ledger, clock, settings } = deps;
  const expireAfterMs = settings.approvals.expireAfter;
  const pending = await awaitApproval(decision, { ledger, now: clock.now(), expireAfterMs });
  if (pending === undefined) return;
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
}

/**
 * Execution of a plan, one request after the other: guards again, preparation, intent, request, outcome. No request is
 * sent without a durable intent, and none is sent twice.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { Denial, Plan, Proposal } from '#foundation/domain/plan.ts';
import type { AuthorityFacts } from '../guardrails/guard.ts';
import type { Campaigns } from '../ledger/campaigns.ts';
import type { History } from '../ledger/history.ts';
import type { Intent, Intents, Premises } from '../ledger/intents.ts';
import type { Identity } from '../ledger/trust.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { overruledSettle } from '../policies/overrule.ts';
import { isResume, type Policy, type ResumePolicy } from '../policies/policy.ts';
import { policyScope, type Authority } from './authority.ts';
import { beginStep, endStep, groupKey } from './campaigns.ts';
import { capLimits } from './cap-limits.ts';
import type { DecideDeps } from './decide-deps.ts';
import { firstDenial, guardsAt, interrupted } from './guards-at.ts';
import { pauseIfMore } from './exceeded-request.ts';
import { reportOutcome } from './report-outcome.ts';
import { returnsIn } from './returns.ts';

type ExecuteLedger = Identity & Intents & History & Campaigns;

export interface ExecuteDeps<L = ExecuteLedger> extends DecideDeps<L> {
  readonly authority: Authority;
  /** Actions between their reservation and their outcome, by run and target. */
  readonly inFlight: Set<string>;
  /** Groups with a step in progress, by policy and group. */
  readonly inStep: Set<string>;
}

/** Run in progress. */
export interface Run {
  readonly id: number;
  readonly plan: Plan;
  /** Facts for the act guards, in addition to the current mode. */
  readonly isApproved: boolean;
  readonly probationLeft: number;
}

/** Results of a run: planned = acted + skipped + failed + unknown + left. */
export interface RunTotals {
  readonly acted: number;
  /** Not sent: something changed since the plan, or nothing was left to do. */
  readonly skipped: number;
  /** Provably without effect. */
  readonly failed: number;
  readonly unknown: number;
  /** Not reached. */
  readonly left: number;
  /** Number of entries that the service says it acted on. */
  readonly done: number;
  /** Reason why the run ended before its plan. */
  readonly stopped?: Denial;
}

type Step = 'acted' | 'skipped' | 'failed' | 'unknown';

/** Number of consecutive failed requests after which the rest waits for the next run. */
const MAX_BAD_IN_A_ROW = 3;

/** Rejections that the next request would get as well: the first one ends the run. */
const REFUSES_ALL: Readonly<Record<string, Denial>> = {
  rate_limited: { guard: 'quota', reason: 'the service responded with 429 to a write' },
  budget: { guard: 'quota', reason: 'the daemon’s own request budget is exhausted' },
  unauthorized: { guard: 'service', reason: 'the service does not accept the token' },
  forbidden: { guard: 'service', reason: 'the token has no write permission' },
};

/** Result of one action; without `took` it was not reached. */
interface StepResult {
  readonly took?: Step;
  readonly done?: number;
  readonly stopped?: Denial;
  /** True if nothing is left for the later actions. */
  readonly isLast?: boolean;
  /** Reason why the action could not be prepared and was skipped. */
  readonly unprepared?: string;
}

/**
 * Executes a plan.
 *
 * @param signal an abort lets the request in flight finish, records its outcome and leaves the rest
 */
export async function execute(policy: Policy, run: Run, deps: ExecuteDeps, signal: AbortSignal): Promise<RunTotals> {
  const counts: Record<Step, number> = { acted: 0, skipped: 0, failed: 0, unknown: 0 };
  const { chosen } = run.plan;
  const byGroup = Map.groupBy(chosen, ({ group }) => group);
  let done = 0;
  let reached = 0;
  let badInARow = 0;
  let stopped: Denial | undefined;
  let unprepared: string | undefined;
  const inDlq = deps.facts.dlqMessages(policy.account);
  for (const [group, members] of byGroup) {
    const step = new GroupStep(policy, group, run.plan, deps);
    try {
      for (const planned of members) {
        stopped = (await mayNotSend(policy, run, deps, signal)) ?? othersDelete(policy, { inDlq, done }, deps);
        if (stopped !== undefined) break;
        const proposal = await step.join(planned);
        // The campaign has changed since the plan: the next run decides again.
        if (proposal === undefined) break;
        const result = await one(policy, run, proposal, deps, signal);
        if (result.took !== undefined) {
          counts[result.took]++;
          reached++;
        }
        done += result.done ?? 0;
        unprepared ??= result.unprepared;
        badInARow = result.took === 'failed' || result.took === 'unknown' ? badInARow + 1 : 0;
        stopped = result.stopped ?? tooManyBad(badInARow) ?? unknownEnds(proposal, result.took);
        if (stopped !== undefined) break;
        if (result.isLast === true) {
          counts.skipped += chosen.length - reached;
          reached = chosen.length;
          break;
        }
      }
    } finally {
      await step.end();
    }
    if (stopped !== undefined || reached === chosen.length) break;
  }
  // No entry could be archived: a hold makes that visible.
  if (unprepared !== undefined && counts.skipped === chosen.length)
    stopped ??= { guard: 'archive', reason: unprepared };
  return { ...counts, left: chosen.length - reached, done, ...(stopped !== undefined && { stopped }) };
}

/** Step of a group's campaign, saved before its first intent and after its last. */
class GroupStep {
  readonly #policy: Policy;
  readonly #group: string;
  readonly #plan: Plan;
  readonly #deps: ExecuteDeps;
  #campaign: Campaign | undefined;

  constructor(policy: Policy, group: string, plan: Plan, deps: ExecuteDeps) {
    this.#policy = policy;
    this.#group = group;
    this.#plan = plan;
    this.#deps = deps;
  }

  /** Adds an action that may be sent to the step. @returns undefined if the step cannot begin */
  async join(proposal: Proposal): Promise<Proposal | undefined> {
    if (proposal.action !== 'workflow-dlq.resume' || !isResume(this.#policy)) return proposal;
    this.#campaign ??= await this.#begin(this.#policy);
    const { id, step } = this.#campaign ?? {};
    return id === undefined || step === undefined ? undefined : { ...proposal, campaign: { id, step } };
  }

  async end(): Promise<void> {
    try {
      if (this.#campaign !== undefined && isResume(this.#policy))
        await endStep(this.#policy, this.#campaign, this.#deps);
    } finally {
      this.#deps.inStep.delete(this.#key);
    }
  }

  async #begin(policy: ResumePolicy): Promise<Campaign | undefined> {
    // First: from here on, settling does not judge the campaign.
    this.#deps.inStep.add(this.#key);
    const { campaigns, overruled } = this.#plan;
    const planned = campaigns.find(({ group }) => group === this.#group);
    const settle = overruledSettle(policy, overruled);
    return beginStep(policy, { group: this.#group, planned, settle }, this.#deps);
  }

  get #key(): string {
    return groupKey({ policy: this.#policy.name, group: this.#group });
  }
}

async function mayNotSend(
  policy: Policy,
  run: Run,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<Denial | undefined> {
  const { needsApproval, trigger } = run.plan;
  const denial = firstDenial(
    guardsAt(deps.guards, 'run'),
    await deps.authority.runFacts(policy, { first: false, trigger }),
  );
  if (signal.aborted) return interrupted(signal);
  const facts: AuthorityFacts = {
    mode: deps.authority.mode(policy).mode,
    isApproved: run.isApproved,
    ...(needsApproval !== undefined && { needsApproval: `${needsApproval.guard}: ${needsApproval.reason}` }),
    probationLeft: run.probationLeft,
  };
  return denial ?? firstDenial(guardsAt(deps.guards, 'act'), facts);
}

function tooManyBad(inARow: number): Denial | undefined {
  if (inARow < MAX_BAD_IN_A_ROW) return undefined;
  return { guard: 'service', reason: `${inARow} consecutive requests failed` };
}

/** Retention and users delete messages, too. A larger unexplained decrease puts the effect of this run in doubt. */
const LEAST_UNEXPLAINED = 25;

/** Ends a prune whose DLQ shrinks much faster than its pages: a prune cannot list what is deleted. */
function othersDelete(
  policy: Policy,
  before: { readonly inDlq: number | undefined; readonly done: number },
  deps: ExecuteDeps,
): Denial | undefined {
  if (policy.action.type !== 'message-dlq.prune' || before.inDlq === undefined) return undefined;
  const now = deps.facts.dlqMessages(policy.account);
  if (now === undefined) return undefined;
  const unexplained = before.inDlq - now - before.done;
  if (unexplained <= Math.max(LEAST_UNEXPLAINED, before.inDlq / 10)) return undefined;
  const reason = `the DLQ fell from ${before.inDlq} to ${now} messages; this run deleted only ${before.done}`;
  return { guard: 'dlq_count', reason };
}

/** Ends the run after a prune with a lost response: its effect is unknown, so the next one waits. */
function unknownEnds(proposal: Proposal, took: Step | undefined): Denial | undefined {
  if (proposal.action !== 'message-dlq.prune' || took !== 'unknown') return undefined;
  return { guard: 'cool_down', reason: 'the response to a page was lost: the number of deleted messages is unknown' };
}

/** Performs one action, from its intent to its outcome. */
async function one(
  policy: Policy,
  run: Run,
  proposal: Proposal,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<StepResult> {
  if (policy.action.type === 'workflow-dlq.delete' && 'archive' in policy.action) {
    const unprepared = await deps.actions.prepare(proposal, { archive: policy.action.archive }, signal);
    if (signal.aborted) return { stopped: interrupted(signal) };
    if (unprepared !== undefined) return { took: 'skipped', unprepared };
    // Preparation took time: a pause that came in between must hold this delete, not only the next one.
    const objection = await mayNotSend(policy, run, deps, signal);
    if (objection !== undefined) return { stopped: objection };
  }
  const target = withUniqueTarget(run.id, withListed(proposal, deps));
  const key = inFlightKey(run.id, target);
  // First: an intent that settling finds without an outcome is in flight, or it was abandoned.
  deps.inFlight.add(key);
  try {
    const { intent, instead } = await reserve(policy, run, target, deps);
    if (intent === undefined) return instead;
    // The run may have been stopped while the intent was stored.
    const denial = signal.aborted ? interrupted(signal) : pausedBy(deps.authority.pausedHere(policy), deps);
    if (denial !== undefined) return await unsent(intent, denial, deps);
    return await send(intent, deps);
  } finally {
    deps.inFlight.delete(key);
  }
}

/** Name of an action in `inFlight`. A run acts on a target at most once. */
export function inFlightKey(runId: number, { target }: Pick<Proposal, 'target'>): string {
  return `${runId}\0${target}`;
}

async function reserve(
  policy: Policy,
  run: Run,
  proposal: Proposal,
  deps: ExecuteDeps,
): Promise<
  { readonly intent: Intent; readonly instead?: never } | { readonly intent?: never; readonly instead: StepResult }
> {
  const { ledger, clock, authority } = deps;
  try {
    const premises = await premisesOf(policy, run, proposal, deps);
    if (premises === undefined) return { instead: { took: 'skipped' } };
    const now = clock.now();
    const reservation = await ledger.reserve(run.id, proposal, now, capLimits(policy, now, deps), premises);
    if (reservation.ok) return { intent: reservation.intent };
    const { guard, reason } = reservation;
    if (guard === 'claim') return { instead: { took: 'skipped' } };
    const paused = guard === 'kill_switch' ? await authority.paused(policy) : undefined;
    return { instead: { stopped: { guard, reason: paused ?? reason } } };
  } catch (error) {
    return { instead: { stopped: ledgerFailed('reserve', error, deps) } };
  }
}

/** Returns what the reservation checks again; undefined if it has already changed since the plan. */
async function premisesOf(
  { name }: Policy,
  run: Run,
  proposal: Proposal,
  deps: ExecuteDeps,
): Promise<Premises | undefined> {
  const pauses = pausedBy('a pause', deps) === undefined ? [] : ['engine', policyScope(name)];
  // Another policy may have acted on the same run through another entry.
  if (proposal.action !== 'budget.raise') return { pauses, since: run.plan.at };
  // Another raise, or an edited assertion, may have come.
  const { known, doubt, changes } = await deps.facts.budget(proposal.account);
  if (known?.knownUsd !== proposal.fromUsd || doubt?.verdict === 'hold') return undefined;
  return { pauses, budgetChanges: changes };
}

/** Returns the objection of the guard of pauses to a pause. */
function pausedBy(paused: string | undefined, { guards, clock }: ExecuteDeps): Denial | undefined {
  if (paused === undefined) return undefined;
  const guard = guardsAt(guards, 'run').filter(({ name }) => name === 'kill_switch');
  return firstDenial(guard, { paused, unmet: [], minInterval: 0, now: clock.now() });
}

/** Records that a reserved action was not sent: its run was stopped in the meantime. */
async function unsent({ id, at, proposal }: Intent, stopped: Denial, deps: ExecuteDeps): Promise<StepResult> {
  const detail = `not sent: ${stopped.reason}`;
  try {
    await deps.ledger.recordOutcome(id, proposal.account, { at, outcome: 'confirmed_not_applied', detail });
  } catch (error) {
    return { stopped: ledgerFailed('record-outcome', error, deps) };
  }
  reportOutcome(proposal, { outcome: 'confirmed_not_applied', durationMs: 0, detail }, deps);
  return { stopped };
}

/** Adds the entries that the collector has listed since the plan: this action does not cause their return. */
function withListed(proposal: Proposal, { board, ledger }: ExecuteDeps): Proposal {
  if (proposal.action !== 'workflow-dlq.resume') return proposal;
  return returnsIn(board.latest(proposal.account, 'workflowDlq')?.rows, ledger.instance).notedIn(proposal);
}

/** Names of pages and amounts include the run: the same action may happen again on another day. */
function withUniqueTarget(runId: number, proposal: Proposal): Proposal {
  if (proposal.action === 'message-dlq.prune') return { ...proposal, target: `prune/${runId}/${proposal.page}` };
  if (proposal.action === 'budget.raise') return { ...proposal, target: `budget/${runId}/${proposal.toUsd}` };
  return proposal;
}

async function send(intent: Intent, deps: ExecuteDeps): Promise<StepResult> {
  const { ledger, clock } = deps;
  const { proposal } = intent;
  const request = deps.actions.describe(proposal, { instance: ledger.instance });
  const startedAt = clock.monotonic();
  const result = await deps.actions.act(request);
  const durationMs = clock.monotonic() - startedAt;
  // The intent's time was checked; the clock may have been set since.
  const at = intent.at + Math.round(durationMs);
  const surplus = await pauseIfMore(proposal, request, result, deps);
  const detail = result.outcome === 'accepted' ? surplus?.reason : result.detail;
  const newRunId = result.outcome === 'accepted' ? result.newRunId : undefined;
  const done = result.outcome === 'accepted' ? result.done : undefined;
  try {
    await ledger.recordOutcome(intent.id, proposal.account, {
      at,
      outcome: result.outcome,
      ...(detail !== undefined && { detail }),
      ...(newRunId !== undefined && { newRunId }),
      ...(done !== undefined && { done }),
    });
  } catch (error) {
    // The intent stays without an outcome: it becomes unknown, and later reads resolve it.
    return { took: 'unknown', stopped: ledgerFailed('record-outcome', error, deps) };
  }
  reportOutcome(proposal, { outcome: result.outcome, durationMs, detail, done }, deps);
  if (result.outcome === 'accepted') {
    const isLast = proposal.action === 'message-dlq.prune' && result.done < proposal.items;
    return { took: 'acted', done: result.done, isLast, ...(surplus !== undefined && { stopped: surplus }) };
  }
  const stopped = result.code === undefined ? undefined : REFUSES_ALL[result.code];
  if (result.outcome === 'rejected' && stopped === undefined) {
    deps.rejections.add(proposal.account, proposal.target, at);
  }
  return { took: result.outcome === 'rejected' ? 'failed' : 'unknown', ...(stopped !== undefined && { stopped }) };
}

function ledgerFailed(operation: string, error: unknown, deps: ExecuteDeps): Denial {
  deps.events.emit({ type: 'store.failed', operation, message: errorMessage(error) });
  return { guard: 'ledger', reason: errorMessage(error) };
}

/**
 * Acting on a plan, one request after the other: guards again, preparation, intent, request, outcome. No request
 * leaves without a durable intent, and none is sent twice.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { Denial, Plan, Proposal } from '#foundation/domain/plan.ts';
import type { AuthorityFacts } from '../guardrails/guard.ts';
import type { Campaigns } from '../ledger/campaigns.ts';
import type { History } from '../ledger/history.ts';
import type { Intent, Intents } from '../ledger/intents.ts';
import type { Identity } from '../ledger/trust.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { overruledSettle } from '../policies/overrule.ts';
import { isResume, type Policy } from '../policies/policy.ts';
import type { Authority } from './authority.ts';
import { beginStep, endStep } from './campaigns.ts';
import { capLimits } from './cap-limits.ts';
import type { DecideDeps } from './decide-deps.ts';
import { firstDenial, guardsAt, interrupted } from './guards-at.ts';
import { pauseIfMore } from './exceeded-request.ts';
import { reportOutcome } from './report-outcome.ts';
import { returnsIn } from './returns.ts';

type ExecuteLedger = Identity & Intents & History & Campaigns;

export interface ExecuteDeps<L = ExecuteLedger> extends DecideDeps<L> {
  readonly authority: Authority;
  /** Intents whose request is under way. */
  readonly inFlight: Set<number>;
  /** Campaigns of which a step is being sent. */
  readonly inStep: Set<string>;
}

/** A run under way. */
export interface Run {
  readonly id: number;
  readonly plan: Plan;
  /** What the act guards are told beside the mode of the moment. */
  readonly isApproved: boolean;
  readonly probationLeft: number;
}

/** planned = acted + skipped + failed + unknown + left */
export interface RunTotals {
  readonly acted: number;
  /** Not sent: something changed since the plan was made, or nothing was left to do. */
  readonly skipped: number;
  /** Provably without effect. */
  readonly failed: number;
  readonly unknown: number;
  /** Not reached. */
  readonly left: number;
  /** Entries that the service says it acted on. */
  readonly done: number;
  /** Why the run ended before its plan did. */
  readonly stopped?: Denial;
}

type Step = 'acted' | 'skipped' | 'failed' | 'unknown';

/** After as many requests in a row that were not answered well, the rest waits for the next run. */
const MAX_BAD_IN_A_ROW = 3;

/** Refusals that the next request would meet as well: the first one ends the run. */
const REFUSES_ALL: Readonly<Record<string, Denial>> = {
  rate_limited: { guard: 'quota', reason: 'the service answered 429 to a write' },
  budget: { guard: 'quota', reason: 'the daemon’s own request budget is used up' },
  unauthorized: { guard: 'service', reason: 'the service does not accept the token' },
  forbidden: { guard: 'service', reason: 'the token may not write' },
};

/** What one act came to; without `took` it was not reached. */
interface StepResult {
  readonly took?: Step;
  readonly done?: number;
  readonly stopped?: Denial;
  /** There is nothing left for the acts that follow. */
  readonly isLast?: boolean;
  /** Why it could not be made ready, and was skipped for it. */
  readonly unprepared?: string;
}

/** @param signal aborting it finishes the request under way, writes its outcome and leaves the rest */
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
    const step = new GroupStep(policy, { group, settle: overruledSettle(policy, run.plan.overruled) }, deps);
    try {
      for (const planned of members) {
        stopped = mayNotSend(policy, run, deps, signal) ?? othersDelete(policy, { inDlq, done }, deps);
        if (stopped !== undefined) break;
        const proposal = step.join(planned);
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
      step.end();
    }
    if (stopped !== undefined || reached === chosen.length) break;
  }
  // Nothing of it could be archived: a hold, that has to be seen.
  if (unprepared !== undefined && counts.skipped === chosen.length)
    stopped ??= { guard: 'archive', reason: unprepared };
  return { ...counts, left: chosen.length - reached, done, ...(stopped !== undefined && { stopped }) };
}

/** The step of a group's campaign: written down before its first intent, and after its last. */
class GroupStep {
  readonly #policy: Policy;
  readonly #of: Parameters<typeof beginStep>[1];
  readonly #deps: ExecuteDeps;
  #campaign: Campaign | undefined;

  constructor(policy: Policy, of: Parameters<typeof beginStep>[1], deps: ExecuteDeps) {
    this.#policy = policy;
    this.#of = of;
    this.#deps = deps;
  }

  /** An act that may be sent becomes one of the step. */
  join(proposal: Proposal): Proposal {
    if (proposal.action !== 'workflow-dlq.resume' || !isResume(this.#policy)) return proposal;
    this.#campaign ??= beginStep(this.#policy, this.#of, this.#deps);
    this.#deps.inStep.add(this.#campaign.id);
    return { ...proposal, campaign: { id: this.#campaign.id, step: this.#campaign.step } };
  }

  end(): void {
    if (this.#campaign === undefined || !isResume(this.#policy)) return;
    this.#deps.inStep.delete(this.#campaign.id);
    endStep(this.#policy, this.#campaign, this.#deps);
  }
}

function mayNotSend(policy: Policy, run: Run, deps: ExecuteDeps, signal: AbortSignal): Denial | undefined {
  if (signal.aborted) return interrupted(signal);
  const { needsApproval, trigger } = run.plan;
  const facts: AuthorityFacts = {
    mode: deps.authority.mode(policy).mode,
    isApproved: run.isApproved,
    ...(needsApproval !== undefined && { needsApproval: `${needsApproval.guard}: ${needsApproval.reason}` }),
    probationLeft: run.probationLeft,
  };
  return (
    firstDenial(guardsAt(deps.guards, 'run'), deps.authority.runFacts(policy, { first: false, trigger })) ??
    firstDenial(guardsAt(deps.guards, 'act'), facts)
  );
}

function tooManyBad(inARow: number): Denial | undefined {
  if (inARow < MAX_BAD_IN_A_ROW) return undefined;
  return { guard: 'service', reason: `${inARow} requests in a row were not answered well` };
}

/** Retention and people delete too; more of it than that, and it is not known what this run is doing. */
const LEAST_UNEXPLAINED = 25;

/** A DLQ that empties much faster than the pages say ends a prune, which cannot see what goes. */
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
  const reason = `the DLQ fell from ${before.inDlq} to ${now} messages, of which this run deleted ${before.done}`;
  return { guard: 'dlq_count', reason };
}

/** Nobody can tell what a lost prune deleted, so the next one waits. */
function unknownEnds(proposal: Proposal, took: Step | undefined): Denial | undefined {
  if (proposal.action !== 'message-dlq.prune' || took !== 'unknown') return undefined;
  return { guard: 'cool_down', reason: 'a page’s answer was lost: how many it deleted is not known' };
}

/** One act, from its intent to its outcome. */
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
    // It was read and written meanwhile: a pause that came since must hold this delete, not the next one.
    const objection = mayNotSend(policy, run, deps, signal);
    if (objection !== undefined) return { stopped: objection };
  }
  const { intent, instead } = reserve(policy, run, proposal, deps);
  if (intent === undefined) return instead;
  deps.inFlight.add(intent.id);
  try {
    return await send(intent, deps);
  } finally {
    deps.inFlight.delete(intent.id);
  }
}

function reserve(
  policy: Policy,
  run: Run,
  planned: Proposal,
  deps: ExecuteDeps,
): { readonly intent: Intent; readonly instead?: never } | { readonly intent?: never; readonly instead: StepResult } {
  const { ledger, clock } = deps;
  const proposal = withUniqueTarget(run.id, withListed(planned, deps));
  try {
    // Another policy may have resumed the same run through another entry since the plan was made.
    if (proposal.action === 'workflow-dlq.resume') {
      const { lastAttemptAt = -Infinity } = ledger.historyOf(proposal.account, proposal.lineage);
      if (lastAttemptAt >= run.plan.at) return { instead: { took: 'skipped' } };
    }
    // Another raise, or an edited assertion, may have come since.
    if (proposal.action === 'budget.raise') {
      const { known, doubt } = deps.facts.budget(proposal.account);
      if (known?.knownUsd !== proposal.fromUsd || doubt?.verdict === 'hold') return { instead: { took: 'skipped' } };
    }
    const now = clock.now();
    const reservation = ledger.reserve(run.id, proposal, now, capLimits(policy, now, deps));
    if (reservation.ok) return { intent: reservation.intent };
    if (reservation.guard === 'claim') return { instead: { took: 'skipped' } };
    return { instead: { stopped: { guard: reservation.guard, reason: reservation.reason } } };
  } catch (error) {
    return { instead: { stopped: ledgerFailed('reserve', error, deps) } };
  }
}

/** Entries that the collector listed since the plan was made are none that this act will bring back. */
function withListed(proposal: Proposal, { board, ledger }: ExecuteDeps): Proposal {
  if (proposal.action !== 'workflow-dlq.resume') return proposal;
  return returnsIn(board.latest(proposal.account, 'workflowDlq')?.rows, ledger.instance).notedIn(proposal);
}

/** Pages and amounts are named by their run: the same may be done again on another day. */
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
  const surplus = pauseIfMore(proposal, request, result, deps);
  const detail = result.outcome === 'accepted' ? surplus?.reason : result.detail;
  const newRunId = result.outcome === 'accepted' ? result.newRunId : undefined;
  const done = result.outcome === 'accepted' ? result.done : undefined;
  try {
    ledger.recordOutcome(intent.id, {
      at,
      outcome: result.outcome,
      ...(detail !== undefined && { detail }),
      ...(newRunId !== undefined && { newRunId }),
      ...(done !== undefined && { done }),
    });
  } catch (error) {
    // The intent stands without an outcome: it becomes unknown, and reading resolves it.
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

/**
 * Settling: finds the outcomes of actions by reading. An accepted entry is verified when it is gone and its run has not
 * failed again. An unknown outcome is resolved by a listing that began well after the request. Settling repeats only two
 * requests, both unchanged and safe to repeat: the absolute value of a budget within an hour, and the delete of one
 * message by its id within a day. Both require that their policy is allowed to act.
 *
 * The board's data can show that a run failed again. Only settling's own listing, complete and begun late enough, can
 * show that an entry is gone: rows of the board may be older than the action.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import type { ResumeEnd } from '#foundation/domain/ended-attempts.ts';
import { isOvertaken } from '#foundation/domain/known-budget.ts';
import type { ResumeProposal } from '#foundation/domain/plan.ts';
import { retryHorizon, settleOf } from '../guardrails/campaign.ts';
import type { Campaigns } from '../ledger/campaigns.ts';
import type { History } from '../ledger/history.ts';
import type { ActionOutcome, ActionRecord, Intent, Intents } from '../ledger/intents.ts';
import type { Signals } from '../ledger/signals.ts';
import type { Identity } from '../ledger/trust.ts';
import type { Raises } from '../ledger/usage.ts';
import type { Policy } from '../policies/policy.ts';
import type { Authority } from './authority.ts';
import { clockDenial, hearClock } from './clock-denial.ts';
import type { EngineDeps } from './engine-deps.ts';
import { pauseIfMore } from './exceeded-request.ts';
import { mayNotRepeat } from './repeat.ts';
import { reportOutcome } from './report-outcome.ts';
import { mayBeReturn, Returns, returnsIn } from './returns.ts';

type SettleLedger = Identity & Intents & History & Raises & Campaigns & Signals;

export interface SettleDeps extends EngineDeps<SettleLedger> {
  readonly authority: Authority;
  readonly inFlight: ReadonlySet<number>;
  /** Time of the last listing of each account by settling, on the monotonic clock. */
  readonly listedAt: Map<string, number>;
  readonly byName: ReadonlyMap<string, Policy>;
}

/** Milliseconds after which a lost request has arrived or never will. */
const SETTLE_MS = 300_000;
const LIST_EVERY_MS = 60_000;
/** Age after which no read will resolve an outcome any more. */
const UNRESOLVABLE_AFTER_MS = 86_400_000;
const LOOKALIKE = 'the entry is gone, and a run that looks the same has failed since; it may be another run';
/** Age after which a raise is not repeated: the longer it waits, the likelier someone has set another budget. */
const REPEAT_RAISE_MS = 3_600_000;

/**
 * Marks intents that will get no outcome any more as unknown.
 *
 * @returns their number
 */
export function abandonIntents(deps: SettleDeps): number {
  const abandoned = deps.ledger.intentsWithoutOutcome().filter((intent) => !deps.inFlight.has(intent.id));
  for (const intent of abandoned) {
    record(intent, 'unknown', deps, 'the daemon stopped or could not write before the outcome was known');
  }
  return abandoned.length;
}

export async function settleActions(deps: SettleDeps, signal: AbortSignal): Promise<void> {
  for (const account of deps.actions.accounts) {
    const open = deps.ledger.unsettled(account);
    if (open.length > 0) await hearClock(account, deps, signal);
    // After a clock change, an action in progress may seem to be old enough.
    if (clockDenial(account, deps) !== undefined) continue;
    const unlisted = open.filter((action) => !isListed(action));
    for (const action of unlisted) {
      if (signal.aborted) return;
      await settleUnlisted(action, deps);
    }
    const listed = open.filter((action) => isListed(action) && !failedAgainVisibly(action, deps));
    const now = deps.clock.now();
    const steps = new Map(deps.ledger.campaigns().map((campaign) => [`${campaign.id}/${campaign.step}`, campaign]));
    const due = listed.filter((action) => waitsSince(action, now) + settleMs(action, steps, deps) <= now);
    const lately = deps.clock.monotonic() - (deps.listedAt.get(account) ?? -Infinity);
    if (due.length === 0 || lately < (deps.listEveryMs ?? LIST_EVERY_MS)) continue;
    deps.listedAt.set(account, deps.clock.monotonic());
    const listing = await deps.actions.list(account, {}, signal);
    if (!listing.complete || listing.dropped > 0 || clockDenial(account, deps) !== undefined) continue;
    const ids = new Set(listing.entries.map(({ dlqId }) => dlqId));
    const returns = new Returns(listing.entries, deps.ledger.instance);
    for (const action of due) judge(action, { ids, returns }, deps);
  }
}

/** Returns true if a listing of the workflow DLQ can show the outcome. */
function isListed({ proposal }: Intent): boolean {
  return proposal.action === 'workflow-dlq.resume' || proposal.action === 'workflow-dlq.delete';
}

/**
 * Returns the start of the wait for an action's outcome. An outcome that a restart recorded before the clock was
 * checked can lie before the action or in the future; then the wait started with the action.
 */
function waitsSince({ at, outcomeAt = at }: ActionRecord, now: number): number {
  return outcomeAt > at && outcomeAt <= now ? outcomeAt : at;
}

function settleMs({ proposal, outcome }: ActionRecord, steps: ReadonlyMap<string, Campaign>, deps: SettleDeps): number {
  const lost = deps.settleMs ?? SETTLE_MS;
  // A short ramp does not shorten this: a lost request may still be in flight, and must not be sent again before that.
  if (proposal.action !== 'workflow-dlq.resume') return lost;
  const policy = deps.byName.get(proposal.policy);
  const step = steps.get(`${proposal.campaign?.id}/${proposal.campaign?.step}`) ?? {};
  const ramp = policy !== undefined && 'ramp' in policy ? settleOf(step, policy.ramp) : lost;
  return Math.max(ramp, retryHorizon(proposal.retries), outcome === 'unknown' ? lost : 0);
}

async function settleUnlisted(action: ActionRecord, deps: SettleDeps): Promise<void> {
  const { proposal } = action;
  // The response contains all that can be learned.
  if (action.outcome === 'accepted') return record(action, 'verified', deps);
  if (proposal.action === 'message-dlq.prune') {
    return record(action, 'unresolvable', deps, 'no read can show what a prune deleted');
  }
  const now = deps.clock.now();
  if (now - waitsSince(action, now) < (deps.settleMs ?? SETTLE_MS)) return;
  const since = supersededBy(action, deps);
  if (since !== undefined) return record(action, 'unresolvable', deps, since);
  const repeatMs = proposal.action === 'budget.raise' ? REPEAT_RAISE_MS : UNRESOLVABLE_AFTER_MS;
  if (now - action.at >= repeatMs) {
    const age = formatDuration(repeatMs);
    return record(action, 'unresolvable', deps, `the request is more than ${age} old and is not repeated`);
  }
  if (await mayNotRepeat(proposal, deps)) return;
  // The same absolute value, or the same id: a repeated request has the same effect as one.
  const request = deps.actions.describe(proposal, { instance: deps.ledger.instance });
  const result = await deps.actions.act(request);
  await pauseIfMore(proposal, request, result, deps);
  if (result.outcome === 'accepted') return record(action, 'confirmed_applied', deps, 'repeated unchanged');
  if (result.outcome === 'unknown' && deps.clock.now() - action.at < repeatMs) {
    return record(action, 'unknown', deps, result.detail);
  }
  record(action, 'unresolvable', deps, result.detail);
}

/** Reason why a raise must not be repeated: it would replace a newer amount by an older one. */
function supersededBy({ proposal, at }: ActionRecord, { ledger, facts }: SettleDeps): string | undefined {
  if (proposal.action !== 'budget.raise') return undefined;
  const { account, toUsd } = proposal;
  if (ledger.budgetChanges(account, at + 1).length > 0) {
    return 'a later change replaced it';
  }
  if (!isOvertaken(facts.budget(account).asserted, { at, toUsd })) return undefined;
  return 'the configuration has a later budget';
}

/** Records at once that an accepted run is seen to have failed again. */
function failedAgainVisibly(action: ActionRecord, deps: SettleDeps): boolean {
  if (action.outcome !== 'accepted') return false;
  const rows = deps.board.latest(action.proposal.account, 'workflowDlq')?.rows;
  const back = isBack(action, returnsIn(rows, deps.ledger.instance), deps);
  if (back) record(action, 'failed_again', deps);
  return back;
}

/** Returns true if a resumed run is known to have failed again: from the log, a later resume of it, or the listing. */
function isBack({ proposal, at, newRunId }: ActionRecord, returns: Returns, deps: SettleDeps): boolean {
  if (proposal.action !== 'workflow-dlq.resume') return false;
  const { account, lineage } = proposal;
  return (
    logTells(proposal, 'failed', deps) ||
    deps.ledger.resumesOf(account, lineage, at).some(({ dlqId, failedAt }) => mayBeReturn(proposal, dlqId, failedAt)) ||
    returns.has(proposal, newRunId)
  );
}

function logTells(proposal: ResumeProposal, end: ResumeEnd['end'], { facts, ledger }: SettleDeps): boolean {
  const { account, lineage, attempt, workflowUrl: url } = proposal;
  return facts.resumeEnded(account, { instance: ledger.instance, lineage, attempt, url }, end);
}

/**
 * Returns true if nothing can show the outcome of a resumed run: no response named it, the log has no delivery of it,
 * and a run that looks the same has failed since. A delivery alone does not prove success, since a run has several
 * messages. But a service that delivers messages with the stamp also lists the run with the stamp.
 */
function isUnresolvable({ proposal, newRunId }: ActionRecord, returns: Returns, deps: SettleDeps): boolean {
  if (proposal.action !== 'workflow-dlq.resume' || newRunId !== undefined) return false;
  if (logTells(proposal, 'delivered', deps)) return false;
  const { account } = proposal;
  return returns.lookalikes(proposal).some(({ workflowRunId }) => {
    // The id shows the run of another resume.
    return deps.ledger.lineageOfRun(account, workflowRunId) === undefined;
  });
}

/** @param listing complete, and begun at least one settle time after the request */
function judge(
  action: ActionRecord,
  { ids, returns }: { readonly ids: ReadonlySet<string>; readonly returns: Returns },
  deps: SettleDeps,
): void {
  const { proposal } = action;
  if (proposal.action !== 'workflow-dlq.resume' && proposal.action !== 'workflow-dlq.delete') return;
  const listed = ids.has(proposal.dlqId);
  const isUnknown = action.outcome === 'unknown';
  if (isBack(action, returns, deps)) {
    record(action, 'failed_again', deps);
  } else if (!listed && isUnresolvable(action, returns, deps)) {
    record(action, 'unresolvable', deps, LOOKALIKE);
  } else if (!listed) {
    record(action, isUnknown ? 'confirmed_applied' : 'verified', deps);
  } else if (isUnknown) {
    record(action, 'confirmed_not_applied', deps);
  } else if (deps.clock.now() - action.at > UNRESOLVABLE_AFTER_MS) {
    // An accepted entry that stays listed is neither verified nor sent again: its claim stays active.
    record(action, 'unverified', deps, 'the service accepted the request, but still lists the entry');
  }
}

/** Records an outcome. An unchanged outcome is not reported again. */
function record(
  intent: Intent & Pick<ActionRecord, 'outcome'>,
  outcome: ActionOutcome,
  deps: SettleDeps,
  detail?: string,
): void {
  const { proposal } = intent;
  deps.ledger.recordOutcome(intent.id, { at: deps.clock.now(), outcome, ...(detail !== undefined && { detail }) });
  const isDone = outcome === 'verified' || outcome === 'confirmed_applied';
  if (isDone && proposal.action === 'message-dlq.delete') {
    deps.ledger.forgetDeadLetter(proposal.account, proposal.dlqId);
  }
  if (intent.outcome === outcome) return;
  reportOutcome(proposal, { outcome, durationMs: 0, detail }, deps);
}

/**
 * Settling: finds the outcomes of actions by reading. An accepted entry is verified when it is gone and its run has not
 * failed again. An unknown outcome is resolved by a listing that began well after the request. Settling repeats only
 * three requests, all unchanged and safe to repeat: the absolute value of a budget within an hour, the delete of one
 * message by its id within a day, and a publish under its deduplication id within eight minutes (republished.ts). They
 * require that their policy is allowed to act.
 *
 * The board's data can show that a run failed again. Only settling's own listing, complete and begun late enough, can
 * show that an entry is gone: rows of the board may be older than the action.
 */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import { isOvertaken } from '#foundation/domain/known-budget.ts';
import { retryHorizon, settleOf } from '../../guardrails/campaign.ts';
import type { LineageHistory, Resume } from '../../ledger/history.ts';
import type { ActionRecord, Intent } from '../../ledger/intents.ts';
import { inFlightKey } from '../act/perform-one.ts';
import { pauseIfMore } from '../act/sending.ts';
import { mayBeReturn, Returns, returnsIn } from '../decide/returns.ts';
import { clockDenial, clockMargin, hearClock } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { logTells, mayNotRepeat, record, UNRESOLVABLE_AFTER_MS } from './records.ts';
import { isRepublished, settleRepublished } from './republished.ts';

/** Milliseconds after which a lost request has arrived or never will. */
const SETTLE_MS = 300_000;
const LIST_EVERY_MS = 60_000;
const LOOKALIKE = 'the entry is gone, and a run that looks the same has failed since; it may be another run';
/** Age after which a raise is not repeated: the longer it waits, the likelier someone has set another budget. */
const REPEAT_RAISE_MS = 3_600_000;

/**
 * Marks intents that will get no outcome any more as unknown.
 *
 * @param all open actions
 * @returns the number of intents
 */
export async function abandonIntents(all: readonly ActionRecord[], deps: EngineParts): Promise<number> {
  let abandoned = 0;
  for (const intent of all) {
    if (intent.outcome !== undefined || deps.inFlight.has(inFlightKey(intent.runId, intent.proposal))) continue;
    const why = 'the daemon stopped or could not write before the outcome was known';
    if (await record(intent, 'unknown', deps, why)) abandoned++;
  }
  return abandoned;
}

/**
 * An abort ends it before the next account or action. Nothing depends on the order of their outcomes.
 *
 * @param all open actions, each recorded only if its outcome has not changed since
 */
export async function settleActions(
  all: readonly ActionRecord[],
  deps: EngineParts,
  signal: AbortSignal,
): Promise<void> {
  for (const account of deps.actions.accounts) {
    const open = all.filter(({ proposal, outcome }) => proposal.account === account && outcome !== undefined);
    if (open.length === 0) continue;
    if (signal.aborted) return;
    await settleAccount(account, open, deps, signal);
  }
}

async function settleAccount(
  account: string,
  open: readonly ActionRecord[],
  deps: EngineParts,
  signal: AbortSignal,
): Promise<void> {
  await hearClock(account, deps, signal);
  // After a clock change, an action in progress may seem to be old enough.
  if (clockDenial(account, deps) !== undefined) return;
  for (const action of open) {
    if (isListed(action) || isRepublished(action)) continue;
    if (signal.aborted) return;
    await settleUnlisted(action, deps);
  }
  await settleRepublished(open.filter(isRepublished), deps, signal);
  const listed = await withoutVisibleReturns(account, open.filter(isListed), deps);
  const now = deps.clock.now();
  const campaigns = await deps.ledger.campaigns();
  const steps = new Map(campaigns.map((campaign) => [`${campaign.id}/${campaign.step}`, campaign]));
  const due = listed.filter((action) => waitsSince(action, now) + settleMs(action, steps, deps) <= now);
  const lately = deps.clock.monotonic() - (deps.listedAt.get(account) ?? -Infinity);
  if (due.length === 0 || lately < (deps.listEveryMs ?? LIST_EVERY_MS)) return;
  deps.listedAt.set(account, deps.clock.monotonic());
  const listing = await deps.actions.list(account, {}, signal);
  if (!listing.complete || listing.dropped > 0 || clockDenial(account, deps) !== undefined) return;
  const ids = new Set(listing.entries.map(({ dlqId }) => dlqId));
  const returns = new Returns(listing.entries, deps.ledger.instance);
  // After the listing: an entry that is gone because it was resumed in the meantime is a return, not a success.
  const known = await knownOf(account, due, returns, deps);
  for (const action of due) {
    if (signal.aborted) return;
    await judge(action, { ids, known }, deps);
  }
}

/** Facts that show what became of resumed runs. */
interface Known {
  /** Index of the listing. */
  readonly returns: Returns;
  /** Resumes by lineage. */
  readonly resumes: ReadonlyMap<string, readonly Resume[]>;
  /** Runs that this daemon resumed, among those that look like another one. */
  readonly resumed: ReadonlyMap<string, LineageHistory>;
}

/** Reads the facts about the outcomes of actions. */
async function knownOf(
  account: string,
  actions: readonly ActionRecord[],
  returns: Returns,
  { ledger }: EngineParts,
): Promise<Known> {
  const resumed = actions.flatMap(({ proposal }) => (proposal.action === 'workflow-dlq.resume' ? [proposal] : []));
  const alike = resumed.flatMap((proposal) => returns.lookalikes(proposal)).map(({ workflowRunId }) => workflowRunId);
  return {
    returns,
    resumes: await ledger.resumes(
      account,
      resumed.map(({ lineage }) => lineage),
    ),
    resumed: await ledger.lineagesOfRuns(account, alike),
  };
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

function settleMs(action: ActionRecord, steps: ReadonlyMap<string, Campaign>, deps: EngineParts): number {
  const { proposal, outcome } = action;
  const lost = deps.settleMs ?? SETTLE_MS;
  // A short ramp does not shorten this: a lost request may still be in flight, and must not be sent again before that.
  if (proposal.action !== 'workflow-dlq.resume') return lost;
  const policy = deps.byName.get(proposal.policy);
  const step = steps.get(`${proposal.campaign?.id}/${proposal.campaign?.step}`) ?? {};
  const margin = clockMargin(waitsSince(action, deps.clock.now()), deps);
  const ramp = policy !== undefined && 'ramp' in policy ? settleOf(step, policy.ramp) : lost;
  return Math.max(ramp, retryHorizon(proposal.retries), outcome === 'unknown' ? lost + margin : 0);
}

async function settleUnlisted(action: ActionRecord, deps: EngineParts): Promise<unknown> {
  const { proposal } = action;
  // The response contains all that can be learned.
  if (action.outcome === 'accepted') return record(action, 'verified', deps);
  if (proposal.action === 'message-dlq.prune') {
    return record(action, 'unresolvable', deps, 'no read can show what a prune deleted');
  }
  const now = deps.clock.now();
  if (now - waitsSince(action, now) < (deps.settleMs ?? SETTLE_MS)) return undefined;
  const isDenied = await mayNotRepeat(proposal, deps);
  // The last reading before the request: this amount must not replace a later one.
  const since = await supersededBy(action, deps);
  if (since !== undefined) return record(action, 'unresolvable', deps, since);
  const repeatMs = proposal.action === 'budget.raise' ? REPEAT_RAISE_MS : UNRESOLVABLE_AFTER_MS;
  if (now - action.at >= repeatMs) {
    const age = formatDuration(repeatMs);
    return record(action, 'unresolvable', deps, `the request is more than ${age} old and is not repeated`);
  }
  if (isDenied) return undefined;
  // The same absolute value, or the same id: a repeated request has the same effect as one.
  const request = deps.actions.describe(proposal, { instance: deps.ledger.instance });
  const result = await deps.actions.act(request);
  await pauseIfMore(proposal, request, result, deps);
  if (result.outcome === 'accepted') return record(action, 'confirmed_applied', deps, 'repeated unchanged');
  if (result.outcome === 'unknown' && deps.clock.now() - action.at < repeatMs) {
    return record(action, 'unknown', deps, result.detail);
  }
  return record(action, 'unresolvable', deps, result.detail);
}

/** Returns why a raise must not be repeated: it would replace a newer amount by an older one. */
async function supersededBy({ proposal, at }: ActionRecord, { facts }: EngineParts): Promise<string | undefined> {
  if (proposal.action !== 'budget.raise') return undefined;
  const { account, toUsd } = proposal;
  const { asserted, changes } = await facts.budget(account);
  if (changes.some((change) => change.at > at)) return 'a later change replaced it';
  return isOvertaken(asserted, { at, toUsd }) ? 'the configuration has a later budget' : undefined;
}

/** Records at once which accepted runs are seen to have failed again. @returns the other actions */
async function withoutVisibleReturns(
  account: string,
  actions: readonly ActionRecord[],
  deps: EngineParts,
): Promise<readonly ActionRecord[]> {
  const rows = deps.board.latest(account, 'workflowDlq')?.rows;
  const accepted = actions.filter(({ outcome }) => outcome === 'accepted');
  const known = await knownOf(account, accepted, returnsIn(rows, deps.ledger.instance), deps);
  const back = new Set(accepted.filter((action) => isBack(action, known, deps)));
  for (const action of back) await record(action, 'failed_again', deps);
  return actions.filter((action) => !back.has(action));
}

/** Returns true if a resumed run is known to have failed again: from the log, a later resume of it, or the listing. */
function isBack({ proposal, at, newRunId }: ActionRecord, { returns, resumes }: Known, deps: EngineParts): boolean {
  if (proposal.action !== 'workflow-dlq.resume') return false;
  const later = (resumes.get(proposal.lineage) ?? []).filter((resume) => resume.at > at);
  return (
    logTells(proposal, 'failed', deps) ||
    later.some(({ dlqId, failedAt }) => mayBeReturn(proposal, dlqId, failedAt)) ||
    returns.has(proposal, newRunId)
  );
}

/**
 * Returns true if nothing can show the outcome of a resumed run: no response named it, the log has no delivery of it,
 * and a run that looks the same has failed since. A delivery alone does not prove success, since a run has several
 * messages. But a service that delivers messages with the stamp also lists the run with the stamp.
 */
function isUnresolvable({ proposal, newRunId }: ActionRecord, { returns, resumed }: Known, deps: EngineParts): boolean {
  if (proposal.action !== 'workflow-dlq.resume' || newRunId !== undefined) return false;
  if (logTells(proposal, 'delivered', deps)) return false;
  // An id in the ledger shows the run of another resume.
  return returns.lookalikes(proposal).some(({ workflowRunId }) => !resumed.has(workflowRunId));
}

/** @param listing complete, and begun at least one settle time after the request */
async function judge(
  action: ActionRecord,
  { ids, known }: { readonly ids: ReadonlySet<string>; readonly known: Known },
  deps: EngineParts,
): Promise<void> {
  const { proposal } = action;
  if (proposal.action !== 'workflow-dlq.resume' && proposal.action !== 'workflow-dlq.delete') return;
  const listed = ids.has(proposal.dlqId);
  const isUnknown = action.outcome === 'unknown';
  if (isBack(action, known, deps)) {
    await record(action, 'failed_again', deps);
  } else if (!listed && isUnresolvable(action, known, deps)) {
    await record(action, 'unresolvable', deps, LOOKALIKE);
  } else if (!listed) {
    await record(action, isUnknown ? 'confirmed_applied' : 'verified', deps);
  } else if (isUnknown) {
    await record(action, 'confirmed_not_applied', deps);
  } else if (deps.clock.now() - action.at > UNRESOLVABLE_AFTER_MS) {
    // An accepted entry that stays listed is neither verified nor sent again: its claim stays active.
    await record(action, 'unverified', deps, 'the service accepted the request, but still lists the entry');
  }
}

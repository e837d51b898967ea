/** One action of a plan, from its preparation to its outcome. */
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import { denialBy, type Denial, type Proposal } from '#foundation/domain/plan.ts';
import type { ActivePause } from '../../guardrails/guard.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Intent, Premises, Refused } from '../../ledger/intents.ts';
import type { Policy } from '../../policies/policy.ts';
import { capLimits } from '../decide/caps.ts';
import { returnsIn } from '../decide/returns.ts';
import { policyScope } from '../guard/authority.ts';
import { firstDenial, guardsAt, interrupted, interruptedBy, lostLease } from '../guard/checks.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { mayNotSend, pauseIfMore, reportOutcome, type PolicyRun } from './sending.ts';

/** Result of one action; without `took` it was not reached. */
export interface StepResult {
  readonly took?: 'acted' | 'skipped' | 'failed' | 'unknown';
  readonly done?: number;
  readonly stopped?: Denial;
  /** True if nothing is left for the later actions. */
  readonly isLast?: boolean;
  /** Reason why the action could not be prepared and was skipped. */
  readonly unprepared?: string;
}

const OWNER_CONTINUES = 'none is needed: the owner of the account continues';

/** Rejections that the next request would get as well: the first one ends the run. */
const REFUSES_ALL: Readonly<Record<string, Denial>> = {
  rate_limited: refusal('quota', 'the service responded with 429 to a write', 'raise the limit, or send less'),
  budget: refusal('quota', 'the daemon’s own request budget is exhausted', 'raise the request budget of the account'),
  unauthorized: refusal('service', 'the service does not accept the token', 'check the token of the account'),
  forbidden: refusal('service', 'the token has no write permission', 'configure a token that may write'),
  lease: refusal('lease', 'the lease on the account is lost, or ends before the response may come', OWNER_CONTINUES),
};

function refusal(guard: string, measured: string, remedy: string): Denial {
  return denialBy(guard, { measured, needed: 'the next request would be rejected as well', remedy });
}

/** Objection to an action whose reservation was refused: something has changed since the plan. */
function refusedBy({ guard, reason: measured }: Refused): Denial {
  switch (guard) {
    case 'caps': {
      const needed = 'each action needs a free place in every cap';
      return denialBy('caps', { measured, needed, remedy: 'wait: later runs do the rest' });
    }
    case 'kill_switch': {
      const remedy = '`opsd unpause --reason TEXT` lifts it';
      return denialBy('kill_switch', { measured, needed: 'nothing is sent during a pause', remedy });
    }
    case 'interrupted': {
      return interruptedBy(measured);
    }
    case 'claim':
    case 'lease': {
      return refusal(guard, measured, OWNER_CONTINUES);
    }
  }
}

/** Performs one action. No request is sent without a durable intent, and none is sent twice. */
export async function performOne(
  policy: Policy,
  run: PolicyRun,
  proposal: Proposal,
  deps: EngineParts,
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
    const intent = await reserve(policy, run, target, deps);
    if (!('id' in intent)) return intent;
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

/** Returns the intent, or the result if there is none. */
async function reserve(
  policy: Policy,
  run: PolicyRun,
  proposal: Proposal,
  deps: EngineParts,
): Promise<Intent | StepResult> {
  const { ledger, clock, authority } = deps;
  try {
    const premises = await premisesOf(policy, run, proposal, deps);
    if (premises === undefined) return { took: 'skipped' };
    const now = clock.now();
    const reservation = await ledger.reserve(run.id, proposal, now, capLimits(policy, now, deps), premises);
    if (reservation.ok) return reservation.intent;
    if (reservation.guard === 'claim') return { took: 'skipped' };
    const paused = reservation.guard === 'kill_switch' && pausedBy(await authority.paused(policy), deps);
    return { stopped: paused || refusedBy(reservation) };
  } catch (error) {
    const lost = await lostLease(proposal.account, deps);
    if (lost === undefined) return { stopped: ledgerFailed('reserve', error, deps) };
    return { stopped: refusal('lease', lost, OWNER_CONTINUES) };
  }
}

/** Returns what the reservation checks again; undefined if it has already changed since the plan. */
async function premisesOf(
  { name, manual }: Policy,
  run: PolicyRun,
  proposal: Proposal,
  deps: EngineParts,
): Promise<Premises | undefined> {
  const pauses = pausedBy({ reason: 'a pause', remedy: '' }, deps) === undefined ? [] : ['engine', policyScope(name)];
  const plans = [...run.approvals, ...(manual === undefined ? [] : [manualPlanId(name) ?? ''])];
  // Another policy may have acted on the same run through another entry.
  if (proposal.action !== 'budget.raise') return { pauses, plans, since: run.plan.at };
  // Another raise, or an edited assertion, may have come.
  const { known, doubt, changes } = await deps.facts.budget(proposal.account);
  if (known?.knownUsd !== proposal.fromUsd || doubt?.verdict === 'hold') return undefined;
  return { pauses, plans, budgetChanges: changes };
}

/** Returns the objection of the guard of pauses to a pause. */
function pausedBy(paused: ActivePause | undefined, { guards, clock }: EngineParts): Denial | undefined {
  if (paused === undefined) return undefined;
  const guard = guardsAt(guards, 'run').filter(({ name }) => name === 'kill_switch');
  return firstDenial(guard, { paused, unmet: [], minInterval: 0, now: clock.now() });
}

/** Records that a reserved action was not sent: its run was stopped in the meantime. */
async function unsent({ id, at, proposal }: Intent, stopped: Denial, deps: EngineParts): Promise<StepResult> {
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
function withListed(proposal: Proposal, { board, ledger }: EngineParts): Proposal {
  if (proposal.action !== 'workflow-dlq.resume') return proposal;
  return returnsIn(board.latest(proposal.account, 'workflowDlq')?.rows, ledger.instance).notedIn(proposal);
}

/** Names of pages and amounts include the run: the same action may happen again on another day. */
function withUniqueTarget(runId: number, proposal: Proposal): Proposal {
  if (proposal.action === 'message-dlq.prune') return { ...proposal, target: `prune/${runId}/${proposal.page}` };
  if (proposal.action === 'budget.raise') return { ...proposal, target: `budget/${runId}/${proposal.toUsd}` };
  return proposal;
}

async function send(intent: Intent, deps: EngineParts): Promise<StepResult> {
  const { ledger, clock } = deps;
  const { proposal } = intent;
  const request = deps.actions.describe(proposal, { instance: ledger.instance });
  const startedAt = clock.monotonic();
  const result = await deps.actions.act(request);
  const durationMs = clock.monotonic() - startedAt;
  // The intent's time was checked; the clock may have been set since.
  const at = intent.at + Math.round(durationMs);
  const surplus = await pauseIfMore(proposal, request, result, deps);
  const { outcome } = result;
  const { newRunId, done } = result.outcome === 'accepted' ? result : {};
  const detail = result.outcome === 'accepted' ? surplus?.reason : result.detail;
  try {
    await ledger.recordOutcome(intent.id, proposal.account, { at, outcome, detail, newRunId, done });
  } catch (error) {
    // The intent stays without an outcome: it becomes unknown, and later reads resolve it.
    return { took: 'unknown', stopped: ledgerFailed('record-outcome', error, deps) };
  }
  reportOutcome(proposal, { outcome, durationMs, detail, done }, deps);
  if (result.outcome === 'accepted') {
    const isLast = proposal.action === 'message-dlq.prune' && result.done < proposal.items;
    return { took: 'acted', done: result.done, isLast, stopped: surplus };
  }
  const stopped = result.code === undefined ? undefined : REFUSES_ALL[result.code];
  if (result.outcome === 'rejected' && stopped === undefined) {
    deps.rejections.add(proposal.account, proposal.target, at);
  }
  return { took: result.outcome === 'rejected' ? 'failed' : 'unknown', stopped };
}

function ledgerFailed(operation: string, error: unknown, deps: EngineParts): Denial {
  reportStoreFailure(deps.events, operation, error);
  return denialBy('ledger', {
    measured: errorMessage(error),
    needed: 'each action is recorded first',
    remedy: 'check the disk of the store and its permissions',
  });
}

/**
 * Acting on a plan, one entry after the other: guards again, intent, request, outcome. No request leaves without a
 * durable intent, and none is sent twice.
 */
import type { Actions } from '../actions/index.ts';
import type { Denial, Plan, Proposal } from '../domain/plan.ts';
import type { AuthorityFacts, Guard } from '../guardrails/guard.ts';
import type { Intent, Ledger } from '../ledger/ledger.ts';
import type { Clock } from '../platform/clock.ts';
import type { EventBus } from '../platform/events.ts';
import type { Policy } from '../policies/policy.ts';
import type { EngineSettings } from '../policies/settings.ts';
import { capLimits } from './cap-limits.ts';
import { firstDenial, guardsAt } from './decide.ts';
import type { Rejections } from './rejections.ts';

export interface ExecuteDeps {
  readonly actions: Actions;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly events: EventBus;
  readonly settings: EngineSettings;
  readonly guards: readonly Guard[];
  readonly rejections: Rejections;
  /** Intents whose request is under way. */
  readonly inFlight: Set<number>;
  authorityOf(policy: Policy): AuthorityFacts;
  pauseEngine(reason: string): void;
}

/** planned = acted + skipped + failed + unknown + left */
export interface Books {
  readonly acted: number;
  /** Not sent: something changed since the plan was made. */
  readonly skipped: number;
  /** Provably without effect. */
  readonly failed: number;
  readonly unknown: number;
  /** Not reached. */
  readonly left: number;
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

/** What one entry came to; without `took` it was not reached. */
interface StepResult {
  readonly took?: Step;
  readonly stopped?: Denial;
}

/** @param signal aborting it finishes the request under way, writes its outcome and leaves the rest */
export async function execute(
  policy: Policy,
  run: { readonly id: number; readonly plan: Plan },
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<Books> {
  const { chosen } = run.plan;
  const counts: Record<Step, number> = { acted: 0, skipped: 0, failed: 0, unknown: 0 };
  let badInARow = 0;
  for (const [index, proposal] of chosen.entries()) {
    const denial = mayNotSend(policy, deps, signal);
    if (denial !== undefined) return { ...counts, left: chosen.length - index, stopped: denial };
    const { took, stopped } = await one(policy, run, proposal, deps);
    if (took !== undefined) counts[took]++;
    badInARow = took === 'failed' || took === 'unknown' ? badInARow + 1 : 0;
    const ended = stopped ?? tooManyBad(badInARow);
    if (ended !== undefined) {
      return { ...counts, left: chosen.length - index - (took === undefined ? 0 : 1), stopped: ended };
    }
  }
  return { ...counts, left: 0 };
}

function mayNotSend(policy: Policy, deps: ExecuteDeps, signal: AbortSignal): Denial | undefined {
  if (signal.aborted) return { guard: 'interrupted', reason: messageOf(signal.reason) };
  const authority = deps.authorityOf(policy);
  return firstDenial(guardsAt(deps.guards, 'run'), authority) ?? firstDenial(guardsAt(deps.guards, 'act'), authority);
}

function tooManyBad(inARow: number): Denial | undefined {
  if (inARow < MAX_BAD_IN_A_ROW) return undefined;
  return { guard: 'service', reason: `${inARow} requests in a row were not answered well` };
}

/** One entry, from its intent to its outcome. */
async function one(
  policy: Policy,
  run: { readonly id: number; readonly plan: Plan },
  proposal: Proposal,
  deps: ExecuteDeps,
): Promise<StepResult> {
  const { intent, instead } = reserve(policy, run, proposal, deps);
  if (intent === undefined) return instead;
  deps.inFlight.add(intent.id);
  try {
    return await send(policy, intent, deps);
  } finally {
    deps.inFlight.delete(intent.id);
  }
}

function reserve(
  policy: Policy,
  run: { readonly id: number; readonly plan: Plan },
  proposal: Proposal,
  deps: ExecuteDeps,
): { readonly intent: Intent; readonly instead?: never } | { readonly intent?: never; readonly instead: StepResult } {
  const { ledger, clock } = deps;
  try {
    // Another policy may have resumed the same run through another entry since the plan was made.
    const { lastAttemptAt = -Infinity } = ledger.historyOf(proposal.account, proposal.lineage);
    if (lastAttemptAt >= run.plan.at) return { instead: { took: 'skipped' } };
    const reservation = ledger.reserve(run.id, proposal, clock.now(), capLimits(policy, deps.settings));
    if (reservation.ok) return { intent: reservation.intent };
    if (reservation.guard === 'claim') return { instead: { took: 'skipped' } };
    return { instead: { stopped: { guard: reservation.guard, reason: reservation.reason } } };
  } catch (error) {
    return { instead: { stopped: ledgerFailed('reserve', error, deps) } };
  }
}

async function send(policy: Policy, intent: Intent, deps: ExecuteDeps): Promise<StepResult> {
  const { ledger, clock } = deps;
  const { proposal } = intent;
  const { retries } = policy.settings.action;
  const request = deps.actions.describe(proposal, {
    instance: ledger.instance,
    ...(retries !== undefined && { retries }),
  });
  const startedAt = clock.monotonic();
  const result = await deps.actions.act(request);
  const durationMs = clock.monotonic() - startedAt;
  const at = clock.now();
  const surplus =
    result.outcome === 'acked'
      ? firstDenial(guardsAt(deps.guards, 'answer'), { asked: request.dlqIds.length, done: result.done })
      : undefined;
  if (surplus !== undefined) deps.pauseEngine(`${surplus.guard}: ${surplus.reason} (${proposal.dlqId})`);
  const detail = result.outcome === 'acked' ? surplus?.reason : result.detail;
  const newRunId = result.outcome === 'acked' ? result.newRunId : undefined;
  try {
    ledger.recordOutcome(intent.id, {
      at,
      outcome: result.outcome,
      ...(detail !== undefined && { detail }),
      ...(newRunId !== undefined && { newRunId }),
    });
  } catch (error) {
    // The intent stands without an outcome: it becomes unknown, and reading resolves it.
    return { took: 'unknown', stopped: ledgerFailed('record-outcome', error, deps) };
  }
  deps.events.emit({
    type: 'action.outcome',
    policy: proposal.policy,
    account: proposal.account,
    action: proposal.action,
    dlqId: proposal.dlqId,
    workflowRunId: proposal.workflowRunId,
    outcome: result.outcome,
    durationMs,
    ...(detail !== undefined && { detail }),
  });
  if (result.outcome === 'acked') return { took: 'acted', ...(surplus !== undefined && { stopped: surplus }) };
  const stopped = result.code === undefined ? undefined : REFUSES_ALL[result.code];
  if (result.outcome === 'rejected' && stopped === undefined) {
    deps.rejections.add(proposal.account, proposal.dlqId, at);
  }
  return { took: result.outcome === 'rejected' ? 'failed' : 'unknown', ...(stopped !== undefined && { stopped }) };
}

function ledgerFailed(operation: string, error: unknown, deps: ExecuteDeps): Denial {
  deps.events.emit({ type: 'store.failed', operation, message: messageOf(error) });
  return { guard: 'ledger', reason: messageOf(error) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

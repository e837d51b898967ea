/** Guards of the plan, of its requests, and of their answers and outcomes. */
import type { Hold } from '#foundation/domain/hold.ts';
import type { AuthorityFacts, OutcomeFacts, PlanFacts } from './guard.ts';

const WINDOWS_MS: Readonly<Record<string, number>> = { hour: 3_600_000, day: 86_400_000 };

/**
 * Limits actions to `limits.maxPerRun` and the sliding windows of policy (4,000/h, 10,000/d; deletes 100/h, 300/d),
 * account, and engine (5,000/h, 20,000/d). Entries above the smallest limit are left for later runs. A window that
 * starts before the daemon did, or before the clock was set, is 3 minutes longer; so are those of the engine with
 * replicas. Remedy: wait.
 */
export function caps({ matched, maxPerRun, caps }: PlanFacts): { readonly allowed: number; readonly hold?: Hold } {
  let allowed = Math.min(matched, maxPerRun);
  let hold: Hold = {
    measured: `${matched} entries are allowed`,
    needed: `a run acts on at most ${maxPerRun}`,
    remedy: 'wait: later runs do the rest',
  };
  for (const { scope, window, used, limit, why, until, trend } of caps) {
    // A value that is not a number leaves no room.
    const room = limit - used > 0 ? limit - used : 0;
    if (room > allowed || (room === allowed && (hold.windowMs === undefined || !isLater(until, hold.until)))) continue;
    allowed = room;
    hold = {
      measured: why ?? `${scope} ${window}: ${used} of ${limit} used`,
      needed: 'each action needs a free place in every cap',
      windowMs: WINDOWS_MS[window],
      trend,
      until,
      remedy: why === undefined ? 'wait: later runs do the rest' : 'adopt the store, or restore the right one',
    };
  }
  return allowed < matched ? { allowed, hold } : { allowed };
}

/** Returns true if a cap with this end holds longer. The end of a cap that is not full is unknown. */
function isLater(until = Infinity, other = Infinity): boolean {
  return until > other;
}

/**
 * Holds all requests in modes `off` and `audit` (the default), even of an approved plan. Both modes still decide and
 * record. Remedy: when the plans are right, set `mode: enforce`.
 */
export function mode({ mode, reducedBy }: AuthorityFacts): Hold | undefined {
  if (mode !== 'off' && mode !== 'audit') return undefined;
  return {
    measured: `the mode is ${mode}${reducedBy === undefined ? '' : ` (${reducedBy})`}`,
    needed: 'requests are sent in mode approve or enforce',
    remedy: reducedBy === undefined ? 'when the plans are right, set `mode: enforce`' : 'change what lowers the mode',
  };
}

/**
 * Keeps a new or widened delete policy in audit for 3 runs, unless an operator approves the plan. Remedy: review the
 * audit runs.
 */
export function probation({ mode, isApproved, probationLeft }: AuthorityFacts): Hold | undefined {
  if (mode === 'approve' || isApproved || probationLeft <= 0) return undefined;
  return {
    measured: `on probation: ${probationLeft} more ${probationLeft === 1 ? 'run' : 'runs'} in audit`,
    needed: 'a new or widened policy makes its audit runs first',
    remedy: 'review the audit runs, or apply the plan',
  };
}

/**
 * Waits for an operator's approval in mode `approve`, and for each plan that needs approval. Rejected actions are not
 * presented again before the rejected plan would have expired. Remedy: read the plan, then approve or reject it.
 */
export function approval({ mode, isApproved, needsApproval }: AuthorityFacts): Hold | undefined {
  if (isApproved || (needsApproval === undefined && mode !== 'approve')) return undefined;
  return {
    measured: `the plan waits for approval by an operator${needsApproval === undefined ? '' : `: ${needsApproval}`}`,
    needed: 'nothing is sent before',
    remedy: 'read the plan, then `opsd approve` or `opsd reject`',
  };
}

/**
 * Pauses the engine if the service acted on more entries than the request named or allowed: it read the request
 * differently. Remedy: compare the action with the service, then run `opsd unpause --reason TEXT`.
 */
export function exceededRequest({ asked, done }: { readonly asked: number; readonly done: number }): Hold | undefined {
  if (done <= asked) return undefined;
  return {
    measured: `the service acted on ${done} entries`,
    needed: `the request allowed ${asked}`,
    remedy: 'compare the action with the service',
  };
}

/**
 * Pauses the policy if the results of a run do not add up: an action was counted twice or not at all. Remedy: report it
 * with the records of the run, then run `opsd unpause --reason TEXT`.
 */
export function outcomeMismatch({ planned, acted, skipped, failed, unknown, left }: OutcomeFacts): Hold | undefined {
  if (planned === acted + skipped + failed + unknown + left) return undefined;
  return {
    measured: `${acted} acted, ${skipped} skipped, ${failed} failed, ${unknown} unknown and ${left} left`,
    needed: `the sum must be the ${planned} planned`,
    remedy: 'report it with the records of the run',
  };
}

/** Result of a run, with the names that ledger, metrics and pages use. */
import { allowedOf, foundBy, type Denial, type Plan, type RunOutcome } from '#foundation/domain/plan.ts';
import type { RunSummary } from '../../ledger/commands.ts';
import type { Policy } from '../../policies/policy.ts';
import { actedOf, type RunTotals } from '../act/execute.ts';

export interface RunResult extends RunSummary {
  readonly error?: string;
}

/** Result of a run that does not take place. */
export function skipped(): RunResult {
  return { outcome: 'skipped', acted: 0 };
}

/** Result of a plan without any action. */
export function unacted(plan: Plan): RunResult {
  const { stopped } = plan;
  return {
    outcome: unactedOutcome(plan),
    ...known(plan, plan.action === 'message-dlq.prune' ? undefined : allowedOf(plan)),
    acted: 0,
    stopped,
    detail: detailOf([stopped === undefined ? '' : `${stopped.guard}: ${stopped.reason}`, leftOut(plan)]),
  };
}

/** Returns the result of a run that sent nothing because of an objection. */
export function heldBy(result: RunResult, stopped: Denial): RunResult {
  return { ...result, outcome: 'held', stopped, detail: `${stopped.guard}: ${stopped.reason}` };
}

function unactedOutcome(plan: Plan): RunOutcome {
  if (plan.state === 'nothing_to_do') {
    if (isSettling(plan)) return 'deferred';
    return plan.matched === undefined || plan.matched === 0 ? 'nothing_to_do' : 'denied';
  }
  if (plan.state === 'held') {
    const guard = plan.stopped?.guard;
    return isOnItsWay(guard) || (guard === 'ramp' && isSettling(plan)) ? 'deferred' : 'held';
  }
  if (plan.stopped?.guard === 'interrupted') return 'halted';
  return plan.stopped?.guard === 'incomplete_read' ? 'incomplete' : 'aborted';
}

/** Returns true if the policy itself causes the wait, so no operator has to look at it. */
export function isOnItsWay(guard: string | undefined): boolean {
  return guard === 'min_interval' || guard === 'window';
}

/** Returns true if a step is unsettled: a normal state of a campaign, not a hold. */
function isSettling({ campaigns }: Plan): boolean {
  return campaigns.some(({ state }) => state === 'settling');
}

/** Guards that select entries: what they leave does not match. */
const SELECTING: ReadonlySet<string> = new Set(['select', 'where']);

/** Summary of the denials, so that a run without actions has a reason: `denied: 238 other_instance, 4 protected`. */
function leftOut({ skipped }: Plan): string {
  const counts = new Map<string, number>();
  for (const { guard, count } of skipped) {
    if (!SELECTING.has(guard)) counts.set(guard, (counts.get(guard) ?? 0) + count);
  }
  if (counts.size === 0) return '';
  return `denied: ${[...counts].map(([guard, count]) => `${count} ${guard}`).join(', ')}`;
}

function detailOf(parts: readonly string[]): string | undefined {
  return parts.filter((part) => part !== '').join('; ') || undefined;
}

/** Result of a plan after its execution. `unbalanced`: the objection of the guard `outcome_mismatch`. */
export function concluded(policy: Policy, plan: Plan, totals: RunTotals, unbalanced?: Denial): RunResult {
  const { acted, skipped, failed, unknown, left, stopped, done } = totals;
  const found = foundNoMore(plan, totals);
  const isOfPages = plan.action === 'message-dlq.prune';
  const counts = {
    acted: actedOf(plan, totals),
    ...(isOfPages
      ? { matched: found, backlog: found === undefined ? undefined : 0 }
      : known(plan, plan.backlog + left)),
  };
  if (unbalanced !== undefined) {
    const detail = `${unbalanced.guard}: ${unbalanced.reason}`;
    return { ...counts, outcome: 'failed', detail, error: detail, stopped: unbalanced };
  }
  const summary = Object.entries({ acted, skipped, failed, unknown, 'not sent': left })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ');
  const deleted = isOfPages && acted > 0 ? `${done} deleted` : '';
  // A policy whose own mode is audit is not held: it says what it would do.
  const asWritten = stopped?.guard === 'mode' && policy.mode === plan.effectiveMode;
  const would = isOfPages ? `would delete at most ${allowedOf(plan)}` : `would act on ${plan.chosen.length} now`;
  const halt = stopped === undefined ? '' : `${stopped.guard}: ${stopped.reason}`;
  const parts = asWritten ? [would, leftOut(plan)] : [halt, summary, deleted, leftOut(plan)];
  return {
    ...counts,
    outcome: asWritten ? 'would_act' : found === 0 ? 'nothing_to_do' : outcomeOf(totals, plan.chosen.length),
    detail: detailOf(parts),
    stopped: asWritten ? undefined : stopped,
    error: stopped?.guard === 'ledger' ? foundBy(stopped) : undefined,
  };
}

/** Numbers of a plan that knows what it matches. The matched number of a prune is only a maximum. */
function known({ action, matched }: Plan, backlog: number | undefined): Pick<RunResult, 'matched' | 'backlog'> {
  if (matched === undefined || backlog === undefined || action === 'message-dlq.prune') return {};
  return { matched, backlog };
}

/** Number of messages that a prune found, if its last page was not full: the plan assumes the maximum. */
function foundNoMore(plan: Plan, { done, failed, unknown, stopped }: RunTotals): number | undefined {
  if (plan.action !== 'message-dlq.prune' || stopped !== undefined || failed + unknown > 0) return undefined;
  return done < plan.chosen.reduce((sum, { items }) => sum + items, 0) ? done : undefined;
}

function outcomeOf({ acted, unknown, left, stopped }: RunTotals, planned: number): RunOutcome {
  if (stopped === undefined) return acted + unknown > 0 ? 'acted' : 'nothing_to_do';
  if (stopped.guard === 'ledger') return 'failed';
  if (stopped.guard === 'approval' && left === planned) return 'pending_approval';
  return left === planned && stopped.guard !== 'interrupted' ? 'held' : 'halted';
}

export function ledgerFields({ outcome, matched, acted, backlog, detail, stopped }: RunResult, plan: Plan) {
  // A plan pending approval waits because of another guard, or of the policy's own mode.
  const stoppedBy = stopped?.guard === 'approval' ? (plan.needsApproval?.guard ?? 'approval') : stopped?.guard;
  return { outcome, acted, matched, backlog, detail, stoppedBy };
}

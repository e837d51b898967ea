/** How a run ended, in the words of the ledger, the metrics and the page. */
import type { Denial, Plan, RunOutcome } from '../domain/plan.ts';
import type { Policy } from '../policies/policy.ts';
import type { Books } from './execute.ts';

export interface RunResult {
  readonly outcome: RunOutcome;
  readonly matched: number;
  readonly acted: number;
  readonly backlog: number;
  readonly detail?: string;
  readonly stopped?: Denial;
  readonly error?: string;
  /** The books do not balance: the policy must not run again before somebody has looked. */
  readonly imbalanced?: boolean;
}

/** The result of a plan that nothing was done about. */
export function unacted(plan: Plan): RunResult {
  const { stopped } = plan;
  const matched = plan.chosen.length + plan.backlog;
  const outcome =
    plan.state === 'nothing'
      ? 'nothing'
      : plan.state === 'held'
        ? 'held'
        : stopped?.guard === 'complete_read'
          ? 'incomplete'
          : 'aborted';
  return {
    outcome,
    matched,
    acted: 0,
    backlog: matched,
    ...(stopped !== undefined && { stopped }),
    ...detailOf([stopped === undefined ? '' : `${stopped.guard}: ${stopped.reason}`, leftOut(plan)]),
  };
}

/** What the guards left out, so that a run that does nothing says why: `left out: 238 foreign_actor, 4 protected`. */
function leftOut({ skipped }: Plan): string {
  const counts = new Map<string, number>();
  for (const { guard, count } of skipped) counts.set(guard, (counts.get(guard) ?? 0) + count);
  if (counts.size === 0) return '';
  return `left out: ${[...counts].map(([guard, count]) => `${count} ${guard}`).join(', ')}`;
}

function detailOf(parts: readonly string[]): { readonly detail?: string } {
  const said = parts.filter((part) => part !== '');
  return said.length === 0 ? {} : { detail: said.join('; ') };
}

/** The result of a plan that was acted on, or would have been: the books must balance. */
export function concluded(policy: Policy, plan: Plan, books: Books): RunResult {
  const planned = plan.chosen.length;
  const { acted, skipped, failed, unknown, left, stopped } = books;
  const counts = { matched: planned + plan.backlog, acted, backlog: plan.backlog + left };
  if (planned !== acted + skipped + failed + unknown + left) {
    const detail = `books: planned ${planned}, but acted ${acted}, skipped ${skipped}, failed ${failed}, unknown ${unknown}, left ${left}`;
    return { ...counts, outcome: 'error', imbalanced: true, detail, error: detail };
  }
  const summary = Object.entries({ acted, skipped, failed, unknown, left })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ');
  const parts = [stopped === undefined ? '' : `${stopped.guard}: ${stopped.reason}`, summary, leftOut(plan)];
  // A policy that is in audit by its own word is not held by anything.
  const asWritten = stopped?.guard === 'mode' && policy.settings.mode === plan.effectiveMode;
  return {
    ...counts,
    outcome: asWritten ? 'nothing' : outcomeOf(books, planned),
    ...detailOf(parts),
    ...(stopped !== undefined && !asWritten && { stopped }),
    ...(stopped?.guard === 'ledger' && { error: stopped.reason }),
  };
}

function outcomeOf({ acted, unknown, left, stopped }: Books, planned: number): RunOutcome {
  if (stopped === undefined) return acted + unknown > 0 ? 'acted' : 'nothing';
  if (stopped.guard === 'ledger') return 'error';
  return left === planned && stopped.guard !== 'interrupted' ? 'held' : 'halted';
}

export function ledgerFields({ outcome, matched, acted, backlog, detail }: RunResult) {
  return { outcome, matched, acted, backlog, ...(detail !== undefined && { detail }) };
}

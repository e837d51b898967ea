/**
 * Execution of a plan, one request after the other: guards again, preparation, intent, request, outcome. No request is
 * sent without a durable intent, and none is sent twice.
 */
import { denialBy, type Denial, type Plan, type Proposal } from '#foundation/domain/plan.ts';
import type { OutcomeFacts } from '../../guardrails/guard.ts';
import type { Policy } from '../../policies/policy.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { GroupStep } from './group-step.ts';
import { performOne, type StepResult } from './perform-one.ts';
import { mayNotSend, type PolicyRun } from './sending.ts';

type Took = StepResult['took'];

/** Results of a run. */
export interface RunTotals extends Omit<OutcomeFacts, 'planned'> {
  /** Number of entries that the service says it acted on. */
  readonly done: number;
  /** Reason why the run ended before its plan. */
  readonly stopped?: Denial;
}

/** Number of consecutive failed requests after which the rest waits for the next run. */
const MAX_BAD_IN_A_ROW = 3;

/**
 * Executes a plan.
 *
 * @param signal an abort lets the request in flight finish, records its outcome and leaves the rest
 */
export async function execute(
  policy: Policy,
  run: PolicyRun,
  deps: EngineParts,
  signal: AbortSignal,
): Promise<RunTotals> {
  const counts: Record<NonNullable<Took>, number> = { acted: 0, skipped: 0, failed: 0, unknown: 0 };
  const { chosen } = run.plan;
  const byGroup = Map.groupBy(chosen, ({ group }) => group);
  let done = 0;
  let reached = 0;
  let badInARow = 0;
  let stopped: Denial | undefined;
  let unprepared: string | undefined;
  const inDlq = deps.facts.dlqMessages(policy.account);
  for (const [group, members] of byGroup) {
    const step = new GroupStep({ policy, group, plan: run.plan }, deps);
    try {
      for (const planned of members) {
        stopped = (await mayNotSend(policy, run, deps, signal)) ?? othersDelete(policy, { inDlq, done }, deps);
        if (stopped !== undefined) break;
        const proposal = await step.join(planned);
        // The campaign has changed since the plan: the next run decides again.
        if (proposal === undefined) break;
        const result = await performOne(policy, run, proposal, deps, signal);
        if (result.took !== undefined) {
          counts[result.took]++;
          reached++;
        }
        done += result.done ?? 0;
        run.sent.acted = actedOf(run.plan, { acted: counts.acted, done });
        unprepared ??= result.unprepared;
        badInARow = nextInARow(badInARow, result.took);
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
  if (counts.skipped === chosen.length) stopped ??= unarchived(unprepared);
  return { ...counts, left: chosen.length - reached, done, stopped };
}

/** Returns the number of actions that a run reports: a page counts its deleted messages. */
export function actedOf({ action }: Pick<Plan, 'action'>, { acted, done }: Pick<RunTotals, 'acted' | 'done'>): number {
  return action === 'message-dlq.prune' ? done : acted;
}

/** Number of consecutive failed requests after a step. */
function nextInARow(before: number, took: Took): number {
  return took === 'failed' || took === 'unknown' ? before + 1 : 0;
}

/** Holds a run if none of its entries could be archived, so that an operator sees it. */
function unarchived(measured: string | undefined): Denial | undefined {
  if (measured === undefined) return undefined;
  return denialBy('archive', {
    measured,
    needed: 'every entry is archived before its delete',
    remedy: 'check the disk and the owner of the folder',
  });
}

function tooManyBad(inARow: number): Denial | undefined {
  if (inARow < MAX_BAD_IN_A_ROW) return undefined;
  return denialBy('service', {
    measured: `${inARow} consecutive requests failed`,
    needed: `fewer than ${MAX_BAD_IN_A_ROW} in a row`,
    remedy: 'check the errors of the account',
  });
}

/** Retention and users delete messages, too. A larger unexplained decrease puts the effect of this run in doubt. */
const LEAST_UNEXPLAINED = 25;

/** Ends a prune whose DLQ shrinks much faster than its pages: a prune cannot list what is deleted. */
function othersDelete(
  policy: Policy,
  before: { readonly inDlq: number | undefined; readonly done: number },
  deps: EngineParts,
): Denial | undefined {
  if (policy.action.type !== 'message-dlq.prune' || before.inDlq === undefined) return undefined;
  const now = deps.facts.dlqMessages(policy.account);
  if (now === undefined) return undefined;
  const unexplained = before.inDlq - now - before.done;
  if (unexplained <= Math.max(LEAST_UNEXPLAINED, before.inDlq / 10)) return undefined;
  return denialBy('dlq_count', {
    measured: `the DLQ fell from ${before.inDlq} to ${now} messages; this run deleted only ${before.done}`,
    needed: 'the pages of the prune must explain the decrease',
    remedy: 'find out who else deletes',
  });
}

/** Ends the run after a prune with a lost response: its effect is unknown, so the next one waits. */
function unknownEnds(proposal: Proposal, took: Took): Denial | undefined {
  if (proposal.action !== 'message-dlq.prune' || took !== 'unknown') return undefined;
  return denialBy('cool_down', {
    measured: 'the response to a page was lost: the number of deleted messages is unknown',
    needed: 'the next prune waits for one hour',
    remedy: 'compare the number of messages in the DLQ with the expected number',
  });
}

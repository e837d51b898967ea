/**
 * What became of acts, learned by reading alone. An acked entry is verified when it is gone and its run has not come
 * back; an unknown one is resolved by a listing that began well after its request. Nothing is ever sent from here.
 *
 * What the board holds can show that a run is back. Only an own listing, whole and begun late enough, can show that
 * an entry is gone: rows of the board may have been read before the act.
 */
import type { Actions } from '../actions/index.ts';
import { parseStamp } from '../domain/lineage.ts';
import type { WorkflowDlqEntry } from '../domain/workflow-dlq.ts';
import type { ActionOutcome, ActionRecord, Intent, Ledger } from '../ledger/ledger.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { Clock } from '../platform/clock.ts';
import type { EventBus } from '../platform/events.ts';

export interface SettleDeps {
  readonly actions: Actions;
  readonly ledger: Ledger;
  readonly board: ObservationBoard;
  readonly clock: Clock;
  readonly events: EventBus;
  /** Milliseconds within which a resumed run that fails again is back, and a lost request has arrived or never will. */
  readonly settleMs: number;
  readonly inFlight: ReadonlySet<number>;
  /** When each account was last listed from here, on the monotonic clock: at most once in a settle time. */
  readonly listedAt: Map<string, number>;
}

/**
 * Intents that nobody will write an outcome for any more become unknown.
 *
 * @returns how many
 */
export function abandonIntents(deps: SettleDeps): number {
  const abandoned = deps.ledger.intentsWithoutOutcome().filter((intent) => !deps.inFlight.has(intent.id));
  for (const intent of abandoned) {
    record(intent, 'unknown', deps, 'the daemon ended, or could not write, before the outcome was known');
  }
  return abandoned.length;
}

export async function settleActions(deps: SettleDeps, signal: AbortSignal): Promise<void> {
  for (const account of deps.actions.accounts) {
    const open = deps.ledger.unsettled(account).filter((action) => !cameBackVisibly(action, account, deps));
    const due = open.filter((action) => (action.outcomeAt ?? action.at) + deps.settleMs <= deps.clock.now());
    const now = deps.clock.monotonic();
    if (due.length === 0 || now - (deps.listedAt.get(account) ?? -Infinity) < deps.settleMs) continue;
    deps.listedAt.set(account, now);
    const listing = await deps.actions.list(account, {}, signal);
    if (listing.complete && listing.dropped === 0) for (const action of due) judge(action, listing.entries, deps);
  }
}

/** Records it at once when an acked run is seen to be back, or was resumed again since. */
function cameBackVisibly(action: ActionRecord, account: string, deps: SettleDeps): boolean {
  if (action.outcome !== 'acked') return false;
  const { lastAttemptAt = action.at } = deps.ledger.historyOf(account, action.proposal.lineage);
  const rows = deps.board.latest(account, 'workflowDlq')?.rows ?? [];
  const back = lastAttemptAt > action.at || rows.some((entry) => isReturnOf(entry, action, deps.ledger.instance));
  if (back) record(action, 'came_back', deps);
  return back;
}

/** @param entries a whole listing that began a settle time after the request, or later */
function judge(action: ActionRecord, entries: readonly WorkflowDlqEntry[], deps: SettleDeps): void {
  const back = entries.some((entry) => isReturnOf(entry, action, deps.ledger.instance));
  const listed = entries.some((entry) => entry.dlqId === action.proposal.dlqId);
  if (action.outcome === 'unknown') {
    record(action, back || !listed ? 'resolved_done' : 'resolved_not_done', deps);
  } else if (back) {
    record(action, 'came_back', deps);
  } else if (!listed) {
    // An acked entry that stays listed is neither verified nor sent again: its claim stands.
    record(action, 'verified', deps);
  }
}

/**
 * Whether an entry is the run that this act brought to life, failed again. It failed later than the entry acted on:
 * where resumed runs keep their ids, older entries of the same run may still stand on the board.
 */
function isReturnOf(entry: WorkflowDlqEntry, action: ActionRecord, instance: string): boolean {
  if (entry.dlqId === action.proposal.dlqId || entry.createdAt <= action.proposal.failedAt) return false;
  if (action.newRunId !== undefined && entry.workflowRunId === action.newRunId) return true;
  return entry.labels.some((label) => {
    const stamp = parseStamp(label);
    return (
      stamp?.instance === instance &&
      stamp.lineage === action.proposal.lineage &&
      stamp.attempt >= action.proposal.attempt
    );
  });
}

function record(intent: Intent, outcome: ActionOutcome, deps: SettleDeps, detail?: string): void {
  const { policy, account, action, dlqId } = intent.proposal;
  deps.ledger.recordOutcome(intent.id, { at: deps.clock.now(), outcome, ...(detail !== undefined && { detail }) });
  deps.events.emit({
    type: 'action.outcome',
    policy,
    account,
    action,
    dlqId,
    outcome,
    durationMs: 0,
    ...(detail !== undefined && { detail }),
  });
}

/**
 * History of each listed entry: the lineage of its run, and earlier actions on that lineage. The ledger knows a run
 * resumed by this daemon by the id that it got. Otherwise the stamp identifies it. Otherwise the run is new. Looking
 * the same as a resumed run proves nothing: an entry must not wait for an action on another run.
 */
import { hash } from 'node:crypto';
import { newestStamp, parseStamp } from '#foundation/domain/lineage.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Candidate } from '../guardrails/guard.ts';
import type { History } from '../ledger/history.ts';
import type { Identity } from '../ledger/trust.ts';
import type { Rejections } from './rejections.ts';

/** Sorts by age, oldest failure first: the entries that expire first are repaired first. */
export function candidates(
  account: string,
  entries: readonly WorkflowDlqEntry[],
  known: { readonly ledger: Identity & History; readonly rejections: Rejections },
): Candidate[] {
  const taken = new Set<string>();
  return [...entries].sort(byAge).map((entry) => {
    const candidate = candidateOf(account, entry, { ...known, taken });
    taken.add(candidate.lineage);
    return candidate;
  });
}

function candidateOf(
  account: string,
  entry: WorkflowDlqEntry,
  {
    ledger,
    rejections,
    taken,
  }: {
    readonly ledger: Identity & History;
    readonly rejections: Rejections;
    readonly taken: ReadonlySet<string>;
  },
): Candidate {
  const own = newestStamp(entry.labels, ledger.instance);
  const foreign = entry.labels.map(parseStamp).find((stamp) => stamp && stamp.instance !== ledger.instance);
  const history =
    ledger.lineageOfRun(account, entry.workflowRunId) ??
    ledger.historyOf(account, own?.lineage ?? newLineage(account, entry));
  const refused = rejections.of(account, entry.dlqId);
  return {
    entry,
    lineage: history.lineage,
    attempts: Math.max(history.attempts, own?.attempt ?? 0),
    ...(history.lastAttemptAt !== undefined && { lastAttemptAt: history.lastAttemptAt }),
    rejections: refused?.count ?? 0,
    ...(refused !== undefined && { lastRejectedAt: refused.at }),
    ...(foreign !== undefined && { stampedBy: foreign.instance }),
    sentBefore: ledger.isClaimed(account, entry.dlqId),
    lineageTaken: taken.has(history.lineage),
  };
}

/**
 * Lineage of a run without history. It is equal for all entries of one run, so an action without effect continues its
 * own lineage.
 */
function newLineage(account: string, { workflowRunId, workflowCreatedAt = 0 }: WorkflowDlqEntry): string {
  return hash('sha256', `${account}\0${workflowRunId}\0${workflowCreatedAt}`, 'hex').slice(0, 16);
}

function byAge(a: WorkflowDlqEntry, b: WorkflowDlqEntry): number {
  return a.createdAt - b.createdAt || (a.dlqId < b.dlqId ? -1 : 1);
}

/**
 * What is known of each listed entry: the lineage its run belongs to, and what was done to that lineage before. The
 * ledger knows a run that we resumed by the id it got; where it does not, the stamp tells; else the run is new. That it
 * looks the same as a run that was resumed says nothing: an entry must not wait for what was done to another.
 */
import { hash } from 'node:crypto';
import { newestStamp, parseStamp } from '#foundation/domain/lineage.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Candidate } from '../guardrails/guard.ts';
import type { History } from '../ledger/history.ts';
import type { Identity } from '../ledger/trust.ts';
import type { Rejections } from './rejections.ts';

/** Oldest failure first: what leaves the DLQ by age first is repaired first. */
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
    ...(foreign !== undefined && { foreignInstance: foreign.instance }),
    sentBefore: ledger.isClaimed(account, entry.dlqId),
    lineageTaken: taken.has(history.lineage),
  };
}

/** The same for all entries of one run: an act that did nothing is taken up in its own lineage. */
function newLineage(account: string, { workflowRunId, workflowCreatedAt = 0 }: WorkflowDlqEntry): string {
  return hash('sha256', `${account}\0${workflowRunId}\0${workflowCreatedAt}`, 'hex').slice(0, 16);
}

function byAge(a: WorkflowDlqEntry, b: WorkflowDlqEntry): number {
  return a.createdAt - b.createdAt || (a.dlqId < b.dlqId ? -1 : 1);
}

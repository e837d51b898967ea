/**
 * What is known of each listed entry: the lineage its run belongs to, and what was done to that lineage before. The
 * ledger knows a run that we resumed by the id it got; where it does not, the stamp tells; else the run is new.
 */
import { createHash } from 'node:crypto';
import { parseStamp, type Stamp } from '../domain/lineage.ts';
import type { WorkflowDlqEntry } from '../domain/workflow-dlq.ts';
import type { Candidate } from '../guardrails/guard.ts';
import type { Ledger, LineageHistory } from '../ledger/ledger.ts';
import type { Rejections } from './rejections.ts';

/** Oldest failure first: what leaves the DLQ by age first is repaired first. */
export function candidates(
  account: string,
  entries: readonly WorkflowDlqEntry[],
  known: { readonly ledger: Ledger; readonly rejections: Rejections },
): Candidate[] {
  const taken = new Set<string>();
  return [...entries].sort(byAge).map((entry) => {
    const candidate = candidateOf(account, entry, known);
    const lineageTaken = taken.has(candidate.lineage);
    taken.add(candidate.lineage);
    return { ...candidate, lineageTaken };
  });
}

function candidateOf(
  account: string,
  entry: WorkflowDlqEntry,
  { ledger, rejections }: { readonly ledger: Ledger; readonly rejections: Rejections },
): Omit<Candidate, 'lineageTaken'> {
  const stamps = entry.labels.map(parseStamp).filter((stamp) => stamp !== undefined);
  const own = latest(stamps.filter((stamp) => stamp.instance === ledger.instance));
  const foreign = stamps.find((stamp) => stamp.instance !== ledger.instance);
  const history = historyOf(account, entry, own, ledger);
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
  };
}

function historyOf(account: string, entry: WorkflowDlqEntry, own: Stamp | undefined, ledger: Ledger): LineageHistory {
  return (
    ledger.lineageOfRun(account, entry.workflowRunId) ??
    ledger.historyOf(account, own?.lineage ?? newLineage(account, entry))
  );
}

/** The same for all entries of one run: an act that did nothing is taken up in its own lineage. */
function newLineage(account: string, { workflowRunId, workflowCreatedAt = 0 }: WorkflowDlqEntry): string {
  return createHash('sha256').update(`${account}\0${workflowRunId}\0${workflowCreatedAt}`).digest('hex').slice(0, 16);
}

/** Where the service adds labels instead of replacing them, older stamps stand beside the newest. */
function latest(stamps: readonly Stamp[]): Stamp | undefined {
  return stamps.reduce<Stamp | undefined>((a, b) => (a === undefined || b.attempt > a.attempt ? b : a), undefined);
}

function byAge(a: WorkflowDlqEntry, b: WorkflowDlqEntry): number {
  return a.createdAt - b.createdAt || (a.dlqId < b.dlqId ? -1 : 1);
}

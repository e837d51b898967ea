/**
 * What is known of each listed entry: the lineage its run belongs to, and what was done to that lineage before. The
 * ledger knows a run that we resumed by the id it got; where it does not, the stamp tells; where that is lost too, the
 * fingerprint, as far as one entry alone has it; else the run is new.
 */
import { hash } from 'node:crypto';
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
  const alone = lonelyFingerprints(entries);
  return [...entries].sort(byAge).map((entry) => {
    const candidate = candidateOf(account, entry, { ...known, alone, taken });
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
    alone,
    taken,
  }: {
    readonly ledger: Ledger;
    readonly rejections: Rejections;
    readonly alone: ReadonlySet<string>;
    readonly taken: ReadonlySet<string>;
  },
): Candidate {
  const stamps = entry.labels.map(parseStamp).filter((stamp) => stamp !== undefined);
  const own = latest(stamps.filter((stamp) => stamp.instance === ledger.instance));
  const foreign = stamps.find((stamp) => stamp.instance !== ledger.instance);
  const history = historyOf(account, entry, { own, alone }, ledger);
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

function historyOf(
  account: string,
  entry: WorkflowDlqEntry,
  { own, alone }: { readonly own: Stamp | undefined; readonly alone: ReadonlySet<string> },
  ledger: Ledger,
): LineageHistory {
  const { fingerprint } = entry;
  const byRun = ledger.lineageOfRun(account, entry.workflowRunId);
  if (byRun !== undefined) return byRun;
  if (own !== undefined) return ledger.historyOf(account, own.lineage);
  const alike =
    fingerprint !== undefined && alone.has(fingerprint) ? ledger.lineageOfFingerprint(account, fingerprint) : undefined;
  return alike ?? ledger.historyOf(account, newLineage(account, entry));
}

/** Fingerprints that one entry alone has: of several that look the same nobody can tell which is meant. */
export function lonelyFingerprints(entries: readonly WorkflowDlqEntry[]): ReadonlySet<string> {
  const once = new Set<string>();
  const more = new Set<string>();
  for (const { fingerprint } of entries) {
    if (fingerprint === undefined || more.has(fingerprint)) continue;
    if (!once.has(fingerprint)) once.add(fingerprint);
    else {
      once.delete(fingerprint);
      more.add(fingerprint);
    }
  }
  return once;
}

/** The same for all entries of one run: an act that did nothing is taken up in its own lineage. */
function newLineage(account: string, { workflowRunId, workflowCreatedAt = 0 }: WorkflowDlqEntry): string {
  return hash('sha256', `${account}\0${workflowRunId}\0${workflowCreatedAt}`, 'hex').slice(0, 16);
}

/** Where the service adds labels instead of replacing them, older stamps stand beside the newest. */
function latest(stamps: readonly Stamp[]): Stamp | undefined {
  return stamps.reduce<Stamp | undefined>((a, b) => (a === undefined || b.attempt > a.attempt ? b : a), undefined);
}

function byAge(a: WorkflowDlqEntry, b: WorkflowDlqEntry): number {
  return a.createdAt - b.createdAt || (a.dlqId < b.dlqId ? -1 : 1);
}

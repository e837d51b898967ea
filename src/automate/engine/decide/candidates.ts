/**
 * History of each listed entry: the lineage of its run, and earlier actions on that lineage. The ledger knows the runs
 * that this daemon resumed, by their ids before and after. Otherwise a stamp on any entry of the run identifies it.
 * Otherwise the run is new. Looking the same as a resumed run proves nothing: an entry must not wait for an action on
 * another run.
 */
import { hash } from 'node:crypto';
import { parseStamp } from '#foundation/domain/lineage.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { repeated } from '#foundation/platform/repeated.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Candidate } from '../../guardrails/guard.ts';
import type { LineageHistory } from '../../ledger/history.ts';
import type { EngineParts } from '../guard/engine-parts.ts';

/** Listed entries, and the history of each. A candidate is made on request, because there are many entries. */
export interface Candidates {
  /** Oldest failure first: the entries that expire first are repaired first. */
  readonly entries: readonly WorkflowDlqEntry[];
  /** Number of resumes of an entry's run so far. */
  readonly attempts: (entry: WorkflowDlqEntry) => number;
  lineage(entry: WorkflowDlqEntry): string;
  /** @param facts facts that depend on the policies; `isByHand`: of a manual delete, which may follow a retrigger */
  of<E extends WorkflowDlqEntry>(
    entry: E,
    facts: Pick<Candidate, 'ownedBy' | 'firstMatchedAt' | 'deploy' | 'unpublishable'> & { readonly isByHand?: boolean },
  ): Candidate<E>;
}

/** History of a run, from the ledger and from stamps. */
interface RunHistory {
  /** Absent if neither has one: it follows from the id of the run. */
  lineage?: string;
  attempts: number;
  lastAttemptAt?: number;
  /** Name of another instance. */
  stampedBy?: string;
}

export async function candidates(
  account: string,
  listed: readonly WorkflowDlqEntry[],
  { ledger, rejections }: Pick<EngineParts, 'ledger' | 'rejections'>,
): Promise<Candidates> {
  const entries = listed.toSorted(byAge);
  const resumed = await ledger.lineagesOfRuns(
    account,
    entries.values().map(({ workflowRunId }) => workflowRunId),
  );
  const stamped = stampedRuns(listed, { instance: ledger.instance, resumed });
  const historyOf = (run: string): RunHistory | undefined => stamped.get(run) ?? resumed.get(run);
  const lineageOf = (run: string): string => historyOf(run)?.lineage ?? newLineage(account, run);
  const taken = new Set<string>();
  const histories = await ledger.histories(account, unresumed());
  for (const { workflowRunId: run } of histories.size === 0 ? [] : entries) {
    const history = resumed.has(run) ? undefined : histories.get(lineageOf(run));
    if (history === undefined) continue;
    const { attempts = 0, stampedBy } = stamped.get(run) ?? {};
    stamped.set(run, { ...history, attempts: Math.max(attempts, history.attempts), stampedBy });
  }
  const claims = await ledger.claims(
    account,
    entries.values().map(({ dlqId }) => dlqId),
  );

  /** Yields the lineages of runs that the ledger does not know, and notes the entries whose lineage is taken. */
  function* unresumed(): Generator<string> {
    // A new lineage is not kept, because there are many. Another run has it only if the history of that run has it.
    const several = repeated(entries, ({ workflowRunId }) => workflowRunId);
    const known = new Set<string | undefined>();
    for (const runs of [stamped, resumed]) for (const { lineage } of runs.values()) known.add(lineage);
    const seen = new Set<string>();
    for (const { dlqId, workflowRunId: run } of entries) {
      const lineage = lineageOf(run);
      if (seen.has(lineage)) taken.add(dlqId);
      if (several.has(run) || known.has(lineage)) seen.add(lineage);
      if (!resumed.has(run)) yield lineage;
    }
  }

  return {
    entries,
    attempts: ({ workflowRunId }) => historyOf(workflowRunId)?.attempts ?? 0,
    lineage: ({ workflowRunId }) => lineageOf(workflowRunId),
    of(entry, { isByHand = false, ...facts }) {
      const { dlqId, workflowRunId } = entry;
      const history = historyOf(workflowRunId);
      const refused = rejections.of(account, dlqId);
      return {
        entry,
        attempts: history?.attempts ?? 0,
        lastAttemptAt: history?.lastAttemptAt,
        rejections: refused?.count ?? 0,
        lastRejectedAt: refused?.at,
        stampedBy: history?.stampedBy,
        sentBefore: claims.has(dlqId) && !(isByHand && claims.get(dlqId) === 'retrigger'),
        lineageTaken: taken.has(dlqId),
        ...facts,
      };
    },
  };
}

/** Returns the runs whose stamps say more than the ledger. A stamp on one entry of a run counts for all of them. */
function stampedRuns(
  entries: readonly WorkflowDlqEntry[],
  { instance, resumed }: { readonly instance: string; readonly resumed: ReadonlyMap<string, LineageHistory> },
): Map<string, RunHistory> {
  const runs = new Map<string, RunHistory>();
  for (const { workflowRunId, labels } of entries) {
    for (const label of labels) {
      const stamp = parseStamp(label);
      if (stamp === undefined) continue;
      const known = resumed.get(workflowRunId);
      const isOwn = stamp.instance === instance;
      if (isOwn && known !== undefined && stamp.attempt <= known.attempts) continue;
      const run = getOrAdd(runs, workflowRunId, (): RunHistory => ({ attempts: 0, ...known }));
      if (!isOwn) run.stampedBy ??= stamp.instance;
      else if (run.lineage === undefined || stamp.attempt > run.attempts) {
        run.lineage = known?.lineage ?? stamp.lineage;
        run.attempts = stamp.attempt;
      }
    }
  }
  return runs;
}

/**
 * Lineage of a run without history. The id alone identifies a run: everything else may differ between two entries of
 * one run, and a second lineage would have attempts of its own.
 */
function newLineage(account: string, workflowRunId: string): string {
  return hash('sha256', `${account}\0${workflowRunId}`, 'hex').slice(0, 16);
}

function byAge(a: WorkflowDlqEntry, b: WorkflowDlqEntry): number {
  return a.createdAt - b.createdAt || (a.dlqId < b.dlqId ? -1 : 1);
}

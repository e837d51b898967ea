/**
 * History of each listed entry: the lineage of its run, and earlier actions on that lineage. The ledger knows the runs
 * that this daemon resumed, by their ids before and after. Otherwise a stamp on any entry of the run identifies it.
 * Otherwise the run is new. Looking the same as a resumed run proves nothing: an entry must not wait for an action on
 * another run.
 */
import { hash } from 'node:crypto';
import { isStamp, newestStamp, parseStamp, type Stamp } from '#foundation/domain/lineage.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Candidate } from '../../guardrails/guard.ts';
import type { EngineParts } from '../guard/engine-parts.ts';

/** Returns the candidates, oldest failure first: the entries that expire first are repaired first. */
export async function candidates(
  account: string,
  entries: readonly WorkflowDlqEntry[],
  { ledger, rejections }: Pick<EngineParts, 'ledger' | 'rejections'>,
): Promise<Candidate[]> {
  const resumed = await ledger.lineagesOfRuns(
    account,
    entries.map(({ workflowRunId }) => workflowRunId),
  );
  const stamps = stampsOf(entries, ledger.instance);
  const stamped = entries.map((entry) => {
    const { workflowRunId } = entry;
    const { own, foreign } = stamps.get(workflowRunId) ?? {};
    const history = resumed.get(workflowRunId);
    const lineage = history?.lineage ?? own?.lineage ?? newLineage(account, workflowRunId);
    return { entry, own, foreign, history, lineage };
  });
  const unresumed = stamped.filter(({ history }) => history === undefined).map(({ lineage }) => lineage);
  const histories = await ledger.histories(account, unresumed);
  const claims = await ledger.claims(
    account,
    entries.map(({ dlqId }) => dlqId),
  );
  const taken = new Set<string>();
  return stamped
    .sort((a, b) => byAge(a.entry, b.entry))
    .map(({ entry, own, foreign, lineage, history = histories.get(lineage) }) => {
      const refused = rejections.of(account, entry.dlqId);
      const lineageTaken = taken.has(lineage);
      taken.add(lineage);
      return {
        entry,
        lineage,
        attempts: Math.max(history?.attempts ?? 0, own?.attempt ?? 0),
        lastAttemptAt: history?.lastAttemptAt,
        rejections: refused?.count ?? 0,
        lastRejectedAt: refused?.at,
        stampedBy: foreign?.instance,
        sentBefore: claims.has(entry.dlqId),
        lineageTaken,
      };
    });
}

interface Stamps {
  /** Newest stamp of this instance. */
  readonly own?: Stamp;
  /** Stamp of another instance. */
  readonly foreign?: Stamp;
}

/** Returns the stamps of each stamped run. A stamp on one of its entries counts for all of them. */
function stampsOf(entries: readonly WorkflowDlqEntry[], instance: string): ReadonlyMap<string, Stamps> {
  const stamped = entries.filter(({ labels }) => labels.some(isStamp));
  const byRun = Map.groupBy(stamped, ({ workflowRunId }) => workflowRunId);
  return new Map(
    [...byRun].map(([workflowRunId, same]) => {
      const labels = same.flatMap((entry) => entry.labels);
      const own = newestStamp(labels, instance);
      const foreign = labels.map(parseStamp).find((stamp) => stamp && stamp.instance !== instance);
      return [workflowRunId, { own, foreign }];
    }),
  );
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

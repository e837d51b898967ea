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

interface Known {
  readonly ledger: Identity & History;
  readonly rejections: Rejections;
}

/** Returns the candidates, oldest failure first: the entries that expire first are repaired first. */
export async function candidates(
  account: string,
  entries: readonly WorkflowDlqEntry[],
  { ledger, rejections }: Known,
): Promise<Candidate[]> {
  const resumed = await ledger.lineagesOfRuns(
    account,
    entries.map(({ workflowRunId }) => workflowRunId),
  );
  const stamped = entries.map((entry) => {
    const own = newestStamp(entry.labels, ledger.instance);
    const history = resumed.get(entry.workflowRunId);
    return { entry, own, history, lineage: history?.lineage ?? own?.lineage ?? newLineage(account, entry) };
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
    .map(({ entry, own, lineage, history = histories.get(lineage) }) => {
      const foreign = entry.labels.map(parseStamp).find((stamp) => stamp && stamp.instance !== ledger.instance);
      const refused = rejections.of(account, entry.dlqId);
      const lineageTaken = taken.has(lineage);
      taken.add(lineage);
      return {
        entry,
        lineage,
        attempts: Math.max(history?.attempts ?? 0, own?.attempt ?? 0),
        ...(history?.lastAttemptAt !== undefined && { lastAttemptAt: history.lastAttemptAt }),
        rejections: refused?.count ?? 0,
        ...(refused !== undefined && { lastRejectedAt: refused.at }),
        ...(foreign !== undefined && { stampedBy: foreign.instance }),
        sentBefore: claims.has(entry.dlqId),
        lineageTaken,
      };
    });
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

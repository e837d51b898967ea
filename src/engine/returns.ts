/** Which entries of a listing are resumed runs that failed again: looked up by run and by stamp, not by walking. */
import { isStamp, parseStamp } from '../domain/lineage.ts';
import type { ResumeProposal } from '../domain/plan.ts';
import type { WorkflowDlqEntry } from '../domain/workflow-dlq.ts';
import { lonelyFingerprints } from './candidates.ts';

export class Returns {
  readonly #byRun = new Map<string, WorkflowDlqEntry[]>();
  readonly #byLineage = new Map<string, { readonly attempt: number; readonly entry: WorkflowDlqEntry }[]>();

  readonly #byFingerprint = new Map<string, WorkflowDlqEntry>();

  /** @param instance whose stamps count */
  constructor(entries: readonly WorkflowDlqEntry[], instance: string) {
    const alone = lonelyFingerprints(entries);
    for (const entry of entries) {
      const { fingerprint } = entry;
      if (fingerprint !== undefined && alone.has(fingerprint)) this.#byFingerprint.set(fingerprint, entry);
      add(this.#byRun, entry.workflowRunId, entry);
      for (const label of entry.labels) {
        const stamp = parseStamp(label);
        if (stamp?.instance === instance) add(this.#byLineage, stamp.lineage, { attempt: stamp.attempt, entry });
      }
    }
  }

  /**
   * Whether the run that this act brought to life stands here, failed again. It failed later than the entry acted on:
   * where resumed runs keep their ids, older entries of the same run may still stand on the board.
   */
  has(proposal: ResumeProposal, newRunId: string | undefined): boolean {
    const isLater = (entry: WorkflowDlqEntry): boolean =>
      entry.dlqId !== proposal.dlqId && entry.createdAt > proposal.failedAt;
    if (newRunId !== undefined && this.#byRun.get(newRunId)?.some(isLater) === true) return true;
    const alike = proposal.fingerprint === undefined ? undefined : this.#byFingerprint.get(proposal.fingerprint);
    // One with a stamp says itself what it is.
    if (alike !== undefined && isLater(alike) && !alike.labels.some(isStamp)) return true;
    const stamped = this.#byLineage.get(proposal.lineage) ?? [];
    return stamped.some(({ attempt, entry }) => attempt >= proposal.attempt && isLater(entry));
  }
}

function add<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}

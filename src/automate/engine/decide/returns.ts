/**
 * Index of resumed runs that failed again in a listing, so that they are looked up instead of walked.
 *
 * The run id and the stamp identify a run. A fingerprint does not: two runs may have the same body. So an entry that
 * only looks the same never counts as a return. It leaves the outcome of an action open if nothing else decides it.
 */
import { isStamp, parseStamp } from '#foundation/domain/lineage.ts';
import type { ResumeProposal, WorkflowDeleteProposal } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';

export class Returns {
  readonly #byRun = new Map<string, WorkflowDlqEntry[]>();
  readonly #byLineage = new Map<string, { readonly attempt: number; readonly entry: WorkflowDlqEntry }[]>();
  readonly #byFingerprint = new Map<string, WorkflowDlqEntry[]>();

  /** @param instance instance whose stamps count */
  constructor(entries: Iterable<WorkflowDlqEntry>, instance: string) {
    for (const entry of entries) {
      const { fingerprint, workflowRunId, labels } = entry;
      add(this.#byRun, workflowRunId, entry);
      if (fingerprint !== undefined) add(this.#byFingerprint, fingerprint, entry);
      for (const label of labels) {
        const stamp = parseStamp(label);
        if (stamp?.instance !== instance) continue;
        add(this.#byLineage, stamp.lineage, { attempt: stamp.attempt, entry });
      }
    }
  }

  /**
   * Returns true if the listing shows the resumed run as failed again, by its run id or its stamp.
   *
   * @param newRunId id that the service gave the resumed run; after a lost response, the run may have kept its own
   */
  has(proposal: ResumeProposal, newRunId: string | undefined): boolean {
    const isReturn = (entry: WorkflowDlqEntry): boolean => mayBeReturn(proposal, entry.dlqId, entry.createdAt);
    const stamped = this.#byLineage.get(proposal.lineage) ?? [];
    return (
      this.#byRun.get(newRunId ?? proposal.workflowRunId)?.some(isReturn) === true ||
      stamped.some(({ attempt, entry }) => attempt >= proposal.attempt && isReturn(entry))
    );
  }

  /** Returns entries without a stamp that look like the resumed run, if no other entry did before. */
  lookalikes(proposal: ResumeProposal): readonly WorkflowDlqEntry[] {
    if (proposal.fingerprint === undefined) return [];
    const alike = this.#byFingerprint.get(proposal.fingerprint) ?? [];
    return alike.filter(
      ({ dlqId, createdAt, labels }) => mayBeReturn(proposal, dlqId, createdAt) && !labels.some(isStamp),
    );
  }

  /**
   * Returns the proposal with facts about the entries listed before it is sent: the other entries of its run, and the
   * fingerprint if it is unique.
   */
  notedIn(proposal: ResumeProposal): ResumeProposal {
    const { dlqId, lineage, workflowRunId, fingerprint, listedBefore = [], ...rest } = proposal;
    const alike = fingerprint === undefined ? [] : (this.#byFingerprint.get(fingerprint) ?? []);
    const isAlone = alike.every((entry) => entry.dlqId === dlqId);
    const ofRun = this.#byRun.get(workflowRunId) ?? [];
    const ofLineage = this.#byLineage.get(lineage)?.map(({ entry }) => entry) ?? [];
    const others = new Set([...listedBefore, ...[...ofRun, ...ofLineage].map((entry) => entry.dlqId)]);
    others.delete(dlqId);
    return {
      ...rest,
      dlqId,
      lineage,
      workflowRunId,
      fingerprint: isAlone ? fingerprint : undefined,
      listedBefore: others.size > 0 ? [...others] : undefined,
    };
  }
}

/** Almost every key has one value, and an empty array would reserve room for 17 at its first push. */
function add<V>(map: Map<string, V[]>, key: string, value: V): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}

/** Returns true if an entry can be the return of a resumed run: it failed later, and was not listed before. */
export function mayBeReturn({ failedAt, listedBefore }: ResumeProposal, dlqId: string, createdAt: number): boolean {
  return createdAt > failedAt && listedBefore?.includes(dlqId) !== true;
}

/**
 * Returns `notedIn` for some proposals of a listing, before they are sent. Only the entries that may concern one of them
 * are indexed, because a listing has many entries.
 */
export function notesOf(
  proposals: readonly (ResumeProposal | WorkflowDeleteProposal)[],
  entries: readonly WorkflowDlqEntry[],
  instance: string,
) {
  const resumes = proposals.filter((one): one is ResumeProposal => one.action === 'workflow-dlq.resume');
  const runs = new Set(resumes.map(({ workflowRunId }) => workflowRunId));
  const lineages = new Set(resumes.map(({ lineage }) => lineage));
  const fingerprints = new Set(resumes.flatMap(({ fingerprint }) => fingerprint ?? []));
  const isConcerned = ({ workflowRunId, fingerprint, labels }: WorkflowDlqEntry): boolean =>
    runs.has(workflowRunId) ||
    (fingerprint !== undefined && fingerprints.has(fingerprint)) ||
    labels.some((label) => isStamp(label) && lineages.has(parseStamp(label)?.lineage ?? ''));
  const listed = new Returns(entries.filter(isConcerned), instance);
  return (proposal: (typeof proposals)[number]) =>
    proposal.action === 'workflow-dlq.resume' ? listed.notedIn(proposal) : proposal;
}

const cached = new WeakMap<readonly WorkflowDlqEntry[], Returns>();

/** Returns the index of a batch's rows, built once. */
export function returnsIn(rows: readonly WorkflowDlqEntry[] = [], instance: string): Returns {
  let found = cached.get(rows);
  if (found === undefined) cached.set(rows, (found = new Returns(rows, instance)));
  return found;
}

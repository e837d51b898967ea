/**
 * The port through which the fold of the workflow DLQ keeps its state: which runs are known and whether they were
 * counted in and out. A commit is one transaction: what it counts and the runs it counted are durable together or not
 * at all, so a `kill -9` neither loses nor doubles a run.
 */
import type { HistogramIncrement, Increment } from './totals.ts';

/** Times are epoch milliseconds. */
export interface KnownRun {
  readonly dlqId: string;
  /** The label it was counted under. */
  readonly workflow: string;
  readonly createdAt: number;
  /** What it can be asked for by; unknown of runs that an earlier version of the store took up. */
  readonly workflowRunId?: string;
  /** When it was last known to be there; only of a run that the whole listing before did not show. */
  readonly missedSince?: number;
  /** When it was counted as left; it is remembered for a while, so that it is never counted twice. */
  readonly leftAt?: number;
}

export interface WorkflowDlqCommit {
  readonly account: string;
  /** When a whole listing ended, all of whose rows were understood. */
  readonly listedAt?: number;
  readonly increments: readonly Increment[];
  readonly histograms: readonly HistogramIncrement[];
  /** Runs that are new, or known in another way than before. */
  readonly changed: readonly KnownRun[];
  /** Ids that need no longer be remembered. */
  readonly forgotten: readonly string[];
}

/** What is known of an account; it changes after a commit, and is the same as what the store has. */
export class WorkflowDlqMemory {
  listedAt: number | undefined;
  readonly runs = new Map<string, KnownRun>();
  /** Workflows whose counters exist. */
  readonly workflows = new Set<string>();

  /** Takes over what was committed. */
  remember({ listedAt, changed, forgotten }: WorkflowDlqCommit): void {
    if (listedAt !== undefined) this.listedAt = listedAt;
    for (const run of changed) {
      this.runs.set(run.dlqId, run);
      this.workflows.add(run.workflow);
    }
    for (const dlqId of forgotten) this.runs.delete(dlqId);
  }
}

export interface WorkflowDlqFoldStore {
  /** What is remembered for an account; its owner is the store. */
  memory(account: string): WorkflowDlqMemory;
  /** @throws {Error} when it cannot be written; then nothing of it is */
  commitWorkflowDlq(commit: WorkflowDlqCommit): void;
}

/**
 * Port for the state of the workflow DLQ aggregation: the known runs, and whether each was counted in and out. A commit is one
 * transaction: the counts and the counted runs become durable together or not at all. A `kill -9` neither loses a run
 * nor counts one twice.
 */
import type { HistogramIncrement, Increment } from './totals.ts';

/** Run in the workflow DLQ. Times are epoch milliseconds. */
export interface KnownRun {
  readonly dlqId: string;
  /** Label that the run was counted under. */
  readonly workflow: string;
  readonly createdAt: number;
  /** Id to request the run by. */
  readonly workflowRunId: string;
  /**
   * Time when the run was last known to be in the DLQ. Set only if the previous complete listing did not have the run.
   */
  readonly missedSince?: number;
  /** Time when the run was counted out. The run is remembered for a while, so that it is never counted twice. */
  readonly leftAt?: number;
}

export interface WorkflowDlqCommit {
  readonly account: string;
  /** End of a complete listing whose rows could all be parsed. */
  readonly listedAt?: number;
  readonly increments: readonly Increment[];
  readonly histograms: readonly HistogramIncrement[];
  /** Runs that are new or changed. */
  readonly changed: readonly KnownRun[];
  /** Ids that can be forgotten. */
  readonly forgotten: readonly string[];
}

/**
 * State in memory of an account. It changes after a commit and equals the stored state, except for the time of the listing
 * while there are no runs.
 */
export class WorkflowDlqMemory {
  listedAt: number | undefined;
  readonly runs = new Map<string, KnownRun>();
  /** Workflows whose counters exist. */
  readonly workflows = new Set<string>();

  /** Applies a commit to the memory. */
  remember({ listedAt, changed, forgotten }: WorkflowDlqCommit): void {
    if (listedAt !== undefined) this.listedAt = listedAt;
    for (const run of changed) {
      this.runs.set(run.dlqId, run);
      this.workflows.add(run.workflow);
    }
    for (const dlqId of forgotten) this.runs.delete(dlqId);
  }
}

export interface WorkflowDlqAggregationStore {
  /** Returns the state in memory of an account. The store owns it. */
  memory(account: string): Promise<WorkflowDlqMemory>;
  /**
   * Decides on a commit and writes it, after the account's earlier commits: no run is counted twice. Rejects if the
   * write fails; nothing is written then.
   *
   * @param decide returns the commit, from the state after the earlier ones; undefined: there is nothing to commit
   * @returns true if there was something to commit
   */
  commitWorkflowDlq(
    account: string,
    decide: (memory: WorkflowDlqMemory) => WorkflowDlqCommit | undefined,
  ): Promise<boolean>;
}

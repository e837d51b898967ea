/** The past actions on an entry, a run and its lineage. */
import type { ActionType } from '#foundation/domain/plan.ts';
import type { ActionRecord } from './intents.ts';

/** What is known of a run's repairs so far. */
export interface LineageHistory {
  readonly lineage: string;
  readonly attempts: number;
  readonly lastAttemptAt?: number;
}

/** Reads the past actions on an entry, a run and its lineage. */
export interface History {
  /** Whether an intent for this target stands that was not proven without effect. */
  isClaimed(account: string, target: string): boolean;
  /** What such an intent does to this entry; undefined when there is none. */
  actionOn(account: string, dlqId: string): ActionType | undefined;
  /** The history of the run that a resume of ours created under this id. */
  lineageOfRun(account: string, workflowRunId: string): LineageHistory | undefined;
  historyOf(account: string, lineage: string): LineageHistory;
  /** The entries that resumes of a lineage after `since` were sent for, but for those proven without effect. */
  resumesOf(
    account: string,
    lineage: string,
    since: number,
  ): readonly { readonly dlqId: string; readonly failedAt: number }[];
  /** The run that failed, of which a resume of ours made this one. */
  resumedFrom(account: string, workflowRunId: string): string | undefined;
  /** Acts on an entry or a run, newest first. */
  actionsOn(account: string | undefined, id: string): readonly ActionRecord[];
}

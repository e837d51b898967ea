/** History of an entry, a run and its lineage. */
import type { ActionType } from '#foundation/domain/plan.ts';
import type { ActionRecord } from './intents.ts';

/** Earlier repairs of a run. */
export interface LineageHistory {
  readonly lineage: string;
  readonly attempts: number;
  readonly lastAttemptAt?: number;
}

/** Reader of earlier actions on an entry, a run and its lineage. */
export interface History {
  /** Returns true if the target has an active claim: an intent that was not proven without effect. */
  isClaimed(account: string, target: string): boolean;
  /** Action of such an intent on this entry; undefined if there is none. */
  actionOn(account: string, dlqId: string): ActionType | undefined;
  /** History of the run that a resume by this daemon created under this id. */
  lineageOfRun(account: string, workflowRunId: string): LineageHistory | undefined;
  historyOf(account: string, lineage: string): LineageHistory;
  /** Entries of the resumes of a lineage after `since`, except resumes proven without effect. */
  resumesOf(
    account: string,
    lineage: string,
    since: number,
  ): readonly { readonly dlqId: string; readonly failedAt: number }[];
  /** Failed run that this daemon resumed as this run. */
  resumedFrom(account: string, workflowRunId: string): string | undefined;
  /** Actions on an entry or a run, newest first. */
  actionsOn(account: string | undefined, id: string): readonly ActionRecord[];
}

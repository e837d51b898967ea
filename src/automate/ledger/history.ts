/** History of entries, runs and their lineages. */
import type { CampaignStep } from '#foundation/domain/campaign.ts';
import type { ClaimKind } from '#foundation/domain/plan.ts';
import type { ActionRecord } from './intents.ts';

/** Earlier repairs of a run. */
export interface LineageHistory {
  readonly lineage: string;
  readonly attempts: number;
  readonly lastAttemptAt?: number;
}

/** Resume or republish of a lineage, except one that was proven without effect. */
export interface Resume {
  readonly dlqId: string;
  /** Epoch milliseconds of the failure. */
  readonly failedAt: number;
  /** Epoch milliseconds of the intent. */
  readonly at: number;
}

/** Reader of earlier actions, for many entries at once. An id without a result has no entry in a returned map. */
export interface History {
  /** Actions with an active claim on these targets: by an intent that was not proven without effect, or an operation. */
  claims(account: string, targets: Iterable<string>): Promise<ReadonlyMap<string, ClaimKind>>;
  /** Histories of the runs that this daemon acted on, or that its resumes created, under these ids. */
  lineagesOfRuns(account: string, workflowRunIds: Iterable<string>): Promise<ReadonlyMap<string, LineageHistory>>;
  /** Histories of the lineages with an attempt. It reads `lineages` to the end: the caller notes what it yields. */
  histories(account: string, lineages: Iterable<string>): Promise<ReadonlyMap<string, LineageHistory>>;
  resumes(account: string, lineages: Iterable<string>): Promise<ReadonlyMap<string, readonly Resume[]>>;
  /** Failed runs that this daemon resumed as these runs. */
  resumedFrom(account: string, workflowRunIds: Iterable<string>): Promise<ReadonlyMap<string, string>>;
  /** Steps of campaigns, oldest first: those of their newest 5,000 actions. */
  stepsOf(account: string, campaigns: readonly string[]): Promise<readonly CampaignStep[]>;
  /** Actions on entries or runs, newest first. */
  actionsOn(account: string | undefined, ids: Iterable<string>): Promise<readonly ActionRecord[]>;
}

/** Records of runs and actions, for pages and the API. */
import type { RunOutcome, Trigger } from '#foundation/domain/plan.ts';
import type { ActionRecord } from './intents.ts';

export interface RunRecord {
  readonly id: number;
  readonly policy: string;
  readonly account: string;
  readonly at: number;
  readonly trigger: Trigger;
  /** Id of the stored plan that it applies or that is pending; absent if there is none. */
  readonly planId?: string;
  readonly finishedAt?: number;
  readonly outcome?: RunOutcome;
  readonly matched?: number;
  readonly acted: number;
  readonly backlog?: number;
  readonly detail?: string;
}

/** Stored plan, and the period in which actions on its targets count, in epoch milliseconds, both inclusive. */
export interface PlanPeriod {
  readonly plan: string;
  readonly targets: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** Reader of runs and actions for display. */
export interface Reports {
  recentActions(limit: number): Promise<readonly ActionRecord[]>;
  /** Actions of a policy, oldest first; with a plan, those of its runs and those on its targets in a period. */
  actionsOf(policy: string, plan?: PlanPeriod): Promise<readonly ActionRecord[]>;
  action(id: number): Promise<ActionRecord | undefined>;
  runs(filter: { readonly policy?: string; readonly limit: number }): Promise<readonly RunRecord[]>;
  /** The newest runs of each of these policies, newest first. */
  recentRuns(policies: readonly string[], limit: number): Promise<readonly RunRecord[]>;
  /** The last run of each policy. */
  lastRuns(): Promise<readonly RunRecord[]>;
  /** Number of intents with unknown outcome, by policy. */
  unknownOutcomes(): Promise<ReadonlyMap<string, number>>;
}

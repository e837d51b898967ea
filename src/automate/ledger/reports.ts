/** Runs and actions as pages and the API show them. */
import type { RunOutcome, Trigger } from '#foundation/domain/plan.ts';
import type { ActionRecord } from './intents.ts';

export interface RunRecord {
  readonly id: number;
  readonly policy: string;
  readonly account: string;
  readonly at: number;
  readonly trigger: Trigger;
  readonly planId: string;
  readonly finishedAt?: number;
  readonly outcome?: RunOutcome;
  readonly matched: number;
  readonly acted: number;
  readonly backlog: number;
  readonly detail?: string;
}

/** Reads runs and actions for people. */
export interface Reports {
  recentActions(limit: number): readonly ActionRecord[];
  action(id: number): ActionRecord | undefined;
  runs(filter: { readonly policy?: string; readonly limit: number }): readonly RunRecord[];
  /** The last run of each policy. */
  lastRuns(): readonly RunRecord[];
  /** How many intents have an outcome that nobody knows yet, by policy. */
  unknownOutcomes(): ReadonlyMap<string, number>;
}

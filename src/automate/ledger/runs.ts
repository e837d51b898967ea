/** Runs of policies, and the state that a policy keeps between runs. */
import type { Plan, RunOutcome } from '#foundation/domain/plan.ts';
import type { RunRecord } from './reports.ts';

/** End of a run; `at` is its time. */
export interface RunEnd extends Pick<RunRecord, 'at' | 'planId' | 'matched' | 'acted' | 'backlog' | 'detail'> {
  readonly outcome: RunOutcome;
  /** Guard that stopped the run. */
  readonly stoppedBy?: string;
}

/** Storage of runs. */
export interface Runs {
  beginRun(plan: Plan, at: number): Promise<number>;
  finishRun(runId: number, account: string, end: RunEnd): Promise<void>;
  /** Stores a run that did nothing, after its end: one record in the audit log instead of two. */
  recordRun(plan: Plan, at: number, end: RunEnd): Promise<void>;
  /** Times of the last run since `since` that this guard stopped, by policy. */
  lastStops(guard: string, since: number): Promise<ReadonlyMap<string, number>>;
}

/** Storage of a policy's state between its runs. */
export interface PolicyMemory {
  /** Times when a delete policy first matched its entries. `noteMatches` records them, and forgets ended matches. */
  firstMatches(policy: string): Promise<ReadonlyMap<string, number>>;
  noteMatches(policy: PolicyPlace, dlqIds: readonly string[], at: number): Promise<void>;
  /** Versions of policies at their last run, by name. A policy that has not run has none. */
  policyVersions(policies: readonly string[]): Promise<ReadonlyMap<string, PolicyVersion>>;
  savePolicyVersion(policy: PolicyPlace, version: PolicyVersion): Promise<void>;
  /** Readings since which a policy's condition has been true without a break; saving undefined forgets them. */
  condition(policy: string): Promise<AgreeingReadings | undefined>;
  saveCondition(policy: PolicyPlace, condition: AgreeingReadings | undefined): Promise<void>;
}

/** Policy, and the account that its owner has a lease on. */
export interface PolicyPlace {
  readonly name: string;
  readonly account: string;
}

export interface PolicyVersion {
  readonly scope: Readonly<Record<string, unknown>>;
  /** Number of audit runs since the policy was new or widened. */
  readonly auditRuns: number;
}

/** Readings that agree. Times are epoch milliseconds. */
export interface AgreeingReadings {
  readonly since: number;
  readonly last: number;
  readonly readings: number;
}

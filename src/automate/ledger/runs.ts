/** Runs of policies, and the state that a policy keeps between runs. */
import type { Plan, RunOutcome } from '#foundation/domain/plan.ts';

/** Storage of runs. */
export interface Runs {
  beginRun(plan: Plan, at: number): number;
  finishRun(
    runId: number,
    result: {
      readonly at: number;
      readonly outcome: RunOutcome;
      readonly matched: number;
      readonly acted: number;
      readonly backlog: number;
      readonly detail?: string;
      /** Guard that stopped the run. */
      readonly stoppedBy?: string;
    },
  ): void;
  /** Policies that had a run stopped by this guard since `since`. */
  stoppedBy(guard: string, since: number): readonly string[];
}

/** Storage of a policy's state between its runs. */
export interface PolicyMemory {
  /** Time when a delete policy first matched an entry. `noteMatches` records it, and forgets it when the match ends. */
  firstMatchedAt(policy: string, dlqId: string): number | undefined;
  noteMatches(policy: string, dlqIds: readonly string[], at: number): void;
  /** Version of a policy at its last run, and the number of audit runs since it was new or widened. */
  policyVersion(
    policy: string,
  ): { readonly scope: Readonly<Record<string, unknown>>; readonly auditRuns: number } | undefined;
  savePolicyVersion(
    policy: string,
    version: { readonly scope: Readonly<Record<string, unknown>>; readonly auditRuns: number },
  ): void;
  /** Time since which a policy's condition has been true without a break; `since` undefined forgets it. */
  condition(policy: string): { readonly since: number; readonly last: number; readonly readings: number } | undefined;
  saveCondition(
    policy: string,
    condition: { readonly since: number; readonly last: number; readonly readings: number } | undefined,
  ): void;
}

/** Runs of policies, and what a policy remembers from one run to the next. */
import type { Plan, RunOutcome } from '#foundation/domain/plan.ts';

/** Records the runs of policies. */
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
      /** The guard that stopped it. */
      readonly stoppedBy?: string;
    },
  ): void;
  /** Policies of which a run was stopped by this guard, since `since`. */
  stoppedBy(guard: string, since: number): readonly string[];
}

/** Remembers the state of a policy between its runs. */
export interface PolicyMemory {
  /** When a delete policy first matched an entry; recorded by `noteMatches`, forgotten when it no longer matches. */
  firstMatchedAt(policy: string, dlqId: string): number | undefined;
  noteMatches(policy: string, dlqIds: readonly string[], at: number): void;
  /** What a policy was when it last ran, and the audit runs it has made since it was new or widened. */
  policyVersion(
    policy: string,
  ): { readonly scope: Readonly<Record<string, unknown>>; readonly auditRuns: number } | undefined;
  savePolicyVersion(
    policy: string,
    version: { readonly scope: Readonly<Record<string, unknown>>; readonly auditRuns: number },
  ): void;
  /** When a policy's condition was first found true without a break; `since` undefined forgets it. */
  condition(policy: string): { readonly since: number; readonly last: number; readonly readings: number } | undefined;
  saveCondition(
    policy: string,
    condition: { readonly since: number; readonly last: number; readonly readings: number } | undefined,
  ): void;
}

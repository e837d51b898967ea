/**
 * Facts that expressions can call, in addition to the entry: values at the time of the run, resolved once for each run.
 * Undefined means unknown, and a precondition on an unknown fact holds the run.
 */

import type { CanaryVerdict } from '#foundation/domain/canary.ts';

/** Facts about one account. Durations are in milliseconds. */
export interface PreconditionFacts {
  /** Share of delivered messages among all that ended, by the destination's host. */
  successRatio(host: string, windowMs: number): number | undefined;
  sampleSize(host: string, windowMs: number): number | undefined;
  /** Number of runs with this label that entered the workflow DLQ. */
  arrivals(label: string, windowMs: number): number | undefined;
  alertFiring(name: string): boolean | undefined;
  flowWaiting(key: string): number | undefined;
  flowPaused(key: string): boolean | undefined;
  dlqMessages(): number | undefined;
  dlqFillRatio(): number | undefined;
  /** Verdict of a canary of the account. */
  canary(name: string): CanaryVerdict | undefined;
  /** True if the tripwire stopped any policy whose name matches the glob. */
  policyTripped(glob: string, windowMs: number): boolean | undefined;
}

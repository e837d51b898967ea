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

/** `spend` and `budget` of an expression about the budget. Absent fields are unknown. */
export interface BudgetFacts {
  readonly monthUsd?: number;
  readonly last24hUsd?: number;
  /** Spend of the 24 hours before. */
  readonly dayBeforeUsd?: number;
  /** Median of the last 14 days; absent with less than 3 days of recorded history. */
  readonly medianDayUsd?: number;
  readonly forecastMonthUsd?: number;
  readonly hoursLeft?: number;
  /** True if the statistics are within their collector's staleness limit. */
  readonly fresh: boolean;
  /** Epoch milliseconds of the reading. */
  readonly at?: number;
  /** Messages of the last day: all, and those caused by this daemon's own actions. */
  readonly messagesLastDay?: number;
  readonly ownMessagesLastDay?: number;
}

/** Asserted or known budget: no operation reads it. */
export interface KnownBudget {
  readonly knownUsd: number;
  readonly origin: 'configuration' | 'ledger';
  /** Epoch milliseconds. */
  readonly assertedAt: number;
  /** Milliseconds after which the value is too old to act on. */
  readonly maxAgeMs: number;
}

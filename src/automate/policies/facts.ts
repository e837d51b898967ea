/**
 * What expressions may ask beside the entry: answers of the moment, resolved once a run. Undefined is "not known", and
 * a precondition on what is not known holds.
 */

/** Facts of one account. Durations are milliseconds. */
export interface PreconditionFacts {
  /** Share of delivered messages among those that ended, by host of the destination. */
  successRatio(host: string, windowMs: number): number | undefined;
  sampleSize(host: string, windowMs: number): number | undefined;
  /** Runs with this label that entered the workflow DLQ. */
  arrivals(label: string, windowMs: number): number | undefined;
  alertFiring(name: string): boolean | undefined;
  flowWaiting(key: string): number | undefined;
  flowPaused(key: string): boolean | undefined;
  dlqMessages(): number | undefined;
  dlqFillRatio(): number | undefined;
  /** Whether any policy whose name fits the glob was stopped by its tripwire. */
  policyTripped(glob: string, windowMs: number): boolean | undefined;
}

/** `spend` and `budget` of an expression over the budget; absent fields are unknown. */
export interface BudgetFacts {
  readonly monthUsd?: number;
  readonly last24hUsd?: number;
  /** Of the last 14 days; absent under 3 days of own history. */
  readonly medianDayUsd?: number;
  readonly forecastMonthUsd?: number;
  readonly hoursLeft?: number;
  /** The statistics are not older than their collector's staleness. */
  readonly fresh: boolean;
  /** Epoch milliseconds of the reading. */
  readonly at?: number;
  /** Messages of the last day, and those that this daemon's own acts caused. */
  readonly messagesLastDay?: number;
  readonly ownMessagesLastDay?: number;
}

/** What is asserted or known of the budget: no operation reads it. */
export interface KnownBudget {
  readonly knownUsd: number;
  readonly origin: 'configuration' | 'ledger';
  /** Epoch milliseconds. */
  readonly assertedAt: number;
  /** Milliseconds after which the knowledge is too old to act on. */
  readonly maxAgeMs: number;
}

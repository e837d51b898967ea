/**
 * Totals that only grow, kept in the store: counters and histograms by metric name and label values. Each aggregation adds to
 * them in its own transaction, together with its position. The registry mirrors them.
 */

import type { CounterName, HistogramName } from '../catalog/catalog.ts';

/** Label of values that lost their place, in totals that are stored and not exported. No cleaned label equals it. */
export const RETIRED = '\0retired';

/** Account name of the daemon itself. No account has this name. */
export const OWN = '';

/** Increase of a counter. Labels are in the order of the catalog's label names, without `account`. */
export interface Increment {
  readonly metric: CounterName;
  readonly labels: readonly string[];
  readonly by: number;
}

/** Observations to add to a histogram. */
export interface HistogramIncrement {
  readonly metric: HistogramName;
  readonly labels: readonly string[];
  /** Observations of each bucket, not cumulative. One more than the catalog's bounds, for values above all bounds. */
  readonly buckets: readonly number[];
  readonly sum: number;
  /** Message that fell into the bucket, at most one per bucket. Not stored. */
  readonly exemplars?: readonly (Exemplar | undefined)[];
}

interface Exemplar {
  readonly messageId: string;
  readonly value: number;
  /** Epoch milliseconds of the observation. */
  readonly at: number;
}

export interface CounterValue {
  /** Name as stored. An earlier version may have written a name that the catalog no longer has. */
  readonly metric: string;
  readonly labels: readonly string[];
  readonly value: number;
}

export interface HistogramValue extends Omit<HistogramIncrement, 'metric' | 'exemplars'> {
  /** Name as stored. */
  readonly metric: string;
}

/** Increases of one commit. */
export interface TotalsAdded {
  readonly account: string;
  readonly increments: readonly Increment[];
  readonly histograms: readonly HistogramIncrement[];
  /** Counters that an operator has reset to 0. */
  readonly reset?: readonly Omit<CounterValue, 'value'>[];
}

/** Totals of an account as read, and what is added to them from then on. */
export interface TotalsFeed extends Disposable {
  readonly counters: readonly CounterValue[];
  readonly histograms: readonly HistogramValue[];
  /** Reports each commit since the reading: earlier ones now, later ones as they happen. Call it once. */
  onAdded(listener: (added: TotalsAdded) => void): void;
}

export interface TotalsStore {
  /** Reads all totals of an account, and follows its commits. */
  follow(account: string): Promise<TotalsFeed>;
  /** Adds to counters, durably. Rejects if the write fails; nothing is written then. */
  add(account: string, increments: readonly Increment[]): Promise<void>;
}

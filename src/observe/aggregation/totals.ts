/**
 * Totals that only grow, kept in the store: counters and histograms by metric name and label values. Every fold adds to
 * them in its own transaction, together with how far it has come; the registry mirrors them.
 */

import type { CounterName, HistogramName } from '../catalog/catalog.ts';

/**
 * Stands for values that lost their place, in totals that are kept and not shown. No cleaned label reads like this.
 */
export const RETIRED = '\0retired';

/** Stands for the daemon itself where an account would: no account has this name. */
export const OWN = '';

/** A counter's increase; labels in the order of the catalogue's label names, without `account`. */
export interface Increment {
  readonly metric: CounterName;
  readonly labels: readonly string[];
  readonly by: number;
}

/** What fell into a histogram. */
export interface HistogramIncrement {
  readonly metric: HistogramName;
  readonly labels: readonly string[];
  /** Observations in each bucket, not cumulated; one more than the catalogue has bounds, for what exceeds them all. */
  readonly buckets: readonly number[];
  readonly sum: number;
  /** At most one for each bucket: a message that fell into it. Not kept in the store. */
  readonly exemplars?: readonly (Exemplar | undefined)[];
}

interface Exemplar {
  readonly messageId: string;
  readonly value: number;
  /** Epoch milliseconds of the observation. */
  readonly at: number;
}

export interface CounterValue {
  /** As stored: an earlier version may have written a name that the catalog no longer has. */
  readonly metric: string;
  readonly labels: readonly string[];
  readonly value: number;
}

export interface HistogramValue {
  /** As stored. */
  readonly metric: string;
  readonly labels: readonly string[];
  readonly buckets: readonly number[];
  readonly sum: number;
}

/** What one commit added. */
export interface TotalsAdded {
  readonly account: string;
  readonly increments: readonly Increment[];
  readonly histograms: readonly HistogramIncrement[];
}

export interface TotalsStore {
  /** All counters of an account. */
  counters(account: string): readonly CounterValue[];
  /** All histograms of an account. */
  histograms(account: string): readonly HistogramValue[];
  /**
   * Adds to counters, durably.
   *
   * @throws {Error} when it cannot be written; then nothing of it is
   */
  add(account: string, increments: readonly Increment[]): void;
  /** Told after each commit that added something. */
  onAdded(listener: (added: TotalsAdded) => void): Disposable;
}

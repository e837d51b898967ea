/**
 * Port that stores which label values are exported under their own name. A restart does not change the selection: the
 * first values seen keep their place.
 */
import type { MetricName } from '../catalog/catalog.ts';

export interface LabelValue {
  readonly account: string;
  readonly label: string;
  readonly value: string;
  /** Milliseconds of looking for the value without seeing it. */
  readonly idleMs: number;
}

/** Label value that loses its place. */
export interface EvictedValue {
  readonly label: string;
  readonly value: string;
  /** Totals that have this label, and its position among their labels. */
  readonly totals: readonly { readonly metric: MetricName; readonly index: number }[];
}

export interface LabelStore {
  /** Returns all values, in the order of their first appearance. */
  load(): Promise<readonly LabelValue[]>;
  /** Writes values that are new or whose idle time changed. */
  save(values: readonly LabelValue[]): Promise<void>;
  /**
   * Forgets values of an account and retires their totals (`RETIRED` in totals.ts), in one transaction. A value that
   * returns counts from 0, as a new one does. Its earlier counts are neither lost nor counted under another name.
   *
   * @param evicted called after the commit, before anything more is counted for the account
   */
  evict(account: string, values: readonly EvictedValue[], evicted: () => void): Promise<void>;
}

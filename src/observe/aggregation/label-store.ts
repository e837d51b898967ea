/**
 * The port that keeps which label values have a place of their own in the metrics, so that a restart does not reshuffle
 * them: the first come stay the first.
 */
import type { MetricName } from '../catalog/catalog.ts';

export interface LabelValue {
  readonly account: string;
  readonly label: string;
  readonly value: string;
  /** For how long it has been looked for and not seen, milliseconds. */
  readonly idleMs: number;
}

/** A value that loses its place. */
export interface EvictedValue {
  readonly account: string;
  readonly label: string;
  readonly value: string;
  /** Totals that have this label, and where among their labels it stands. */
  readonly totals: readonly { readonly metric: MetricName; readonly index: number }[];
}

export interface LabelStore {
  /** All of them, in the order in which they came. */
  load(): readonly LabelValue[];
  /** Writes values that are new, or have another idle time. */
  save(values: readonly LabelValue[]): void;
  /**
   * Forgets values and retires their totals (`RETIRED` in totals.ts), all in one transaction: a value that comes back
   * counts from 0, as any new one, and what was counted of it is neither lost nor counted under another name.
   */
  evict(values: readonly EvictedValue[]): void;
}

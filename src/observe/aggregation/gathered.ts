/** Collects the observations of a histogram during a commit. */
import { specOf, type HistogramName } from '../catalog/catalog.ts';
import type { HistogramIncrement } from './totals.ts';

export interface Observed {
  readonly messageId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Observations of one histogram and label set during a commit. */
export class Gathered {
  readonly #metric: HistogramName;
  readonly #bounds: readonly number[];
  readonly #scale: number;
  readonly #buckets: number[];
  readonly #exemplars: ((Observed & { readonly amount: number }) | undefined)[];
  #sum = 0;

  constructor(metric: HistogramName) {
    this.#metric = metric;
    const { unit, buckets } = specOf(metric);
    this.#scale = unit === 'seconds' ? 1_000 : 1;
    this.#bounds = buckets!;
    this.#buckets = this.#bounds.map(() => 0);
    this.#buckets.push(0);
    this.#exemplars = this.#buckets.map(() => undefined);
  }

  /** @param amount milliseconds or a count; sums of integers stay exact */
  observe(amount: number, observed?: Observed): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && amount > bounds[bucket]! * this.#scale) bucket += 1;
    this.#buckets[bucket]! += 1;
    this.#sum += amount;
    if (observed === undefined) return;
    const { messageId, at } = observed;
    this.#exemplars[bucket] = { messageId, amount, at };
  }

  increment(labels: readonly string[]): HistogramIncrement {
    return {
      metric: this.#metric,
      labels,
      buckets: this.#buckets,
      sum: this.#sum / this.#scale,
      exemplars: this.#exemplars.map(
        (taken) => taken && { messageId: taken.messageId, value: taken.amount / this.#scale, at: taken.at },
      ),
    };
  }
}

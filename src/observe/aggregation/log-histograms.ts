/** The histograms that the log fold adds to, with their upper bounds, and how a commit gathers what falls into them. */
import type { HistogramIncrement } from './totals.ts';

/** Seconds, save for the attempts, which are a number. */
export const LOG_BUCKETS = {
  msgsvc_message_delivery_duration_seconds: [
    0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400,
  ],
  msgsvc_message_attempt_duration_seconds: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900],
  msgsvc_message_queue_wait_seconds: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600],
  msgsvc_message_delivery_attempts: [1, 2, 3, 4, 6, 11],
  msgsvc_message_retry_delay_seconds: [1, 5, 15, 60, 300, 1_800, 7_200, 21_600, 86_400],
} as const;

export type LogHistogram = keyof typeof LOG_BUCKETS;

export interface Observed {
  readonly messageId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What falls into one histogram of one label set during a commit. */
export class Gathered {
  readonly #metric: LogHistogram;
  readonly #bounds: readonly number[];
  readonly #scale: number;
  readonly #buckets: number[];
  readonly #exemplars: ({ readonly messageId: string; readonly amount: number; readonly at: number } | undefined)[];
  #sum = 0;

  constructor(metric: LogHistogram) {
    this.#metric = metric;
    this.#scale = metric.endsWith('_seconds') ? 1_000 : 1;
    this.#bounds = LOG_BUCKETS[metric];
    this.#buckets = this.#bounds.map(() => 0);
    this.#buckets.push(0);
    this.#exemplars = this.#buckets.map(() => undefined);
  }

  /** @param amount milliseconds, or a number; sums of whole numbers stay exact */
  observe(amount: number, { messageId, at }: Observed): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && amount > bounds[bucket]! * this.#scale) bucket += 1;
    this.#buckets[bucket]! += 1;
    this.#sum += amount;
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

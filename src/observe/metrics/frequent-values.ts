/**
 * Finds the most frequent values of a stream in bounded memory (space-saving). A new value replaces the rarest one and
 * inherits its count. A count is at most `over` too high and never too low. Each value with more than one part in
 * `capacity` of the stream is in the table.
 */

export interface Frequent {
  readonly value: string;
  readonly count: number;
  /** Part of the count that may belong to other values. */
  readonly over: number;
}

export class FrequentValues {
  readonly #capacity: number;
  readonly #counts = new Map<string, { count: number; over: number }>();
  #total = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Returns the sum of all added weights, including those of values not kept. */
  get total(): number {
    return this.#total;
  }

  add(value: string, weight: number): void {
    if (weight <= 0) return;
    this.#total += weight;
    const known = this.#counts.get(value);
    if (known !== undefined) {
      known.count += weight;
      return;
    }
    let over = 0;
    if (this.#counts.size >= this.#capacity) {
      const [rarest, { count }] = [...this.#counts].reduce((a, b) => (b[1].count < a[1].count ? b : a));
      this.#counts.delete(rarest);
      over = count;
    }
    this.#counts.set(value, { count: over + weight, over });
  }

  /** Returns the most frequent values, most frequent first. */
  largest(most: number): readonly Frequent[] {
    return [...this.#counts]
      .map(([value, counts]) => ({ value, ...counts }))
      .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
      .slice(0, most);
  }
}

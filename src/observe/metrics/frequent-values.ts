/**
 * The most frequent of a stream of values, in bounded memory (space-saving): a value that is new takes the place of the
 * rarest and its count. A count is at most `over` too high and never too low, and whatever makes up more than one part
 * in `capacity` of the stream is in the table.
 */

export interface Frequent {
  readonly value: string;
  readonly count: number;
  /** How much of the count may be another value's. */
  readonly over: number;
}

export class FrequentValues {
  readonly #capacity: number;
  readonly #counts = new Map<string, { count: number; over: number }>();
  #total = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Of all that was added, kept or not. */
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

  /** The most frequent first. */
  largest(most: number): readonly Frequent[] {
    return [...this.#counts]
      .map(([value, counts]) => ({ value, ...counts }))
      .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
      .slice(0, most);
  }
}

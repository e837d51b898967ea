/** Totals in memory, which the registry mirrors, without a store. */
import type {
  CounterValue,
  HistogramIncrement,
  HistogramValue,
  Increment,
  TotalsAdded,
  TotalsStore,
} from '#observe/aggregation/totals.ts';

export class MemoryTotals implements TotalsStore {
  readonly #counters = new Map<string, Map<string, CounterValue>>();
  readonly #histograms = new Map<string, Map<string, HistogramValue>>();
  readonly #listeners = new Set<(added: TotalsAdded) => void>();
  /** Number of complete reads. */
  reads = 0;
  /** Error of reads, as with an unreadable store. */
  broken: Error | undefined;

  add(account: string, increments: readonly Increment[], histograms: readonly HistogramIncrement[] = []): void {
    const counters = ofAccount(this.#counters, account);
    for (const { metric, labels, by } of increments) {
      const key = JSON.stringify([metric, labels]);
      counters.set(key, { metric, labels, value: (counters.get(key)?.value ?? 0) + by });
    }
    const shapes = ofAccount(this.#histograms, account);
    for (const { metric, labels, buckets, sum } of histograms) {
      const key = JSON.stringify([metric, labels]);
      const before = shapes.get(key);
      const after = buckets.map((count, index) => count + (before?.buckets[index] ?? 0));
      shapes.set(key, { metric, labels, buckets: after, sum: sum + (before?.sum ?? 0) });
    }
    for (const listener of this.#listeners) listener({ account, increments, histograms });
  }

  counters(account: string): readonly CounterValue[] {
    this.#read();
    return [...ofAccount(this.#counters, account).values()];
  }

  histograms(account: string): readonly HistogramValue[] {
    this.#read();
    return [...ofAccount(this.#histograms, account).values()];
  }

  onAdded(listener: (added: TotalsAdded) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #read(): void {
    this.reads += 1;
    if (this.broken !== undefined) throw this.broken;
  }
}

function ofAccount<V>(map: Map<string, Map<string, V>>, account: string): Map<string, V> {
  let values = map.get(account);
  if (values === undefined) map.set(account, (values = new Map()));
  return values;
}

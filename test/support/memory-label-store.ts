import type { EvictedValue, LabelStore, LabelValue } from '#observe/aggregation/label-store.ts';
import { createLabelStore } from '#storage/sqlite-label-store.ts';
import { createTotals } from '#storage/sqlite-totals.ts';
import { memoryStore } from './memory-store.ts';

/** The label values of the store over a database in memory. Records evictions, and fails writes on request. */
export class MemoryLabelStore implements LabelStore {
  readonly #store: LabelStore;
  readonly evicted: EvictedValue[] = [];
  /** Error of writes, as with a full disk. */
  broken: Error | undefined;

  constructor(values: readonly LabelValue[] = []) {
    const store = memoryStore();
    this.#store = createLabelStore(store, createTotals(store));
    this.save(values);
  }

  load(): readonly LabelValue[] {
    return this.#store.load();
  }

  save(values: readonly LabelValue[]): void {
    if (this.broken !== undefined) throw this.broken;
    this.#store.save(values);
  }

  evict(values: readonly EvictedValue[]): void {
    if (this.broken !== undefined) throw this.broken;
    this.#store.evict(values);
    this.evicted.push(...values);
  }
}

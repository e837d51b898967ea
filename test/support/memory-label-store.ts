/** Places of label values in memory, with the behavior of a store on disk. */
import type { EvictedValue, LabelStore, LabelValue } from '#observe/aggregation/label-store.ts';

export class MemoryLabelStore implements LabelStore {
  readonly #values = new Map<string, LabelValue>();
  readonly evicted: EvictedValue[] = [];
  /** Error of writes, as with a full disk. */
  broken: Error | undefined;

  constructor(values: readonly LabelValue[] = []) {
    this.save(values);
  }

  load(): readonly LabelValue[] {
    return [...this.#values.values()];
  }

  save(values: readonly LabelValue[]): void {
    if (this.broken !== undefined) throw this.broken;
    for (const value of values) this.#values.set(keyOf(value), value);
  }

  evict(values: readonly EvictedValue[]): void {
    if (this.broken !== undefined) throw this.broken;
    for (const value of values) this.#values.delete(keyOf(value));
    this.evicted.push(...values);
  }
}

function keyOf({ account, label, value }: Pick<LabelValue, 'account' | 'label' | 'value'>): string {
  return JSON.stringify([account, label, value]);
}

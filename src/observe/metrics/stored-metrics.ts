/** State of the metrics in the store, read before they start. */
import type { LabelStore, LabelValue } from '../aggregation/label-store.ts';
import { OWN, type TotalsFeed, type TotalsStore } from '../aggregation/totals.ts';

export interface StoredMetrics extends Disposable {
  /** Label values that have a place, in the order of their first appearance. */
  readonly labels: readonly LabelValue[];
  /** Totals by account. An account that could not be read is missing. */
  readonly totals: ReadonlyMap<string, TotalsFeed>;
}

interface MetricsStores {
  readonly labels: Pick<LabelStore, 'load'>;
  readonly totals: Pick<TotalsStore, 'follow'>;
}

/** Rejects if the label values cannot be read. */
export async function loadMetrics(
  { labels, totals }: MetricsStores,
  accounts: readonly { readonly name: string }[],
): Promise<StoredMetrics> {
  const stored = await labels.load();
  const feeds = new Map<string, TotalsFeed>();
  await Promise.allSettled(
    [OWN, ...accounts.map(({ name }) => name)].map(async (name) => feeds.set(name, await totals.follow(name))),
  );
  return {
    labels: stored,
    totals: feeds,
    [Symbol.dispose]() {
      for (const feed of feeds.values()) feed[Symbol.dispose]();
    },
  };
}

/** Totals of a store, read without its port. */
import type { CounterValue, HistogramValue } from '#observe/aggregation/totals.ts';
import type { Store } from '#storage/sqlite.ts';

export function storedCounters({ db }: Pick<Store, 'db'>, account: string): CounterValue[] {
  const rows = db.prepare('SELECT metric, labels, value FROM counters WHERE account = ? ORDER BY metric, labels');
  return rows.all(account).map(({ metric, labels, value }) => ({
    metric: String(metric),
    labels: JSON.parse(String(labels)) as string[],
    value: Number(value),
  }));
}

export function storedHistograms({ db }: Pick<Store, 'db'>, account: string): HistogramValue[] {
  const rows = db.prepare(
    'SELECT metric, labels, buckets, sum FROM histograms WHERE account = ? ORDER BY metric, labels',
  );
  return rows.all(account).map(({ metric, labels, buckets, sum }) => ({
    metric: String(metric),
    labels: JSON.parse(String(labels)) as string[],
    buckets: JSON.parse(String(buckets)) as number[],
    sum: Number(sum),
  }));
}

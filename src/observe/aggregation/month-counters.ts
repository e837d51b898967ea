/** Counters of monthly totals: the billing of the account, and four totals of each vector index. Pure. */
import type { AccountStats, VectorStats } from '#foundation/domain/statistics.ts';
import { monthOf } from '#foundation/domain/utc-month.ts';
import type { CounterName } from '../catalog/catalog.ts';
import { aggregateMonth, type MonthReading } from './month-total.ts';
import { readMonth, writeMonth } from './series-record.ts';
import type { SeriesRecord } from './series-store.ts';
import type { Increment } from './totals.ts';

export interface MonthCount {
  readonly increments: readonly Increment[];
  readonly record: string;
}

function countMonth(
  record: string | undefined,
  reading: MonthReading,
  { metric, labels, source }: Omit<Increment, 'by'> & { readonly source: string },
): MonthCount {
  const before = readMonth(record);
  const { state, increase, corrected } = aggregateMonth(before, reading);
  const isFirst = before === undefined;
  const increments: Increment[] = [];
  if (isFirst || increase > 0) increments.push({ metric, labels, by: increase });
  if (isFirst || corrected) {
    increments.push({ metric: 'opsd_stats_corrections_total', labels: [source], by: corrected ? 1 : 0 });
  }
  return { increments, record: writeMonth(state) };
}

/**
 * Counts billing across days and months. The daily array shows the month of the response and whether the total has been
 * reset. Billing figures lag: for a while after the turn of the month, the total may still be the previous month's.
 *
 * @returns undefined if the response has no billing
 */
export function aggregateBilling(
  record: string | undefined,
  { monthBillingUsd, dailyBillings }: AccountStats,
  servedAt: number,
): MonthCount | undefined {
  const ofDays = dailyBillings?.reduce((sum, { value }) => sum + Math.max(0, value), 0);
  const value = monthBillingUsd ?? ofDays;
  if (!isAmount(value)) return undefined;
  const state = readMonth(record);
  const first = dailyBillings?.[0];
  let month = first === undefined ? undefined : monthOf(first.at);
  if (state !== undefined && month !== undefined && month > state.month && ofDays !== undefined) {
    // The total has not fallen, and it exceeds the sum of the new month's days. It has not been reset yet.
    const hasTurned = value < state.value || value <= ofDays * 1.5;
    if (!hasTurned) month = state.month;
  }
  const metric = 'msgsvc_account_billing_dollars_total';
  return countMonth(record, { value, at: servedAt, month }, { metric, labels: [], source: 'billing' });
}

const INDEX_TOTALS: readonly (readonly [source: string, metric: CounterName, of: keyof VectorStats])[] = [
  ['vector_queries', 'msgsvc_vector_index_queries_total', 'monthQueries'],
  ['vector_updates', 'msgsvc_vector_index_updates_total', 'monthUpdates'],
  ['vector_reranks', 'msgsvc_vector_index_reranks_total', 'monthReranks'],
  ['vector_bandwidth', 'msgsvc_vector_index_bandwidth_bytes_total', 'monthBandwidthBytes'],
];

export function aggregateIndex(
  records: readonly SeriesRecord[],
  stats: VectorStats,
  servedAt: number,
): { readonly increments: readonly Increment[]; readonly records: readonly SeriesRecord[] } {
  const { index: subject } = stats;
  const counts = INDEX_TOTALS.flatMap(([source, metric, of]) => {
    const value = stats[of];
    if (!isAmount(value)) return [];
    const { record } = records.find((known) => known.subject === subject && known.source === source) ?? {};
    return [{ source, ...countMonth(record, { value, at: servedAt }, { metric, labels: [subject], source }) }];
  });
  return {
    increments: counts.flatMap(({ increments }) => increments),
    records: counts.map(({ source, record }) => ({ subject, source, series: '', record })),
  };
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

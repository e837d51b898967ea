/** Aggregates the monthly totals of a vector index into counters. Pure. */
import type { VectorStats } from '#foundation/domain/statistics.ts';
import type { CounterName } from '../catalog/catalog.ts';
import { aggregateMonth } from './month-total.ts';
import { readMonth, writeMonth } from './series-record.ts';
import type { SeriesRecord } from './series-store.ts';
import type { Increment } from './totals.ts';

const SOURCES: readonly {
  readonly source: string;
  readonly metric: CounterName;
  readonly of: (stats: VectorStats) => number | undefined;
}[] = [
  { source: 'vector_queries', metric: 'msgsvc_vector_index_queries_total', of: ({ monthQueries }) => monthQueries },
  { source: 'vector_updates', metric: 'msgsvc_vector_index_updates_total', of: ({ monthUpdates }) => monthUpdates },
  { source: 'vector_reranks', metric: 'msgsvc_vector_index_reranks_total', of: ({ monthReranks }) => monthReranks },
  {
    source: 'vector_bandwidth',
    metric: 'msgsvc_vector_index_bandwidth_bytes_total',
    of: ({ monthBandwidthBytes }) => monthBandwidthBytes,
  },
];

export function aggregateIndex(
  records: readonly SeriesRecord[],
  stats: VectorStats,
  servedAt: number,
): { readonly increments: readonly Increment[]; readonly records: readonly SeriesRecord[] } {
  const { index: subject } = stats;
  const increments: Increment[] = [];
  const changed: SeriesRecord[] = [];
  for (const { source, metric, of } of SOURCES) {
    const value = of(stats);
    if (value === undefined || !Number.isFinite(value) || value < 0) continue;
    const state = readMonth(records.find((known) => known.subject === subject && known.source === source)?.record);
    const aggregated = aggregateMonth(state, { value, at: servedAt });
    const isFirst = state === undefined;
    if (isFirst || aggregated.increase > 0) increments.push({ metric, labels: [subject], by: aggregated.increase });
    if (isFirst || aggregated.corrected) {
      increments.push({ metric: 'opsd_stats_corrections_total', labels: [source], by: aggregated.corrected ? 1 : 0 });
    }
    changed.push({ subject, source, series: '', record: writeMonth(aggregated.state) });
  }
  return { increments, records: changed };
}

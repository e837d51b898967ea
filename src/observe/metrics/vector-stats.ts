/** Projects statistics of vector indexes to gauges. */
import { VECTOR_OPERATIONS } from '#foundation/domain/statistics.ts';
import { newestSettled, ofDay } from './points.ts';
import type { Project } from './projection.ts';

const SECONDS_PER = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 } as const;

export const projectVectorStats: Project<'vectorStats'> = ({ account, rows, at }, put, settings) => {
  // The interface does not document the unit of latencies. Without the setting, the numbers would be meaningless.
  const unit = settings.latencyUnit === undefined ? undefined : SECONDS_PER[settings.latencyUnit];
  for (const row of rows) {
    const labels = { account, index: row.index };
    put('msgsvc_vector_index_vectors', labels, row.vectors);
    put('msgsvc_vector_index_pending_vectors', labels, row.pendingVectors);
    put('msgsvc_vector_index_storage_bytes', labels, row.storageBytes);
    put('msgsvc_vector_index_day_queries', labels, row.dayQueries);
    put('msgsvc_vector_index_day_updates', labels, row.dayUpdates);
    put('msgsvc_vector_index_day_reranks', labels, row.dayReranks);
    put('msgsvc_vector_index_month_queries', labels, row.monthQueries);
    put('msgsvc_vector_index_month_updates', labels, row.monthUpdates);
    put('msgsvc_vector_index_month_reranks', labels, row.monthReranks);
    put('msgsvc_vector_index_month_bandwidth_bytes', labels, row.monthBandwidthBytes);
    put('msgsvc_vector_index_day_bandwidth_bytes', labels, ofDay(row.dailyBandwidths, at)?.value);
    put('msgsvc_vector_index_data_size', labels, newestSettled(row.dataSize, at));
    put('msgsvc_vector_index_month_cost_dollars', labels, row.monthCostUsd);
    for (const operation of VECTOR_OPERATIONS) {
      const byOperation = { ...labels, operation };
      const mean = newestSettled(row.latencyMean[operation], at);
      const p99 = newestSettled(row.latencyP99[operation], at);
      if (unit !== undefined && mean !== undefined) {
        put('msgsvc_vector_index_latency_mean_seconds', byOperation, mean * unit);
      }
      if (unit !== undefined && p99 !== undefined) {
        put('msgsvc_vector_index_latency_p99_seconds', byOperation, p99 * unit);
      }
    }
    for (const operation of ['query', 'update'] as const) {
      put('msgsvc_vector_index_throughput', { ...labels, operation }, newestSettled(row.throughput[operation], at));
    }
  }
};

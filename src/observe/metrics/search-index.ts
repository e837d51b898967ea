/** Projects search indexes to gauges. Tokens and owners never reach this module. */
import { newestSettled } from './points.ts';
import type { Project } from './projection.ts';
import { flag, seconds } from './values.ts';

export const projectSearchIndexes: Project<'searchIndexes'> = ({ account, rows, at }, put) => {
  for (const row of rows) {
    const labels = { account, index: row.index };
    put(
      'msgsvc_search_index_info',
      { account, index: row.index, name: row.name, plan: row.plan, index_region: row.region },
      1,
    );
    put('msgsvc_search_index_limit_vectors', labels, row.maxVectors);
    put('msgsvc_search_index_limit_month_reranks', labels, row.maxMonthlyReranks);
    put('msgsvc_search_index_limit_day_updates', labels, row.maxDailyUpdates);
    put('msgsvc_search_index_limit_day_queries', labels, row.maxDailyQueries);
    put('msgsvc_search_index_limit_month_bandwidth_bytes', labels, row.maxMonthlyBandwidth);
    put('msgsvc_search_index_limit_writes_per_second', labels, row.maxWritesPerSecond);
    put('msgsvc_search_index_limit_queries_per_second', labels, row.maxQueriesPerSecond);
    put('msgsvc_search_index_limit_reads_per_request', labels, row.maxReadsPerRequest);
    put('msgsvc_search_index_limit_writes_per_request', labels, row.maxWritesPerRequest);
    put('msgsvc_search_index_input_enrichment_enabled', labels, flag(row.inputEnrichmentEnabled));
    put('msgsvc_search_index_integration_configured', labels, flag(row.hasIntegration));
    put('msgsvc_search_index_throughput', labels, newestSettled(row.throughput, at));
    put('msgsvc_search_index_created_timestamp_seconds', labels, seconds(row.createdAt));
  }
};

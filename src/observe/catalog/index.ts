/** Metrics of search indexes and of vector indexes. */
import { counter, family, gauge } from './metric-spec.ts';

const INDEX = ['index'] as const;
const mirrored = { mirrored: true } as const;

export const searchIndexes = family(
  { heading: 'Search indexes', account: true, collector: 'searchIndexes' },
  {
    msgsvc_search_index_info: gauge(
      ['index', 'name', 'plan', 'index_region'],
      'info',
      'name, type, region',
      'Attributes of a search index, always 1.',
      { merge: 'max' },
    ),
    msgsvc_search_index_limit_vectors: gauge(INDEX, 'items', 'max_vector_count', 'Maximum vectors of a search index.'),
    msgsvc_search_index_limit_month_reranks: gauge(
      INDEX,
      'requests',
      'max_monthly_reranks',
      'Maximum reranks per month; +Inf if unlimited.',
    ),
    msgsvc_search_index_limit_day_updates: gauge(
      INDEX,
      'requests',
      'max_daily_updates',
      'Maximum updates per day; +Inf if unlimited.',
    ),
    msgsvc_search_index_limit_day_queries: gauge(
      INDEX,
      'requests',
      'max_daily_queries',
      'Maximum queries per day; +Inf if unlimited.',
    ),
    msgsvc_search_index_limit_month_bandwidth_bytes: gauge(
      INDEX,
      'bytes',
      'max_monthly_bandwidth',
      'Maximum bandwidth per month, in bytes; +Inf if unlimited.',
    ),
    msgsvc_search_index_limit_writes_per_second: gauge(
      INDEX,
      'requests',
      'max_writes_per_second',
      'Maximum writes per second.',
    ),
    msgsvc_search_index_limit_queries_per_second: gauge(
      INDEX,
      'requests',
      'max_query_per_second',
      'Maximum queries per second.',
    ),
    msgsvc_search_index_limit_reads_per_request: gauge(
      INDEX,
      'items',
      'max_reads_per_request',
      'Maximum reads per request.',
    ),
    msgsvc_search_index_limit_writes_per_request: gauge(
      INDEX,
      'items',
      'max_writes_per_request',
      'Maximum writes per request.',
    ),
    msgsvc_search_index_input_enrichment_enabled: gauge(
      INDEX,
      'flag',
      'input_enrichment_enabled',
      '1 if input enrichment is enabled, else 0.',
    ),
    msgsvc_search_index_integration_configured: gauge(
      INDEX,
      'flag',
      'integration_email',
      '1 if the index belongs to a partner integration, else 0.',
    ),
    msgsvc_search_index_throughput: gauge(
      INDEX,
      'as served',
      'throughput_vector',
      'Newest settled point of throughput_vector, in the unit of the service.',
    ),
    msgsvc_search_index_created_timestamp_seconds: gauge(
      INDEX,
      'timestamp',
      'creation_time',
      'Unix timestamp of the creation of the index.',
    ),
  },
);

const OPERATION = ['index', 'operation'] as const;

export const vectorStats = family(
  { heading: 'Vector index statistics', account: true, collector: 'vectorStats' },
  {
    msgsvc_vector_index_vectors: gauge(INDEX, 'items', 'current_vector_count', 'Vectors in the index.'),
    msgsvc_vector_index_pending_vectors: gauge(INDEX, 'items', 'pending_index_count', 'Vectors waiting to be indexed.'),
    msgsvc_vector_index_storage_bytes: gauge(INDEX, 'bytes', 'storage_usage', 'Storage used by the index, in bytes.'),
    msgsvc_vector_index_day_queries: gauge(INDEX, 'requests', 'daily_query_count', 'Queries of the current day.'),
    msgsvc_vector_index_day_updates: gauge(INDEX, 'requests', 'daily_update_count', 'Updates of the current day.'),
    msgsvc_vector_index_day_reranks: gauge(INDEX, 'requests', 'daily_rerank_count', 'Reranks of the current day.'),
    msgsvc_vector_index_month_queries: gauge(INDEX, 'requests', 'monthly_query_count', 'Queries of the current month.'),
    msgsvc_vector_index_month_updates: gauge(
      INDEX,
      'requests',
      'monthly_update_count',
      'Updates of the current month.',
    ),
    msgsvc_vector_index_month_reranks: gauge(
      INDEX,
      'requests',
      'monthly_rerank_count',
      'Reranks of the current month.',
    ),
    msgsvc_vector_index_month_bandwidth_bytes: gauge(
      INDEX,
      'bytes',
      'monthly_bandwidth_usage',
      'Bandwidth of the current month, in bytes.',
    ),
    msgsvc_vector_index_day_bandwidth_bytes: gauge(
      INDEX,
      'bytes',
      'daily_bandwidths[today]',
      'Bandwidth of the current UTC day, in bytes.',
    ),
    msgsvc_vector_index_data_size: gauge(
      INDEX,
      'as served',
      'data_size',
      'Newest settled point of data_size, in the unit of the service.',
    ),
    msgsvc_vector_index_month_cost_dollars: gauge(
      INDEX,
      'dollars',
      'monthly_cost',
      'Cost of the current month, in US dollars.',
    ),
    msgsvc_vector_index_latency_mean_seconds: gauge(
      OPERATION,
      'seconds',
      'query_latency_mean, update_latency_mean, embeds_latency_mean, rerank_latency_mean',
      'Newest settled mean latency in seconds, by operation; do not average. Absent until the unit of latencies is configured.',
    ),
    msgsvc_vector_index_latency_p99_seconds: gauge(
      OPERATION,
      'seconds',
      'query_latency_99, update_latency_99, embeds_latency_99, rerank_latency_99',
      'Newest settled 99th percentile latency in seconds, by operation; do not average or sum. Absent until the unit of latencies is configured.',
    ),
    msgsvc_vector_index_throughput: gauge(
      OPERATION,
      'as served',
      'query_throughput, update_throughput',
      'Newest settled throughput point by operation, in the unit of the service.',
    ),
  },
);

export const vectorTotals = family(
  { heading: 'Vector indexes, counted from their monthly totals', account: true },
  {
    msgsvc_vector_index_queries_total: counter(
      INDEX,
      'requests',
      'monthly_query_count',
      'Queries, summed from increases of the monthly total.',
      mirrored,
    ),
    msgsvc_vector_index_updates_total: counter(
      INDEX,
      'requests',
      'monthly_update_count',
      'Updates, summed from increases of the monthly total.',
      mirrored,
    ),
    msgsvc_vector_index_reranks_total: counter(
      INDEX,
      'requests',
      'monthly_rerank_count',
      'Reranks, summed from increases of the monthly total.',
      mirrored,
    ),
    msgsvc_vector_index_bandwidth_bytes_total: counter(
      INDEX,
      'bytes',
      'monthly_bandwidth_usage',
      'Bandwidth in bytes, summed from increases of the monthly total.',
      mirrored,
    ),
  },
);

/** Metrics of the statistics of an account and of its indexes, and its known limits. */
import { counter, family, flagMetric, gauge } from './metric-spec.ts';

export const accountStatsMetrics = family({
  heading: 'Account statistics',
  account: true,
  collector: 'accountStats',
}).of({
  msgsvc_account_dlq_messages: gauge('Messages in the message DLQ.', { source: 'dlq_message_count' }),
  msgsvc_account_month_billing_dollars: gauge('Billing of the current month, in US dollars.', {
    source: 'total_monthly_billing',
  }),
  msgsvc_account_day_billing_dollars: gauge('Billing of the current UTC day, in US dollars.', {
    source: 'daily_billings[today]',
  }),
  msgsvc_account_day_bandwidth_bytes: gauge('Bandwidth of the current UTC day, in bytes.', {
    source: 'daily_bandwidths[today]',
  }),
  msgsvc_account_day_requests: gauge('Requests of the current UTC day.', { source: 'daily_requests[today].y' }),
  msgsvc_account_day_workflow_messages: gauge('Workflow messages of the current UTC day.', {
    source: 'daily_requests[today].workflow_message',
  }),
  msgsvc_account_day_workflow_runs: gauge('Workflow runs of the current UTC day.', {
    source: 'daily_requests[today].workflow_run',
  }),
  msgsvc_account_month_billing_forecast_dollars: gauge(
    'Expected billing at the end of the month, in US dollars: the amount billed so far plus the pace of the last whole days for the rest.',
    { source: 'total_monthly_billing, daily_billings' },
  ),
  msgsvc_account_budget_exhaustion_timestamp_seconds: gauge(
    'Unix timestamp when the known budget is exhausted at the current pace. Absent if that is not this month.',
    { source: 'derived' },
  ),
});

export const accountTotals = family({
  heading: 'Account, counted from its statistics',
  account: true,
  mirrored: true,
}).of({
  msgsvc_account_used_messages_total: counter('Messages used, summed from settled points of the statistics.', {
    source: 'daily_used',
  }),
  msgsvc_account_used_workflow_messages_total: counter(
    'Workflow messages used, summed from settled points of the statistics.',
    { source: 'daily_used_workflow' },
  ),
  msgsvc_account_bandwidth_bytes_total: counter('Bandwidth in bytes, summed from settled points of the statistics.', {
    source: 'daily_bandwidth_used',
  }),
  msgsvc_account_messages_total: counter(
    'Messages by named series, summed from settled points of the statistics. Series overlap and must not be added.',
    { labels: ['series'], source: 'daily_msgsvc_messages[].id' },
  ),
  msgsvc_account_workflow_messages_total: counter(
    'Workflow messages by named series, summed from settled points of the statistics. Series overlap and must not be added.',
    { labels: ['series'], source: 'daily_workflow_messages[].id' },
  ),
  msgsvc_account_billing_dollars_total: counter('Billing in US dollars, summed across days and months.', {
    source: 'total_monthly_billing, daily_billings',
  }),
});

export const accountLimits = family({ heading: 'Known budget and limits of the account', account: true }).of({
  msgsvc_account_budget_dollars: gauge(
    'Known monthly budget in US dollars, by origin of the value; +Inf if unlimited.',
    { labels: ['origin'], source: 'configuration: budget.knownUsd; ledger' },
  ),
  msgsvc_account_budget_asserted_timestamp_seconds: gauge(
    'Unix timestamp when the budget was last known to be valid.',
    { labels: ['origin'], source: 'configuration: budget.assertedOn; ledger' },
  ),
  msgsvc_account_limit_dlq_messages: gauge('Configured capacity of the message DLQ, in messages.', {
    source: 'configuration: limits.dlqMessages',
  }),
  msgsvc_account_limit_dlq_retention_seconds: gauge('Configured retention of the DLQs, in seconds.', {
    source: 'configuration: limits.dlqRetention',
  }),
  msgsvc_account_limit_day_requests: gauge('Configured maximum of requests per UTC day, by kind (soft, hard).', {
    labels: ['kind'],
    source: 'configuration: limits.requestsPerDay, limits.requestsPerDayHard',
  }),
  msgsvc_account_limit_requests_per_second: gauge('Configured maximum of requests per second.', {
    source: 'configuration: limits.requestsPerSecond',
    unit: 'requests',
  }),
  msgsvc_account_limit_parallelism: gauge(
    'Configured maximum of parallel deliveries, by scope (one endpoint, all endpoints).',
    { labels: ['scope'], source: 'configuration: limits.parallelism, limits.globalParallelism' },
  ),
});

export const searchIndexMetrics = family({
  heading: 'Search indexes',
  account: true,
  collector: 'searchIndexes',
  labels: ['index'],
}).of({
  msgsvc_search_index_info: gauge('Attributes of a search index, always 1.', {
    labels: ['index', 'name', 'plan', 'index_region'],
    source: 'name, type, region',
    merge: 'max',
  }),
  msgsvc_search_index_limit_vectors: gauge('Maximum vectors of a search index.', { source: 'max_vector_count' }),
  msgsvc_search_index_limit_month_reranks: gauge('Maximum reranks per month; +Inf if unlimited.', {
    source: 'max_monthly_reranks',
    unit: 'requests',
  }),
  msgsvc_search_index_limit_day_updates: gauge('Maximum updates per day; +Inf if unlimited.', {
    source: 'max_daily_updates',
    unit: 'requests',
  }),
  msgsvc_search_index_limit_day_queries: gauge('Maximum queries per day; +Inf if unlimited.', {
    source: 'max_daily_queries',
    unit: 'requests',
  }),
  msgsvc_search_index_limit_month_bandwidth_bytes: gauge('Maximum bandwidth per month, in bytes; +Inf if unlimited.', {
    source: 'max_monthly_bandwidth',
  }),
  msgsvc_search_index_limit_writes_per_second: gauge('Maximum writes per second.', {
    source: 'max_writes_per_second',
    unit: 'requests',
  }),
  msgsvc_search_index_limit_queries_per_second: gauge('Maximum queries per second.', {
    source: 'max_query_per_second',
    unit: 'requests',
  }),
  msgsvc_search_index_limit_reads_per_request: gauge('Maximum reads per request.', { source: 'max_reads_per_request' }),
  msgsvc_search_index_limit_writes_per_request: gauge('Maximum writes per request.', {
    source: 'max_writes_per_request',
  }),
  msgsvc_search_index_input_enrichment_enabled: flagMetric('1 if input enrichment is enabled, else 0.', {
    source: 'input_enrichment_enabled',
  }),
  msgsvc_search_index_integration_configured: flagMetric('1 if the index belongs to a partner integration, else 0.', {
    source: 'integration_email',
  }),
  msgsvc_search_index_throughput: gauge('Newest settled point of throughput_vector, in the unit of the service.', {
    source: 'throughput_vector',
    unit: 'as served',
  }),
  msgsvc_search_index_created_timestamp_seconds: gauge('Unix timestamp of the creation of the index.', {
    source: 'creation_time',
  }),
});

export const vectorStatsMetrics = family({
  heading: 'Vector index statistics',
  account: true,
  collector: 'vectorStats',
  labels: ['index'],
  unit: 'requests',
}).of({
  msgsvc_vector_index_vectors: gauge('Vectors in the index.', { source: 'current_vector_count', unit: 'items' }),
  msgsvc_vector_index_pending_vectors: gauge('Vectors waiting to be indexed.', {
    source: 'pending_index_count',
    unit: 'items',
  }),
  msgsvc_vector_index_storage_bytes: gauge('Storage used by the index, in bytes.', { source: 'storage_usage' }),
  msgsvc_vector_index_day_queries: gauge('Queries of the current day.', { source: 'daily_query_count' }),
  msgsvc_vector_index_day_updates: gauge('Updates of the current day.', { source: 'daily_update_count' }),
  msgsvc_vector_index_day_reranks: gauge('Reranks of the current day.', { source: 'daily_rerank_count' }),
  msgsvc_vector_index_month_queries: gauge('Queries of the current month.', { source: 'monthly_query_count' }),
  msgsvc_vector_index_month_updates: gauge('Updates of the current month.', { source: 'monthly_update_count' }),
  msgsvc_vector_index_month_reranks: gauge('Reranks of the current month.', { source: 'monthly_rerank_count' }),
  msgsvc_vector_index_month_bandwidth_bytes: gauge('Bandwidth of the current month, in bytes.', {
    source: 'monthly_bandwidth_usage',
  }),
  msgsvc_vector_index_day_bandwidth_bytes: gauge('Bandwidth of the current UTC day, in bytes.', {
    source: 'daily_bandwidths[today]',
  }),
  msgsvc_vector_index_data_size: gauge('Newest settled point of data_size, in the unit of the service.', {
    source: 'data_size',
    unit: 'as served',
  }),
  msgsvc_vector_index_month_cost_dollars: gauge('Cost of the current month, in US dollars.', {
    source: 'monthly_cost',
  }),
  msgsvc_vector_index_latency_mean_seconds: gauge(
    'Newest settled mean latency in seconds, by operation; do not average. Absent until the unit of latencies is configured.',
    {
      labels: ['index', 'operation'],
      source: 'query_latency_mean, update_latency_mean, embeds_latency_mean, rerank_latency_mean',
    },
  ),
  msgsvc_vector_index_latency_p99_seconds: gauge(
    'Newest settled 99th percentile latency in seconds, by operation; do not average or sum. Absent until the unit of latencies is configured.',
    {
      labels: ['index', 'operation'],
      source: 'query_latency_99, update_latency_99, embeds_latency_99, rerank_latency_99',
    },
  ),
  msgsvc_vector_index_throughput: gauge('Newest settled throughput point by operation, in the unit of the service.', {
    labels: ['index', 'operation'],
    source: 'query_throughput, update_throughput',
    unit: 'as served',
  }),
});

export const vectorTotals = family({
  heading: 'Vector indexes, counted from their monthly totals',
  account: true,
  labels: ['index'],
  unit: 'requests',
  mirrored: true,
}).of({
  msgsvc_vector_index_queries_total: counter('Queries, summed from increases of the monthly total.', {
    source: 'monthly_query_count',
  }),
  msgsvc_vector_index_updates_total: counter('Updates, summed from increases of the monthly total.', {
    source: 'monthly_update_count',
  }),
  msgsvc_vector_index_reranks_total: counter('Reranks, summed from increases of the monthly total.', {
    source: 'monthly_rerank_count',
  }),
  msgsvc_vector_index_bandwidth_bytes_total: counter(
    'Bandwidth in bytes, summed from increases of the monthly total.',
    { source: 'monthly_bandwidth_usage' },
  ),
});

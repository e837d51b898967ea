/**
 * Projections of the resources to gauges, one for each collector whose rows are exported directly. That of the workflow
 * DLQ has a file of its own.
 */
import type { Batch, CollectorName } from '#foundation/domain/observation.ts';
import { VECTOR_OPERATIONS, type DataPoint } from '#foundation/domain/statistics.ts';
import type { Put } from './families.ts';
import { destinationLabel } from './labels.ts';
import type { MetricsSettings } from './settings.ts';
import { flagValue, seconds } from './values.ts';

/** Settings of the metrics and of the batch's account. */
type ProjectionSettings = MetricsSettings & {
  /** Retention of dead letters in the service; absent if unknown. */
  readonly dlqRetentionMs?: number;
};

/**
 * Projects a batch. A projection of many rows yields the number of processed rows after each step, so that other work
 * can run in between.
 */
export type Project<N extends CollectorName> = (
  batch: Batch<N>,
  put: Put,
  settings: ProjectionSettings,
) => Iterable<number> | undefined;

/** Messages in flight, and the entry mode of the log. Its counts come from the store (mirror.ts). */
export const logGauges: Project<'logs'> = ({ account, rows }, put) => {
  for (const { entryMode = 'unknown', inFlight = [] } of rows) {
    put('opsd_log_entry_mode_info', { account, mode: entryMode }, 1);
    for (const { destination: name, messages, oldestDueAt } of inFlight) {
      const destination = destinationLabel(name);
      put('msgsvc_messages_in_flight', { account, destination }, messages);
      put('msgsvc_messages_oldest_due_timestamp_seconds', { account, destination }, seconds(oldestDueAt));
    }
  }
};

export const flowControlGauges: Project<'flowControl'> = ({ account, rows }, put) => {
  for (const row of rows) {
    const labels = { account, flow_control_key: row.flowControlKey };
    put('msgsvc_flow_control_waitlist_messages', labels, row.waitListSize);
    put('msgsvc_flow_control_parallelism_limit', labels, row.parallelismMax);
    put('msgsvc_flow_control_parallelism_in_use', labels, row.parallelismCount);
    put('msgsvc_flow_control_rate_limit_messages', labels, row.rateMax);
    put('msgsvc_flow_control_rate_used_messages', labels, row.rateCount);
    put('msgsvc_flow_control_rate_period_seconds', labels, row.ratePeriod);
    put('msgsvc_flow_control_rate_period_start_timestamp_seconds', labels, seconds(row.ratePeriodStart));
    put('msgsvc_flow_control_parallelism_pinned', labels, flagValue(row.isPinnedParallelism));
    put('msgsvc_flow_control_rate_pinned', labels, flagValue(row.isPinnedRate));
    put('msgsvc_flow_control_paused', labels, flagValue(row.isPaused));
  }
  const discovered = rows.filter(({ isDiscovered }) => isDiscovered).length;
  put('msgsvc_flow_control_keys', { account, origin: 'configured' }, rows.length - discovered);
  put('msgsvc_flow_control_keys', { account, origin: 'discovered' }, discovered);
};

/**
 * Names and URLs of endpoints never become labels. If part of the response was invalid, the numbers of groups and
 * endpoints would be too low and are withheld.
 */
export const urlGroupGauges: Project<'urlGroups'> = ({ account, rows, dropped }, put) => {
  if (dropped === 0) put('msgsvc_url_groups', { account }, rows.length);
  for (const group of rows) {
    const labels = { account, url_group: group.name };
    if (dropped === 0) put('msgsvc_url_group_endpoints', labels, group.endpoints.length);
    put('msgsvc_url_group_created_timestamp_seconds', labels, seconds(group.createdAt));
    put('msgsvc_url_group_updated_timestamp_seconds', labels, seconds(group.updatedAt));
  }
};

/** The daily arrays cover the whole month, so the day is selected by its date. */
export const accountStatsGauges: Project<'accountStats'> = ({ account, rows, at }, put) => {
  for (const stats of rows) {
    const requests = ofDay(stats.dailyRequests, at);
    put('msgsvc_account_dlq_messages', { account }, stats.dlqMessages);
    put('msgsvc_account_month_billing_dollars', { account }, stats.monthBillingUsd);
    put('msgsvc_account_day_billing_dollars', { account }, ofDay(stats.dailyBillings, at)?.value);
    put('msgsvc_account_day_bandwidth_bytes', { account }, ofDay(stats.dailyBandwidths, at)?.value);
    put('msgsvc_account_day_requests', { account }, requests?.value);
    put('msgsvc_account_day_workflow_messages', { account }, requests?.workflowMessages);
    put('msgsvc_account_day_workflow_runs', { account }, requests?.workflowRuns);
    put('msgsvc_account_month_billing_forecast_dollars', { account }, stats.spend?.forecastUsd);
    put('msgsvc_account_budget_exhaustion_timestamp_seconds', { account }, seconds(stats.spend?.exhaustedAt));
    for (const { source, points, day, isWrong } of stats.pointsCheck?.sources ?? []) {
      put('opsd_stats_points_day_ratio', { account, source }, ratio(points, day));
      put('opsd_stats_points_misread', { account, source }, flagValue(isWrong));
    }
    for (const { state, statistics, logs, isLasting } of stats.reconciled ?? []) {
      const labels = { account, source: 'statistics', state };
      put('opsd_reconciliation_ratio', labels, ratio(statistics, logs));
      put('opsd_reconciliation_gap', labels, flagValue(isLasting));
    }
    for (const { source, series, at: countedAt } of stats.aggregated ?? []) {
      put('opsd_stats_point_timestamp_seconds', { account, source, series }, countedAt / 1_000);
    }
  }
};

function ratio(counted: number, reference: number): number {
  return counted === reference ? 1 : counted / reference;
}

/** Tokens and owners never reach this module. */
export const searchIndexGauges: Project<'searchIndexes'> = ({ account, rows, at }, put) => {
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
    put('msgsvc_search_index_input_enrichment_enabled', labels, flagValue(row.inputEnrichmentEnabled));
    put('msgsvc_search_index_integration_configured', labels, flagValue(row.hasIntegration));
    put('msgsvc_search_index_throughput', labels, newestSettled(row.throughput, at));
    put('msgsvc_search_index_created_timestamp_seconds', labels, seconds(row.createdAt));
  }
};

const SECONDS_PER = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 } as const;

export const vectorStatsGauges: Project<'vectorStats'> = ({ account, rows, at }, put, settings) => {
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

/** Age of a settled point. A point may cover the minute before or after its time, and changes for two more minutes. */
const SETTLED_AFTER_MS = 180_000;
const DAY_MS = 86_400_000;

/** Returns the value of the newest settled point; undefined if there is none. */
function newestSettled(points: readonly DataPoint[] | undefined, readAt: number): number | undefined {
  let newest: DataPoint | undefined;
  for (const point of points ?? []) {
    if (point.at <= readAt - SETTLED_AFTER_MS && (newest === undefined || point.at > newest.at)) newest = point;
  }
  return newest?.value;
}

/** Returns the point of the UTC day of `at`; undefined if the response has none. */
function ofDay<P extends DataPoint>(points: readonly P[] | undefined, at: number): P | undefined {
  const day = Math.floor(at / DAY_MS);
  return points?.find((point) => Math.floor(point.at / DAY_MS) === day);
}

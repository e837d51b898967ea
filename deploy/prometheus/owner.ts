/**
 * Series of accounts whose owner changes. Each replica exposes the accounts that it owns, so after a takeover the series
 * of an account end at one instance and continue at another. Without replicas nothing here has samples.
 */
import { isMetricName, labelNamesOf, type HistogramName, type MetricName } from '#observe/catalog/catalog.ts';

/** Recorded for each replica and account that another replica of the job owns. */
export const OTHER_OWNER = 'job_instance_account:opsd_lease_owner:other';

/** Recorded for each replica: the number of its accounts. */
export const ACCOUNTS_OF_REPLICA = 'job_instance:opsd_lease_owner:sum';

/** Recorded for each job with replicas: the number of accounts with an owner. */
export const OWNED_ACCOUNTS = 'job:opsd_lease_owner:sum';

/** Recorded for each account of replicas: it increases at each takeover. */
export const EPOCH = 'job_account:opsd_lease_epoch:max';

/**
 * Returns the samples of an account's gauge without those of a replica that is no longer the owner. A replica that cannot
 * reach PostgreSQL exposes its last committed state beside the new owner.
 */
export function owned(samples: string, offset = ''): string {
  return `${samples} unless on (job, instance, account) ${OTHER_OWNER}${offset}`;
}

/** Returns the samples of a gauge of the whole store without those of replicas that own nothing beside others. */
export function ofOwners(samples: string): string {
  return `${samples} unless on (job, instance) (${ACCOUNTS_OF_REPLICA} == 0 and on (job) ${OWNED_ACCOUNTS} > 0)`;
}

type CountedSeries = Exclude<MetricName, HistogramName> | `${HistogramName}_${'bucket' | 'sum' | 'count'}`;

/**
 * Stored counters and states with a history, which continue at the next owner. Rates of their series must not be added: when an account returns to
 * an instance, its series there continues after a gap and counts again what the other instance has counted.
 */
export const COUNTED = [
  'msgsvc_log_events_total',
  'msgsvc_messages_created_total',
  'msgsvc_messages_finished_total',
  'msgsvc_message_failures_total',
  'msgsvc_message_cancellations_total',
  'msgsvc_message_attempts_total',
  'msgsvc_message_attempt_failures_total',
  'msgsvc_message_delivery_duration_seconds_bucket',
  'msgsvc_message_delivery_duration_seconds_count',
  'msgsvc_message_attempt_duration_seconds_bucket',
  'msgsvc_message_attempt_duration_seconds_sum',
  'msgsvc_message_attempt_duration_seconds_count',
  'msgsvc_message_queue_wait_seconds_bucket',
  'msgsvc_message_queue_wait_seconds_sum',
  'msgsvc_message_queue_wait_seconds_count',
  'msgsvc_message_delivery_attempts_bucket',
  'msgsvc_message_delivery_attempts_count',
  'msgsvc_message_retry_delay_seconds_bucket',
  'msgsvc_workflow_dlq_entered_runs_total',
  'msgsvc_workflow_dlq_left_runs_total',
  'msgsvc_workflow_run_lifetime_seconds_bucket',
  'msgsvc_flow_control_saturated_seconds_total',
  'opsd_flow_control_keys_unwatched_total',
  'msgsvc_account_used_messages_total',
  'msgsvc_account_used_workflow_messages_total',
  'msgsvc_account_bandwidth_bytes_total',
  'msgsvc_account_messages_total',
  'msgsvc_account_workflow_messages_total',
  'msgsvc_account_billing_dollars_total',
  'msgsvc_vector_index_queries_total',
  'msgsvc_vector_index_updates_total',
  'msgsvc_vector_index_reranks_total',
  'msgsvc_vector_index_bandwidth_bytes_total',
  'opsd_log_late_entries_total',
  'opsd_log_invalid_entries_total',
  'opsd_log_unjoined_deliveries_total',
  'opsd_log_unjoined_attempts_total',
  'opsd_messages_abandoned_total',
  'opsd_stats_points_missed_total',
  'msgsvc_canary_verdict_info',
] as const satisfies readonly CountedSeries[];

export type Counted = (typeof COUNTED)[number];

export function isCounted(series: string): series is Counted {
  return (COUNTED as readonly string[]).includes(series);
}

/** Labels of such a series that do not depend on its owner. */
export function lastingLabels(series: Counted): readonly string[] {
  const metric = isMetricName(series) ? series : (series.replace(/_(bucket|sum|count)$/, '') as HistogramName);
  return ['job', ...labelNamesOf(metric), ...(series.endsWith('_bucket') ? ['le'] : [])];
}

/** Name of the recorded series that has the samples of the owners only. */
export function ownerSeries(series: Counted): string {
  return `${lastingLabels(series).join('_')}:${series}:owner`;
}

interface Window {
  readonly window: string;
  readonly offset?: string;
  readonly matchers?: string;
}

/**
 * Returns the sum of rates, increases, or numbers of samples of such a series, by labels: of its owners, or without
 * replicas of each daemon.
 */
export function counted(
  how: 'rate' | 'increase' | 'count_over_time',
  series: Counted,
  labels: string,
  { window, offset = '', matchers = '' }: Window,
): string {
  const range = `${matchers}[${window}]${offset && ` offset ${offset}`}`;
  const over = (name: string): string => `${how}(${name}${range})`;
  // The rate of a replica that is no longer the owner is 0. Its samples are not.
  const each = how === 'count_over_time' ? owned(over(series)) : over(series);
  return `(sum by (${labels}) (${over(ownerSeries(series))}) or sum by (${labels}) (${each}))`;
}

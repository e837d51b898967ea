/** Metrics of the messages and runs of an account: the log, the workflow DLQ, flow control, URL groups, canaries. */
import { DELIVERY_DURATION_BOUNDS } from '#foundation/domain/delivery-durations.ts';
import { counter, family, flagMetric, gauge, histogram } from './metric-spec.ts';

export const up = family({ heading: 'The service', account: true }).of({
  msgsvc_up: flagMetric(
    '1 if the last successful API request is at most two intervals old, else 0. Absent if no collector uses the API.',
    { labels: ['api'], source: 'responses' },
  ),
});

export const logMetrics = family({
  heading: 'Messages, counted from the log',
  account: true,
  labels: ['destination'],
  unit: 'messages',
  mirrored: true,
}).of({
  msgsvc_log_events_total: counter('Log entries by state, each counted once.', {
    labels: ['state'],
    source: 'state or filter',
  }),
  msgsvc_log_events_by_dimension_total: counter(
    'Log entries by the dimension of collectors.logs.dimension; an entry with several labels counts for each. Absent if no dimension is configured.',
    { labels: ['dimension', 'value', 'state'], source: 'topicName, queueName, scheduleId, or label and labels' },
  ),
  msgsvc_messages_created_total: counter('Messages created.', { source: 'CREATED' }),
  msgsvc_messages_finished_total: counter('Messages that ended: delivered, failed or cancelled.', {
    source: 'DELIVERED, final failure, CANCELLED',
  }),
  msgsvc_message_failures_total: counter('Messages that finally failed.', {
    labels: ['destination', 'reason', 'code'],
    source: 'last ERROR without nextDeliveryTime, or FAILED',
  }),
  msgsvc_message_cancellations_total: counter('Messages that were cancelled.', { source: 'CANCELLED' }),
  msgsvc_message_attempts_total: counter('Delivery attempts that ended.', { source: 'ERROR + DELIVERED' }),
  msgsvc_message_attempt_failures_total: counter('Delivery attempts that failed.', {
    labels: ['destination', 'reason', 'code'],
    source: 'ERROR: responseStatus, error',
  }),
  msgsvc_message_delivery_duration_seconds: histogram(
    "Time between a message's due time and its delivery, in seconds.",
    {
      source: 'due to DELIVERED, joined on messageId',
      buckets: DELIVERY_DURATION_BOUNDS,
    },
  ),
  msgsvc_message_attempt_duration_seconds: histogram(
    'Duration of delivery attempts, in seconds; high for a slow destination.',
    { source: 'ACTIVE to outcome', buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900] },
  ),
  msgsvc_message_queue_wait_seconds: histogram(
    "Wait between an attempt's due time and its start, in seconds; high for a slow service or flow control.",
    { source: 'due to ACTIVE', buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600] },
  ),
  msgsvc_message_delivery_attempts: histogram('Attempts that a message took until its delivery.', {
    labels: [],
    source: 'attempts of a message',
    unit: 'items',
    buckets: [1, 2, 3, 4, 6, 11],
  }),
  msgsvc_message_retry_delay_seconds: histogram('Scheduled delay before the next attempt, in seconds.', {
    labels: [],
    source: 'nextDeliveryTime − time of an ERROR',
    buckets: [1, 5, 15, 60, 300, 1_800, 7_200, 21_600, 86_400],
  }),
});

export const openMessages = family({
  heading: 'Messages in flight, from the log',
  account: true,
  collector: 'logs',
  labels: ['destination'],
}).of({
  msgsvc_messages_in_flight: gauge(
    'Messages created and not yet ended, among those whose entries were read. Absent if the log does not report each change of state.',
    { source: 'CREATED without an end', unit: 'messages', merge: 'sum', lingers: true },
  ),
  msgsvc_messages_oldest_due_timestamp_seconds: gauge(
    'Unix timestamp of the due time of the longest overdue message. Absent if no message is due.',
    { source: 'time or nextDeliveryTime of messages in flight', merge: 'min' },
  ),
});

export const heldRuns = family({ heading: 'Workflow DLQ', account: true, collector: 'workflowDlq' }).of({
  msgsvc_workflow_dlq_runs: gauge('Failed runs in the DLQ, by workflow and reason; unknown for invalid rows.', {
    labels: ['workflow', 'reason'],
    source: 'count by workflowUrl (templated) and reason',
    lingers: true,
  }),
  msgsvc_workflow_dlq_failure_function_runs: gauge(
    'Failed runs by state of their failure function; none if the workflow has none.',
    { labels: ['workflow', 'state'], source: 'failureFunctionState', lingers: true },
  ),
  msgsvc_workflow_dlq_status_runs: gauge('Failed runs by the status of the last response; none if there was none.', {
    labels: ['code'],
    source: 'responseStatus',
    lingers: true,
  }),
  msgsvc_workflow_dlq_labeled_runs: gauge(
    'Failed runs by label; a run with several labels counts for each. Absent if telemetry.metrics.workflowDlqLabels is off.',
    { labels: ['label'], source: 'label, labels', lingers: true },
  ),
  msgsvc_workflow_dlq_flow_control_runs: gauge('Failed runs by flow control key.', {
    labels: ['flow_control_key'],
    source: 'flowControlKey',
    lingers: true,
  }),
  msgsvc_workflow_dlq_aged_runs: gauge(
    'Failed runs by age range, unknown for invalid rows; the sum is the size of the workflow DLQ.',
    { labels: ['age'], source: 'time of the read - createdAt' },
  ),
  msgsvc_workflow_dlq_expiring_runs: gauge(
    'Failed runs that expire within 24h and within 72h, which includes 24h. Absent if limits.dlqRetention is not set.',
    { labels: ['workflow', 'within'], source: 'createdAt + limits.dlqRetention', lingers: true },
  ),
  msgsvc_workflow_dlq_oldest_run_timestamp_seconds: gauge(
    'Unix timestamp of the failure of the oldest run in the DLQ.',
    { labels: ['workflow'], source: 'min(createdAt)', merge: 'min' },
  ),
  msgsvc_workflow_dlq_newest_run_timestamp_seconds: gauge(
    'Unix timestamp of the failure of the newest run in the DLQ.',
    { labels: ['workflow'], source: 'max(createdAt)', merge: 'max' },
  ),
});

export const passedRuns = family({ heading: 'Workflow DLQ', account: true, mirrored: true }).of({
  msgsvc_workflow_dlq_entered_runs_total: counter(
    'Runs that entered the DLQ since counting began, each counted once.',
    { labels: ['workflow', 'reason'], source: 'dlqId first seen' },
  ),
  msgsvc_workflow_dlq_left_runs_total: counter(
    'Runs that left the DLQ, by cause: resumed or deleted by this daemon, expired, other (by others, or also by age if limits.dlqRetention is not set), or unknown (by age or by others while the daemon was not reading).',
    { labels: ['workflow', 'cause'], source: 'dlqId gone from a whole listing, or acted on by this daemon' },
  ),
  msgsvc_workflow_run_lifetime_seconds: histogram(
    'Time between the creation of a run and its failure in seconds, for runs that entered the DLQ.',
    {
      source: 'createdAt - workflowCreatedAt',
      buckets: [1, 5, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 259_200, 604_800],
    },
  ),
});

export const flowControlMetrics = family({
  heading: 'Flow control',
  account: true,
  collector: 'flowControl',
  labels: ['flow_control_key'],
}).of({
  msgsvc_flow_control_waitlist_messages: gauge('Messages waiting because of flow control.', { source: 'waitListSize' }),
  msgsvc_flow_control_parallelism_limit: gauge(
    'Configured maximum of messages in parallel. Absent if no parallelism is set.',
    { source: 'parallelismMax', unit: 'messages' },
  ),
  msgsvc_flow_control_parallelism_in_use: gauge('Messages currently running in parallel.', {
    source: 'parallelismCount',
    unit: 'messages',
  }),
  msgsvc_flow_control_rate_limit_messages: gauge(
    'Configured maximum of messages per rate period. Absent if no rate is set.',
    { source: 'rateMax' },
  ),
  msgsvc_flow_control_rate_used_messages: gauge(
    'Messages dispatched in the current rate period; aliased if the poll interval exceeds the rate period.',
    { source: 'rateCount' },
  ),
  msgsvc_flow_control_rate_period_seconds: gauge('Length of the rate period, in seconds.', {
    source: 'ratePeriod',
    merge: 'max',
  }),
  msgsvc_flow_control_rate_period_start_timestamp_seconds: gauge('Unix timestamp when the current rate period began.', {
    source: 'ratePeriodStart',
    merge: 'max',
  }),
  msgsvc_flow_control_parallelism_pinned: flagMetric('1 if the key has a pinned parallelism configuration, else 0.', {
    source: 'isPinnedParallelism',
    merge: 'max',
  }),
  msgsvc_flow_control_rate_pinned: flagMetric('1 if the key has a pinned rate configuration, else 0.', {
    source: 'isPinnedRate',
    merge: 'max',
  }),
  msgsvc_flow_control_paused: flagMetric('1 if delivery of messages of this key is paused, else 0.', {
    source: 'isPaused',
    merge: 'max',
  }),
  msgsvc_flow_control_keys: gauge(
    'Watched flow control keys, by origin: configured, or discovered in entries of the log and the workflow DLQ.',
    { labels: ['origin'], source: 'derived' },
  ),
});

export const flowControlTotals = family({ heading: 'Flow control', account: true, mirrored: true }).of({
  msgsvc_flow_control_saturated_seconds_total: counter(
    'Time with waiting messages in seconds, by constraint: parallelism, rate, paused, or other (no visible limit, or different ones at the two readings).',
    { labels: ['flow_control_key', 'constraint'], source: 'two readings that show a waiting list' },
  ),
  opsd_flow_control_keys_unwatched_total: counter(
    'Distinct flow control keys that were seen in entries and are not watched because of the limit.',
    { source: 'collectors.flowControl.discover' },
  ),
});

export const urlGroupMetrics = family({
  heading: 'URL groups',
  account: true,
  collector: 'urlGroups',
  labels: ['url_group'],
}).of({
  msgsvc_url_groups: gauge('URL groups of the account.', { labels: [], source: 'length' }),
  msgsvc_url_group_endpoints: gauge('Endpoints of a URL group.', { source: 'endpoints.length' }),
  msgsvc_url_group_created_timestamp_seconds: gauge('Unix timestamp of the creation of a URL group.', {
    source: 'createdAt',
    merge: 'min',
  }),
  msgsvc_url_group_updated_timestamp_seconds: gauge('Unix timestamp of the last update of a URL group.', {
    source: 'updatedAt',
    merge: 'max',
  }),
});

export const canaries = family({ heading: 'Canaries', account: true, labels: ['canary'], source: 'canaries' }).of({
  msgsvc_canary_verdict_info: gauge(
    'Verdict of the last message of a canary, always 1: ok, service, account, throttled, network, receiver, service_reporting, or unknown.',
    { labels: ['canary', 'verdict'] },
  ),
  msgsvc_canary_round_trip_seconds: histogram(
    'Time from the publish request of a canary message to its arrival at the hooks listener, in seconds.',
    { buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600] },
  ),
  msgsvc_canary_phase_seconds: histogram(
    'Duration of a phase in seconds: accepted (from the request), logged and arrived (from accepted), callback and delivered (from arrived). The log is read at intervals, so logged and delivered are upper bounds.',
    { labels: ['canary', 'phase'], buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600] },
  ),
  msgsvc_canary_messages_total: counter(
    'Canary messages by outcome: sent, rejected (by the service), arrived, late (after the timeout), altered, duplicate, or lost.',
    { labels: ['canary', 'outcome'] },
  ),
  msgsvc_canary_last_success_timestamp_seconds: gauge(
    'Unix timestamp of the arrival of the last canary message with the verdict ok. Absent before the first one.',
  ),
});

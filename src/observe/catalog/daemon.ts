/** Metrics of the daemon itself, of the files of its store, and of its process. */
import { counter, family, flagMetric, gauge, histogram } from './metric-spec.ts';

export const daemon = family({ heading: 'The daemon', account: false }).of({
  opsd_unknown_outcomes: gauge('Actions whose outcome is unknown.', { source: 'ledger' }),
  opsd_oldest_intent_timestamp_seconds: gauge(
    'Unix timestamp when the oldest unsettled action began. Absent if all actions are settled.',
    { source: 'ledger' },
  ),
  opsd_cap_remaining: gauge(
    'Items or dollars that a sliding window still allows, by scope: engine, deletes, spend, account or policy.',
    { labels: ['scope', 'window'], source: 'caps' },
  ),
  opsd_paused: flagMetric('1 if the engine or a policy is paused, else 0.', {
    labels: ['scope'],
    source: 'kill switch, pauses',
  }),
  opsd_leader: flagMetric('1 if this process holds the store, else 0.', { source: 'store' }),
  opsd_accounts_unowned: gauge(
    'Accounts of the configuration without a live owner, as this replica sees it. Absent with SQLite, and while an owner is unknown.',
    { source: 'lease' },
  ),
  opsd_audit_records_total: counter('Records written to the audit log.', { source: 'audit log', debug: true }),
  opsd_audit_write_errors_total: counter(
    'Records that could not be written to the audit log. The changes they describe were not made.',
    { source: 'audit log' },
  ),
  opsd_spans_exported_total: counter('Spans acknowledged by the trace receiver.', {
    source: 'exporter',
    mirrored: true,
  }),
  opsd_spans_dropped_total: counter(
    'Spans that will not be delivered, by reason: queue (no space), budget (above the rate limit), too_old, unreadable (invalid time), rejected (by the receiver), or failed (a span of the daemon was not accepted).',
    { labels: ['reason'], source: 'exporter', mirrored: true },
  ),
  opsd_spans_export_lag_seconds: histogram(
    'Time between the creation of spans and their acknowledgment by the trace receiver, in seconds; one observation per request.',
    { source: 'exporter', debug: true, buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600] },
  ),
  opsd_spans_queued: gauge('Delivery spans stored until the receiver acknowledges them.', { source: 'outbox' }),
  opsd_spans_oldest_queued_timestamp_seconds: gauge(
    'Unix timestamp when the oldest unacknowledged spans were made. Absent if there are none.',
    { source: 'outbox' },
  ),
  opsd_delivery_events_written_total: counter('Delivery events written to the log (telemetry.deliveryEvents).', {
    source: 'delivery log',
    mirrored: true,
  }),
  opsd_delivery_events_dropped_total: counter('Delivery events dropped because too many were waiting to be written.', {
    source: 'delivery log',
    mirrored: true,
  }),
  opsd_delivery_events_write_failures_total: counter(
    'Failed writes of delivery events, including writes to a full pipe. The events are retried.',
    { source: 'delivery log' },
  ),
  opsd_log_messages_total: counter('Log lines written, by level.', {
    labels: ['level'],
    source: 'logger',
    unit: 'items',
  }),
  opsd_schedule_rearms_total: counter('Schedules that were set again because the clock jumped.', {
    source: 'scheduler',
  }),
  opsd_state_last_save_timestamp_seconds: gauge('Unix timestamp of the last commit of counters and positions.', {
    source: 'store',
  }),
  opsd_state_save_failures_total: counter('Failed writes to the store.', { source: 'store' }),
  opsd_state_restored: flagMetric('1 if this process started from stored state, else 0.', { source: 'store' }),
  opsd_config_last_reload_successful: flagMetric(
    '1 if the last load of the configuration succeeded, else 0. The first load counts.',
    { source: 'configuration' },
  ),
  opsd_config_last_reload_success_timestamp_seconds: gauge(
    'Unix timestamp of the last successful load of the configuration, changed or not.',
    { source: 'configuration' },
  ),
  opsd_tls_certificate_not_after_timestamp_seconds: gauge(
    'Unix timestamp of the earliest expiry in the certificate chain of a listener.',
    { labels: ['listener'], source: 'web configuration' },
  ),
  opsd_config_hash: gauge('First 48 bits of the hash of the loaded configuration.', {
    source: 'configuration',
    unit: 'as served',
  }),
  opsd_build_info: gauge('Build of the daemon, always 1.', {
    labels: ['version', 'revision', 'node_version'],
    source: 'build',
  }),
  opsd_series: gauge(
    'Series exported in the text format. OpenMetrics adds a creation time to counters and histograms.',
    { source: 'registry' },
  ),
  opsd_series_by_family: gauge('Series exported in the text format, by metric family.', {
    labels: ['family'],
    source: 'registry',
    debug: true,
  }),
  opsd_series_limit: gauge('Maximum series exported, over all metrics.', { source: 'configuration' }),
  opsd_series_dropped_total: counter('Rejections of a new label set because the series limit was reached.', {
    source: 'registry',
  }),
  opsd_label_values_overflowed_total: counter(
    'Distinct label values counted under "other" because of a cardinality limit, each counted once; at most 500,000.',
    { labels: ['label'], source: 'limiter' },
  ),
  opsd_invalid_values_total: counter(
    'Invalid values that were neither counted nor exported, by source: not a number, an impossible amount, a time outside 2015 to 2100. Each reading counts.',
    { labels: ['source'], source: 'exporter' },
  ),
  opsd_projection_failures_total: counter('Failed computations of the metrics of a source, which were withheld.', {
    labels: ['source'],
    source: 'exporter',
  }),
});

export const storeFiles = family({ heading: 'The store', account: false, source: 'store' }).of({
  opsd_store_size_bytes: gauge(
    'Size of the store file and its write-ahead log, in bytes. Absent if the file does not exist.',
  ),
  opsd_store_free_bytes: gauge('Space available to the daemon on the file system of the store, in bytes.'),
  opsd_backup_interval_seconds: gauge(
    'Configured interval of scheduled backups, in seconds. Absent if backups are not scheduled.',
    { source: 'configuration' },
  ),
  opsd_backup_last_success_timestamp_seconds: gauge(
    'Unix timestamp of the newest complete and verified scheduled backup. Absent if there is none.',
    { source: 'backup folder' },
  ),
  opsd_backup_size_bytes: gauge('Size of the newest scheduled backup, in bytes.', { source: 'backup folder' }),
  opsd_backup_failures_total: counter('Scheduled backups that failed.'),
});

/** With the names and help texts of prom-client. */
export const processMetrics = family({ heading: 'The process', account: false, source: 'prom-client' }).of({
  process_cpu_seconds_total: counter('Total user and system CPU time spent in seconds.'),
  process_start_time_seconds: gauge('Start time of the process since unix epoch in seconds.', { unit: 'timestamp' }),
  process_resident_memory_bytes: gauge('Resident memory size in bytes.'),
  process_open_fds: gauge('Number of open file descriptors.'),
  process_max_fds: gauge('Maximum number of open file descriptors.'),
  nodejs_heap_size_total_bytes: gauge('Process heap size from Node.js in bytes.'),
  nodejs_heap_size_used_bytes: gauge('Process heap size used from Node.js in bytes.'),
  nodejs_external_memory_bytes: gauge('Node.js external memory size in bytes.'),
  nodejs_eventloop_active_seconds_total: counter(
    'Time that the event loop was busy, in seconds; its rate is the share of one core.',
    { source: 'performance.eventLoopUtilization' },
  ),
  nodejs_eventloop_idle_seconds_total: counter('Time that the event loop was idle, in seconds.', {
    source: 'performance.eventLoopUtilization',
  }),
});

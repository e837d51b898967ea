/** Metrics of the collectors, of what they read, and of their requests to the service. */
import { counter, family, flagMetric, gauge, histogram } from './metric-spec.ts';

export const collectorMetrics = family({
  heading: 'Collectors',
  account: true,
  labels: ['collector'],
  source: 'scheduler',
}).of({
  opsd_collector_success: flagMetric('1 if the last run of the collector succeeded, else 0.'),
  opsd_collector_duration_seconds: gauge('Duration of the last run of the collector, in seconds.'),
  opsd_collector_interval_seconds: gauge('Configured interval of the collector, in seconds.'),
  opsd_collector_last_success_timestamp_seconds: gauge(
    'Unix timestamp of the last successful run of the collector. Its exported data is at least this old.',
  ),
  opsd_collector_stale: flagMetric(
    '1 if the data of the collector is older than its maximum staleness and is withheld, else 0.',
  ),
  opsd_collector_runs_total: counter('Runs of the collector.', { unit: 'items' }),
  opsd_collector_failures_total: counter('Failed runs of the collector, by reason.', {
    labels: ['collector', 'reason'],
  }),
  opsd_collector_runs_skipped_total: counter(
    'Skipped runs of the collector, by reason: overlap (the previous run is not finished), quota (no request is left today).',
    { labels: ['collector', 'reason'] },
  ),
  opsd_workflow_dlq_listing_complete: flagMetric('1 if the last listing of the workflow DLQ read every page, else 0.', {
    labels: [],
    source: 'cursor',
  }),
});

export const logReader = family({ heading: 'Log reader', account: true, source: 'windows', mirrored: true }).of({
  opsd_log_pages_total: counter('Pages read from the log.'),
  opsd_log_windows_halved_total: counter(
    'Log windows that reached a limit or failed, and were read again in smaller parts.',
  ),
  opsd_log_watermark_resets_total: counter('Resets of the log watermark because it was ahead of the local clock.'),
  opsd_log_duplicate_entries_total: counter('Log entries that were read again and not counted again.', { debug: true }),
  opsd_log_late_entries_total: counter(
    'Log entries that appeared after their time was first read and were found by a sweep.',
    { source: 'sweep' },
  ),
  opsd_log_invalid_entries_total: counter('Invalid log entries, which no other metric counts; each counts once.'),
  opsd_log_unjoined_deliveries_total: counter(
    'Deliveries of unknown duration because the creation of the message was never read.',
    { source: 'joins' },
  ),
  opsd_log_unjoined_attempts_total: counter('Attempts of unknown duration because their start was never read.', {
    source: 'joins',
  }),
  opsd_log_revised_durations_total: counter('Measured waits and attempts that a late entry proved wrong.', {
    source: 'joins',
    debug: true,
  }),
  opsd_messages_abandoned_total: counter(
    'Messages abandoned because they had no entry for a day, or because too many messages were in flight.',
    { source: 'joins' },
  ),
});

export const logProgress = family({ heading: 'Log reader', account: true, source: 'windows' }).of({
  opsd_log_watermark_timestamp_seconds: gauge('Unix timestamp of the end of the counted log.'),
  opsd_log_lag_seconds: gauge(
    'Age of the log watermark, in seconds. Absent while the watermark is ahead of the local clock.',
  ),
  opsd_log_catch_up_ratio: gauge(
    'Seconds of log counted per second, over the last 10 minutes; the lag shrinks above 1 and grows below 1.',
  ),
});

export const entryMode = family({ heading: 'Log reader', account: true, collector: 'logs' }).of({
  opsd_log_entry_mode_info: gauge(
    'Entry mode of the log, always 1: transitions (an entry for each change of state), present (one entry per message), or unknown so far.',
    { labels: ['mode'], source: 'entries of a delivered message' },
  ),
});

export const statsReader = family({
  heading: 'Statistics counting',
  account: true,
  labels: ['source'],
  source: 'derived',
  mirrored: true,
}).of({
  opsd_stats_points_total: counter('Points of the statistics that were counted, in minutes.', { debug: true }),
  opsd_stats_points_backfilled_total: counter(
    'Counted points that were older than one interval of the collector, after an outage or a restart.',
    { debug: true },
  ),
  opsd_stats_points_revised_total: counter(
    'Points that changed after they were counted; if this grows, raise settleDelay.',
  ),
  opsd_stats_points_missed_total: counter(
    'Points that are not counted because they were never served or were partly counted before.',
  ),
  opsd_stats_corrections_total: counter(
    'Decreases of a monthly total within its month, which its counter does not follow.',
    { debug: true },
  ),
});

export const statsPoints = family({
  heading: 'Statistics checks',
  account: true,
  collector: 'accountStats',
  labels: ['source'],
}).of({
  opsd_stats_point_timestamp_seconds: gauge('Unix timestamp of the newest counted point.', {
    labels: ['source', 'series'],
    source: 'x',
    merge: 'min',
  }),
  opsd_stats_points_day_ratio: gauge(
    "Sum of today's points divided by today's value in the daily arrays; 1 if collectors.accountStats.points is correct.",
    { source: 'derived' },
  ),
  opsd_stats_points_misread: flagMetric(
    "1 if today's points and today's value differ by more than late points explain, else 0. Then collectors.accountStats.points is wrong.",
    { source: 'derived' },
  ),
  opsd_reconciliation_ratio: gauge(
    'Count of a source for the last whole hour divided by the count of the log, by message state; 1 if they agree.',
    { labels: ['source', 'state'], source: 'self check' },
  ),
  opsd_reconciliation_gap: flagMetric(
    '1 if source and log differed by more than rounding, to the same side, in two consecutive hours, else 0.',
    { labels: ['source', 'state'], source: 'self check' },
  ),
});

export const api = family({ heading: 'Requests to the service', account: true, labels: ['api'], source: 'client' }).of({
  opsd_api_last_success_timestamp_seconds: gauge('Unix timestamp of the last successful response.'),
  opsd_api_requests_total: counter('Requests sent to the service, by status code; error if there was no response.', {
    labels: ['api', 'operation', 'code'],
  }),
  opsd_api_request_duration_seconds: histogram('Duration of requests to the service, in seconds.', {
    labels: ['api', 'operation'],
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  }),
  opsd_api_response_bytes_total: counter('Response bytes read.', { labels: ['api', 'operation'], debug: true }),
  opsd_api_request_retries_total: counter('Requests that were retried after a retryable failure.', {
    labels: ['api', 'operation'],
    unit: 'requests',
  }),
  opsd_api_throttled_requests_total: counter('Requests delayed by the local rate limiter.'),
  opsd_api_throttle_wait_seconds_total: counter('Time that requests waited in the local rate limiter, in seconds.'),
  opsd_api_quota_requests: gauge('Maximum requests that the daemon sends per UTC day.', { source: 'configuration' }),
  opsd_api_quota_used_requests: gauge('Requests sent in the current UTC day, including those before a restart.'),
  opsd_api_rate_limit_remaining_requests: gauge(
    'Remaining requests reported in response headers, by window. Absent if the service sends no such headers.',
    { labels: ['api', 'window'], source: 'response headers' },
  ),
  opsd_api_invalid_rows_total: counter(
    'Invalid rows and fields that were dropped from responses. A row that is read again is counted again.',
    { labels: ['operation'] },
  ),
  opsd_credential_rotated_timestamp_seconds: gauge(
    'Unix timestamp of the last write to a credential file in use, which is the minimum age of the credential. Absent before its first use.',
    { labels: ['credential'], source: 'secret files' },
  ),
});

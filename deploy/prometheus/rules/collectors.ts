/** Alerts about collectors: failed and late readings, and counters that are wrong. */
import { counted, owned } from '../owner.ts';
import { duration, latest, promql, type AlertGroup } from '../rule.ts';
import { GAUGE_RANGE, THRESHOLDS } from '../thresholds.ts';

const { failedRatio, minFailedRuns, logsBehindSeconds, logUnreadSeconds } = THRESHOLDS.collectors;

/** Template of the catch-up rate of the alert's account. */
const catchUpRatio =
  '{{ with printf "max(opsd_log_catch_up_ratio{account=%[1]q}) or max(last_over_time(opsd_log_catch_up_ratio{account=%[1]q}[15m]))" $labels.account | query }}{{ . | first | value | printf "%.1f" }}{{ else }}?{{ end }} s/s';

const LOG_UNREAD = latest('opsd_collector_stale{collector="logs"}', 'job, account');

/** A run that ended because the daemon stopped, or because another replica owns the account, is not a failure. */
const FAILED_RUNS =
  'sum by (job, account, collector) (increase(opsd_collector_failures_total{reason!~"aborted|lease"}[30m]))';

export const collectorAlerts: AlertGroup = {
  name: 'opsd-collectors',
  rules: [
    {
      alert: 'OpsdLogUnread',
      // A process that never read the log has no last success. Its start counts instead.
      expr: promql`
        (
          time() - ${latest('opsd_collector_last_success_timestamp_seconds{collector="logs"}', 'job, account')}
          or
          max by (job, account) (
            (${owned(`last_over_time(opsd_collector_stale{collector="logs"}[${GAUGE_RANGE}])`)})
              * on (job, instance) group_left ()
            (time() - max by (job, instance) (last_over_time(process_start_time_seconds[${GAUGE_RANGE}])))
          )
        )
        and ${LOG_UNREAD} == 1
        or
        ${latest('opsd_log_lag_seconds', 'job, account')} > ${logUnreadSeconds}
        and
        max by (job, account) (${owned(`max_over_time(opsd_log_catch_up_ratio[${GAUGE_RANGE}])`)}) <= 1
      `,
      for: '5m',
      severity: 'critical',
      area: 'collectors',
      summary: `{{ $labels.account }}: log unread for {{ $value | humanizeDuration }} (limit 3 intervals or ${duration(logUnreadSeconds)})`,
      description:
        'The daemon read nothing for three intervals, or is behind by more than the limit and does not catch up. Message failures are not visible, and policies that need the log are held. Read the last error of the source logs.',
    },
    {
      alert: 'OpsdCollectorStale',
      expr: `${latest('opsd_collector_stale{collector!="logs"}', 'job, account, collector')} == 1`,
      for: '5m',
      severity: 'warning',
      area: 'collectors',
      summary: '{{ $labels.account }}: no reading of {{ $labels.collector }} (limit 3 intervals)',
      description:
        'The gauges of this source are withheld. Alerts on them resolve within 15 minutes without a repair, and policies that need them are held. Read the last error of the source.',
    },
    {
      alert: 'OpsdCollectorFailing',
      expr: promql`
        ${FAILED_RUNS} >= ${minFailedRuns}
        and
        ${FAILED_RUNS} > ${failedRatio} * sum by (job, account, collector) (increase(opsd_collector_runs_total[30m]))
      `,
      for: '5m',
      severity: 'warning',
      area: 'collectors',
      extended: true,
      summary: `{{ $labels.account }}: {{ $labels.collector }} failed {{ $value | humanize }} times in 30 min (limit ${minFailedRuns - 1})`,
      description:
        'More than half of the readings failed. After three intervals without a reading the gauges are withheld. Read the last error of the source.',
    },
    {
      alert: 'OpsdLogsBehind',
      expr: `time() - ${latest('opsd_log_watermark_timestamp_seconds', 'job, account')} > ${logsBehindSeconds}`,
      for: '5m',
      severity: 'warning',
      area: 'collectors',
      summary: `{{ $labels.account }}: log {{ $value | humanizeDuration }} behind, runs at ${catchUpRatio} (limit ${duration(logsBehindSeconds)})`,
      description:
        'Counters and their alerts are late by the lag; nothing is lost. The rate is in seconds of log per second. Above 1 the lag falls: wait. Otherwise check the collector.',
    },
    {
      alert: 'OpsdInvalidInput',
      // Invalid rows of the log are counted as log entries.
      expr: promql`
        ${counted('increase', 'opsd_log_invalid_entries_total', 'job, account', { window: '15m' })} > 0
        or
        sum by (job, account, operation) (increase(opsd_api_invalid_rows_total{operation!="list-logs"}[15m])) > 0
        or
        increase(opsd_invalid_values_total[15m]) > 0
        or
        increase(opsd_projection_failures_total[15m]) > 0
      `,
      severity: 'warning',
      area: 'collectors',
      summary:
        '{{ with $labels.account }}{{ . }}: {{ end }}{{ $value | humanize }} invalid rows or values of {{ or $labels.operation $labels.source "the log" }} (limit 0)',
      description:
        "The daemon dropped rows that it could not parse, or withheld values outside of their range. Counters are too low, or metrics are absent. Look for an example in the daemon's log.",
    },
    {
      alert: 'OpsdCountsDisagree',
      expr: promql`
        ${latest('opsd_reconciliation_gap', 'job, account, source, state')} == 1
        or
        ${counted('increase', 'opsd_stats_points_missed_total', 'job, account, source', { window: '1h' })} > 0
        or
        ${latest('opsd_stats_points_misread', 'job, account, source')} == 1
      `,
      for: '10m',
      severity: 'warning',
      area: 'collectors',
      summary:
        '{{ $labels.account }}: counters of {{ $labels.source }}{{ with $labels.state }} {{ . }}{{ end }} wrong or incomplete',
      description:
        'The log and the statistics differ in two successive hours, or points of the statistics are missing or misread. Some counters of this source are wrong. Compare both figures on the status page.',
    },
  ],
};

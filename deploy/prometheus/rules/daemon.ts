/** Alerts about the daemon itself: whether it is there, what it runs on, and what it cannot tell any more. */
import { promql, type AlertGroup } from '../rule.ts';
import { GAUGE_RANGE, THRESHOLDS } from '../thresholds.ts';

const T = THRESHOLDS.daemon;

export const daemonAlerts: AlertGroup = {
  name: 'opsd-daemon',
  rules: [
    {
      alert: 'OpsdDown',
      // Whatever its job is called: a target that told of a build within a week is a daemon.
      expr: 'up == 0 and on (job, instance) last_over_time(opsd_build_info[7d])',
      for: '2m',
      severity: 'critical',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} cannot be scraped.',
      description:
        'Nothing is known of its accounts, and nothing is repaired. Other alerts on it end within 15 minutes.',
    },
    {
      alert: 'OpsdAbsent',
      // Its target is gone, as that of a Pod is. A job that had one within a day, or, after that, no daemon at all.
      expr: promql`
        group by (job) (last_over_time(opsd_build_info[1d])) unless group by (job) (last_over_time(opsd_build_info[5m]))
        or
        absent_over_time(opsd_build_info[1d])
      `,
      for: '2m',
      severity: 'critical',
      area: 'daemon',
      summary: 'No daemon{{ with $labels.job }} of job {{ . }}{{ end }} is scraped.',
      description:
        'The label job says where there was one; without it there was none for a day. Nothing is known of its accounts, and nothing is repaired. Where it was the only one, no other alert of these rules can fire.',
    },
    {
      alert: 'OpsdRestarting',
      expr: promql`
        changes(process_start_time_seconds[1h]) >= ${T.restarts}
        and on (job, instance) last_over_time(opsd_build_info[${GAUGE_RANGE}])
      `,
      severity: 'warning',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} has started {{ $value }} times within an hour.',
      description:
        'It crashes, or something ends it. Counters are safe; after each start policies wait for their first readings.',
    },
    {
      alert: 'OpsdReloadFailed',
      expr: `last_over_time(opsd_config_last_reload_successful[${GAUGE_RANGE}]) == 0`,
      for: '1m',
      severity: 'warning',
      area: 'daemon',
      summary: 'The changed configuration of the daemon at {{ $labels.instance }} cannot be used.',
      description:
        'It runs on with the one before; where the change may concern policies they run in audit, and nothing is repaired. A restart now would fail.',
    },
    {
      alert: 'OpsdStoreFailing',
      expr: 'increase(opsd_state_save_failures_total[5m]) > 0',
      for: '5m',
      severity: 'critical',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} cannot write its store.',
      description: 'Counters stand still, and policies do nothing. What was not written is read again when it can be.',
    },
    {
      alert: 'OpsdStateNotSaved',
      // Without a reading there is nothing to save: what is read and not saved is the trouble.
      expr: promql`
        max by (job, instance, account) (
          last_over_time(opsd_collector_last_success_timestamp_seconds{collector=~"logs|accountStats"}[${GAUGE_RANGE}])
        )
          - on (job, instance) group_left ()
        max by (job, instance) (last_over_time(opsd_state_last_save_timestamp_seconds[${GAUGE_RANGE}])) > ${T.notSavedSeconds}
      `,
      for: '5m',
      severity: 'critical',
      area: 'daemon',
      summary:
        'The daemon at {{ $labels.instance }} has saved nothing for {{ $value | humanizeDuration }}, though it reads.',
      description:
        'Each reading of the log and of the statistics ends with a commit. A restart would count from the last one.',
    },
    {
      alert: 'OpsdAuditNotWritten',
      expr: 'increase(opsd_audit_write_errors_total[15m]) > 0',
      severity: 'critical',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} cannot write its audit log.',
      description: 'What cannot be written there is not done: policies do nothing.',
    },
    {
      alert: 'OpsdNotLeader',
      expr: `last_over_time(opsd_leader[${GAUGE_RANGE}]) == 0`,
      for: '5m',
      severity: 'warning',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} may not act on its store.',
      description: 'Another process has opened the store, or it was exchanged under the daemon. Its policies are held.',
    },
    {
      alert: 'OpsdLogErrors',
      expr: 'increase(opsd_log_messages_total{level="error"}[15m]) > 0',
      severity: 'info',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} logs errors.',
      description: 'An error is what somebody should look at now; most have an alert of their own as well.',
    },
    {
      alert: 'OpsdEventLoopSaturated',
      expr: promql`
        rate(nodejs_eventloop_active_seconds_total[5m])
          / (rate(nodejs_eventloop_active_seconds_total[5m]) + rate(nodejs_eventloop_idle_seconds_total[5m])) > ${T.eventLoopRatio}
        and on (job, instance) last_over_time(opsd_build_info[${GAUGE_RANGE}])
      `,
      for: '10m',
      severity: 'warning',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} is busy {{ $value | humanizePercentage }} of the time.',
      description: 'Readings, scrapes and answers are late, and probes may fail.',
    },
    {
      alert: 'OpsdMemoryHigh',
      expr: promql`
        last_over_time(process_resident_memory_bytes[${GAUGE_RANGE}]) > ${T.residentBytes}
        and on (job, instance) last_over_time(opsd_build_info[${GAUGE_RANGE}])
      `,
      for: '15m',
      severity: 'warning',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} uses {{ $value | humanize1024 }}B of memory.',
      description: 'That is near the limit of the shipped Deployment, beyond which it is killed and starts anew.',
    },
    {
      alert: 'OpsdFileDescriptorsLow',
      expr: promql`
        last_over_time(process_open_fds[${GAUGE_RANGE}])
          / last_over_time(process_max_fds[${GAUGE_RANGE}]) > ${T.fileDescriptorsRatio}
        and on (job, instance) last_over_time(opsd_build_info[${GAUGE_RANGE}])
      `,
      for: '10m',
      severity: 'warning',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} has opened {{ $value | humanizePercentage }} of the files it may.',
      description: 'When none is left, requests, scrapes and the store fail.',
    },
    {
      alert: 'OpsdSeriesNearLimit',
      expr: promql`
        sum without (family) (last_over_time(opsd_series[${GAUGE_RANGE}]))
          / last_over_time(opsd_series_limit[${GAUGE_RANGE}]) > ${T.seriesRatio}
      `,
      for: '15m',
      severity: 'warning',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} shows {{ $value | humanizePercentage }} of the series it may.',
      description: 'New destinations and workflows will not be shown when the limit is reached.',
    },
    {
      alert: 'OpsdSeriesRefused',
      expr: 'increase(opsd_series_refused_total[15m]) > 0',
      severity: 'warning',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} refuses new series.',
      description:
        'There are as many as telemetry.metrics.maxSeries allows: what is new is in no metric and in no alert.',
    },
    {
      alert: 'OpsdLabelsFolded',
      expr: 'increase(opsd_label_values_folded_total[1h]) > 0',
      severity: 'info',
      area: 'daemon',
      summary: 'New values of label {{ $labels.label }} are shown as other.',
      description: 'The label has as many values as it may. Alerts by this label see the new ones only together.',
    },
    {
      alert: 'OpsdSpansDropped',
      // What is beyond the budget was configured to be dropped.
      expr: 'increase(opsd_spans_dropped_total{reason!="budget"}[15m]) > 0',
      severity: 'warning',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} drops spans: {{ $labels.reason }}.',
      description: 'Traces of deliveries are not whole. Metrics and policies are not touched.',
    },
    {
      alert: 'OpsdSpansLagging',
      // The time is absent when none wait; the number is not.
      expr: promql`
        time() - (
          last_over_time(opsd_spans_oldest_waiting_timestamp_seconds[${GAUGE_RANGE}])
          and last_over_time(opsd_spans_waiting[${GAUGE_RANGE}]) > 0
        ) > ${T.spansLagSeconds}
      `,
      for: '5m',
      severity: 'warning',
      area: 'daemon',
      summary: 'Spans of the daemon at {{ $labels.instance }} have waited for {{ $value | humanizeDuration }}.',
      description:
        'The receiver of traces does not take them. They are kept, and dropped when they are too old or too many.',
    },
    {
      alert: 'OpsdDeliveryEventsDropped',
      expr: 'increase(opsd_delivery_events_dropped_total[15m]) > 0',
      severity: 'warning',
      area: 'daemon',
      summary: 'The daemon at {{ $labels.instance }} drops lines about ended messages.',
      description: 'The log pipeline reads too slowly, or the disk is full: these lines are lost to it.',
    },
    {
      alert: 'OpsdCredentialOld',
      expr: promql`
        time() - last_over_time(opsd_credential_rotated_timestamp_seconds[${GAUGE_RANGE}]) > ${T.credentialAgeSeconds}
      `,
      for: '1h',
      severity: 'info',
      area: 'daemon',
      summary: 'Credential {{ $labels.credential }} is {{ $value | humanizeDuration }} old.',
      description: 'It has not been replaced for longer than 90 days.',
    },
    ...(['critical', 'warning'] as const).map((severity) => ({
      alert: 'OpsdCertificateEnds',
      expr: promql`
        last_over_time(opsd_tls_certificate_not_after_timestamp_seconds[${GAUGE_RANGE}]) - time()
          < ${T.certificateLeftSeconds[severity]}
      `,
      for: '10m',
      severity,
      area: 'daemon' as const,
      summary:
        'The certificate of listener {{ $labels.listener }} at {{ $labels.instance }} ends in {{ $value | humanizeDuration }}.',
      description:
        'After that Prometheus, Alertmanager and people refuse to talk to this listener: the daemon then counts as down, though it goes on.',
    })),
    {
      alert: 'OpsdClockJumped',
      expr: 'increase(opsd_schedule_rearms_total[15m]) > 0',
      severity: 'info',
      area: 'daemon',
      summary: 'The clock of the daemon at {{ $labels.instance }} jumped.',
      description:
        'By a second or more, so that schedules were set anew. Policies hold while it differs from the service by more than a minute.',
    },
  ],
};

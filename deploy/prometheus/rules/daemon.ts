/** Alerts about the daemon itself: availability, resources, its store, and telemetry that it drops. */
import { ACCOUNTS_OF_REPLICA, OWNED_ACCOUNTS } from '../owner.ts';
import { duration, percent, promql, type AlertGroup } from '../rule.ts';
import { GAUGE_RANGE, KEEP_FIRING, THRESHOLDS } from '../thresholds.ts';

const T = THRESHOLDS.daemon;

const DOWN = 'up == 0 and on (job, instance) last_over_time(opsd_build_info[7d])';

/** Replicas, while other replicas of their job own accounts. */
const REPLACED = promql`
  (
    last_over_time(${ACCOUNTS_OF_REPLICA}[7d]) and on (job) ${OWNED_ACCOUNTS} > 0
  )`;

export const daemonAlerts: AlertGroup = {
  name: 'opsd-daemon',
  rules: [
    {
      alert: 'OpsdDown',
      // Works with any job name: a target that exposed opsd_build_info within a week is a daemon.
      expr: `${DOWN}\nunless on (job, instance) ${REPLACED}`,
      for: '2m',
      severity: 'critical',
      area: 'daemon',
      summary: '{{ $labels.instance }}: daemon down for over 2 min',
      description:
        'Its accounts are not observed, and nothing is repaired. Its other alerts resolve within 15 minutes. Read the error of the target in Prometheus.',
    },
    {
      alert: 'OpsdDown',
      expr: `${DOWN}\nand on (job, instance) ${REPLACED}`,
      for: '15m',
      severity: 'warning',
      area: 'daemon',
      extended: true,
      summary: '{{ $labels.instance }}: replica down for over 15 min',
      description:
        'The other replicas have taken over its accounts. With fewer replicas, the next failure may stop everything. Read the error of the target in Prometheus.',
    },
    {
      alert: 'OpsdAbsent',
      // The target disappeared, as with a deleted Pod: a job had a daemon within a day, or no job has one any more.
      expr: promql`
        group by (job) (last_over_time(opsd_build_info[1d])) unless group by (job) (last_over_time(opsd_build_info[5m]))
        or
        absent_over_time(opsd_build_info[1d])
      `,
      for: '2m',
      severity: 'critical',
      area: 'daemon',
      summary: 'No daemon{{ with $labels.job }} of job {{ . }}{{ end }} is scraped',
      description:
        'The job had a daemon within the last day. Without a job label, no daemon was scraped for a day, and no other alert of these rules can fire. Check the targets in Prometheus.',
    },
    {
      alert: 'OpsdRestarting',
      expr: promql`
        changes(process_start_time_seconds[1h]) >= ${T.restarts}
        and on (job, instance) last_over_time(opsd_build_info[${GAUGE_RANGE}])
      `,
      severity: 'warning',
      area: 'daemon',
      extended: true,
      summary: `{{ $labels.instance }}: {{ $value | humanize }} starts in 1 h (limit ${T.restarts - 1})`,
      description:
        'The process crashes or is killed. Counters are safe. After each start, policies wait for their first readings. Find the reason of the last exit.',
    },
    {
      alert: 'OpsdReloadFailed',
      expr: `last_over_time(opsd_config_last_reload_successful[${GAUGE_RANGE}]) == 0`,
      for: '1m',
      severity: 'warning',
      area: 'daemon',
      extended: true,
      summary: '{{ $labels.instance }}: configuration reload failed',
      description:
        'The daemon keeps the previous configuration. Policies may run in audit mode, and a restart would fail. Run opsd check on the configuration file.',
    },
    {
      alert: 'OpsdStoreFailing',
      // The second part needs a reading: without one there is nothing to save.
      expr: promql`
        increase(opsd_state_save_failures_total[5m]) > 0
        or on (job, instance)
        max by (job, instance, account) (
          last_over_time(opsd_collector_last_success_timestamp_seconds{collector=~"logs|accountStats"}[${GAUGE_RANGE}])
        )
          - on (job, instance) group_left ()
        max by (job, instance) (last_over_time(opsd_state_last_save_timestamp_seconds[${GAUGE_RANGE}])) > ${T.notSavedSeconds}
      `,
      for: '5m',
      severity: 'warning',
      area: 'daemon',
      summary: `{{ $labels.instance }}: store not written (limit ${duration(T.notSavedSeconds)})`,
      description:
        'Counters do not advance, and policies do nothing. Nothing is lost: the daemon reads the entries again when writes succeed. Check the disk of the store, or PostgreSQL.',
    },
    {
      alert: 'OpsdStoreFilling',
      // A trend over 6 hours needs nearly 6 hours of history.
      expr: promql`
        last_over_time(opsd_store_free_bytes[${GAUGE_RANGE}])
          < ${T.storeFreeFactor} * last_over_time(opsd_store_size_bytes[${GAUGE_RANGE}])
        or
        last_over_time(opsd_store_free_bytes[${GAUGE_RANGE}])
          and predict_linear(opsd_store_free_bytes[6h], ${T.storeFullSeconds}) < 0
          and last_over_time(opsd_store_free_bytes[${GAUGE_RANGE}] offset 5h30m)
      `,
      for: '15m',
      severity: 'warning',
      area: 'daemon',
      summary: `{{ $labels.instance }}: {{ $value | humanize1024 }}B free (limit ${T.storeFreeFactor} stores, or full in ${duration(T.storeFullSeconds)})`,
      description:
        'When the volume of the store is full, counters do not advance, and policies do nothing. Free disk space, or enlarge the volume.',
    },
    {
      alert: 'OpsdBackupOld',
      // Silent without a configured backup. A daemon that never made one counts from its start.
      expr: promql`
        time() - last_over_time(opsd_backup_last_success_timestamp_seconds[${GAUGE_RANGE}])
          > ${T.backupIntervals} * last_over_time(opsd_backup_interval_seconds[${GAUGE_RANGE}])
        or
        time() - (
          last_over_time(process_start_time_seconds[${GAUGE_RANGE}])
          unless on (job, instance) last_over_time(opsd_backup_last_success_timestamp_seconds[${GAUGE_RANGE}])
        )
          > on (job, instance) ${T.backupIntervals} * last_over_time(opsd_backup_interval_seconds[${GAUGE_RANGE}])
      `,
      for: '15m',
      severity: 'warning',
      area: 'daemon',
      summary: `{{ $labels.instance }}: last backup {{ $value | humanizeDuration }} ago (limit ${T.backupIntervals} intervals)`,
      description:
        'No scheduled backup succeeded in this time. If the store is lost, everything since the last backup is lost. Read the reason in the log of the daemon.',
    },
    {
      alert: 'OpsdAuditNotWritten',
      expr: 'increase(opsd_audit_write_errors_total[15m]) > 0',
      severity: 'critical',
      area: 'daemon',
      summary: '{{ $labels.instance }}: {{ $value | humanize }} failed writes of the audit log in 15 min (limit 0)',
      description:
        'Policies do nothing, because each action must first be recorded in the audit log. Check the disk and the permissions of the file.',
    },
    {
      alert: 'OpsdNotLeader',
      // Replicas share their store: only one of them is the leader.
      expr: `last_over_time(opsd_leader[${GAUGE_RANGE}]) == 0 unless on (job, instance) last_over_time(${ACCOUNTS_OF_REPLICA}[${GAUGE_RANGE}])`,
      for: '5m',
      severity: 'warning',
      area: 'daemon',
      extended: true,
      summary: '{{ $labels.instance }}: daemon does not own its store',
      description:
        'Another process opened the store, or someone replaced the file. All policies are held. Look for a second daemon on this volume.',
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
      extended: true,
      summary: `{{ $labels.instance }}: event loop {{ $value | humanizePercentage }} busy (limit ${percent(T.eventLoopRatio)})`,
      description:
        'Readings, scrapes, and responses are late, and probes may fail. Check whether a CPU limit throttles the process.',
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
      extended: true,
      summary: `{{ $labels.instance }}: {{ $value | humanize1024 }}B of memory (limit ${Math.round(T.residentBytes / 2 ** 20)} MiB)`,
      description:
        'At the memory limit of the shipped Deployment the process is killed and restarted. Raise the limit, or reduce the number of series.',
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
      extended: true,
      summary: `{{ $labels.instance }}: {{ $value | humanizePercentage }} of file descriptors in use (limit ${percent(T.fileDescriptorsRatio)})`,
      description: 'When none is left, requests, scrapes, and the store fail. Raise the limit of open files.',
    },
    {
      alert: 'OpsdSeriesNearLimit',
      expr: promql`
        last_over_time(opsd_series[${GAUGE_RANGE}])
          / last_over_time(opsd_series_limit[${GAUGE_RANGE}]) > ${T.seriesRatio}
      `,
      for: '15m',
      severity: 'warning',
      area: 'daemon',
      extended: true,
      summary: `{{ $labels.instance }}: {{ $value | humanizePercentage }} of allowed series in use (limit ${percent(T.seriesRatio)})`,
      description:
        'At 90 % and above, new destinations and workflows appear in no metric and no alert. Raise maxSeries, or lower the maximum of a label.',
    },
    {
      alert: 'OpsdSpansFailing',
      // Spans beyond the budget are dropped by configuration. Present values only: those of a process that is gone would
      // age.
      expr: promql`
        sum without (reason) (increase(opsd_spans_dropped_total{reason!="budget"}[15m])) > 0
        or
        time() - (
          opsd_spans_oldest_queued_timestamp_seconds and opsd_spans_queued > 0
        ) > ${T.spansLagSeconds}
      `,
      for: '5m',
      keepFiringFor: KEEP_FIRING,
      severity: 'warning',
      area: 'daemon',
      extended: true,
      summary: `{{ $labels.instance }}: spans dropped, or delayed (limit ${duration(T.spansLagSeconds)})`,
      description:
        'The receiver of traces rejects spans or is too slow. Traces are incomplete; metrics and policies are not affected. Read the log of the receiver.',
    },
    {
      alert: 'OpsdDeliveryEventsDropped',
      expr: 'increase(opsd_delivery_events_dropped_total[15m]) > 0',
      severity: 'warning',
      area: 'daemon',
      extended: true,
      summary: '{{ $labels.instance }}: {{ $value | humanize }} delivery events dropped in 15 min (limit 0)',
      description: 'These events are lost. The log pipeline reads too slowly, or the disk is full: check both.',
    },
    {
      alert: 'OpsdCertificateEnds',
      expr: promql`
        last_over_time(opsd_tls_certificate_not_after_timestamp_seconds[${GAUGE_RANGE}]) - time()
          < ${T.certificateLeftSeconds}
      `,
      for: '10m',
      severity: 'warning',
      area: 'daemon',
      extended: true,
      summary: `{{ $labels.instance }}: {{ $labels.listener }} certificate expires in {{ $value | humanizeDuration }} (limit ${duration(T.certificateLeftSeconds)})`,
      description:
        'After that, clients reject this listener. Prometheus reports the daemon as down, although it works. Renew the certificate.',
    },
    {
      alert: 'OpsdHeartbeat',
      expr: 'vector(1)',
      severity: 'none',
      area: 'daemon',
      summary: 'Heartbeat: this alert always fires',
      description:
        'It proves that Prometheus and Alertmanager work. Route it to a service that pages when the heartbeat stops.',
    },
  ],
};

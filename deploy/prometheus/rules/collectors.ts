/** Alerts about what the daemon reads: whether it does, how late, and whether its figures can be believed. */
import { promql, type AlertGroup } from '../rule.ts';
import { BLINDED_BY, GAUGE_RANGE, THRESHOLDS } from '../thresholds.ts';

const { failedRatio, minFailedRuns, logsBehindSeconds, givenUpMessages } = THRESHOLDS.collectors;

/** Template of the catch-up rate of the alert's account. */
const catchUpRatio =
  '{{ with printf "last_over_time(opsd_logs_catch_up_ratio{account=%q}[15m])" $labels.account | query }}{{ . | first | value | printf "%.1f" }}{{ else }}an unknown number of{{ end }} seconds of log per second';

/** How bad it is that runs fail while some still succeed: one less than when none does. */
const FAILING: readonly (readonly ['warning' | 'info', readonly string[]])[] = [
  ['warning', [...BLINDED_BY.critical, ...BLINDED_BY.warning]],
  ['info', BLINDED_BY.info],
];

export const collectorAlerts: AlertGroup = {
  name: 'opsd-collectors',
  rules: [
    ...FAILING.map(([severity, collectors]) => {
      const selector = `collector=~"${collectors.join('|')}"`;
      return {
        alert: 'OpsdCollectorFailing',
        // A run that was broken off by the daemon's own stop is no failure.
        expr: promql`
          sum without (reason) (increase(opsd_collector_failures_total{${selector}, reason!="aborted"}[30m])) >= ${minFailedRuns}
          and
          sum without (reason) (increase(opsd_collector_failures_total{${selector}, reason!="aborted"}[30m]))
            > ${failedRatio} * increase(opsd_collector_runs_total{${selector}}[30m])
        `,
        for: '5m',
        severity,
        area: 'collectors',
        summary: 'Collector {{ $labels.collector }} of {{ $labels.account }} keeps failing.',
        description:
          'More than half of its runs within half an hour failed. What it reads is late, and is withheld once nothing was read for three intervals.',
      } as const;
    }),
    ...(['critical', 'warning', 'info'] as const).map((severity) => ({
      alert: 'OpsdCollectorStale',
      expr: promql`
        last_over_time(opsd_collector_stale{collector=~"${BLINDED_BY[severity].join('|')}"}[${GAUGE_RANGE}]) == 1
      `,
      for: '5m',
      severity,
      area: 'collectors' as const,
      summary: 'Nothing new is known from collector {{ $labels.collector }} of {{ $labels.account }}.',
      description:
        'It has not read for three of its intervals: its gauges are withheld, alerts on them end within 15 minutes though nothing is well, and policies that need it hold.',
    })),
    {
      alert: 'OpsdLogsBehind',
      expr: promql`
        time() - last_over_time(opsd_logs_watermark_timestamp_seconds[${GAUGE_RANGE}]) > ${logsBehindSeconds}
      `,
      for: '5m',
      severity: 'warning',
      area: 'collectors',
      summary: 'Counting of the log of {{ $labels.account }} is {{ $value | humanizeDuration }} behind.',
      description: `Counting is {{ $value | humanizeDuration }} behind and runs at ${catchUpRatio}. Above 1 it catches up; nothing is lost. Counters and their alerts are late by the lag.`,
    },
    {
      alert: 'OpsdLogEntriesRefused',
      expr: 'increase(opsd_logs_refused_entries_total[15m]) > 0',
      severity: 'warning',
      area: 'collectors',
      summary: 'Log entries of {{ $labels.account }} could not be understood.',
      description:
        "They are in no counter, and will not be: figures of messages are too low by them. The daemon's log has an example.",
    },
    {
      alert: 'OpsdRowsDropped',
      // Those of the log are entries that were refused.
      expr: 'increase(opsd_api_dropped_rows_total{operation!="list-logs"}[15m]) > 0',
      severity: 'warning',
      area: 'collectors',
      summary: 'Rows of {{ $labels.operation }} of {{ $labels.account }} could not be understood.',
      description:
        "They were left out; sums that lack them are withheld or have them as unknown. The daemon's log has an example.",
    },
    {
      alert: 'OpsdMessagesGivenUp',
      expr: `increase(opsd_logs_given_up_messages_total[1h]) > ${givenUpMessages}`,
      severity: 'info',
      area: 'collectors',
      summary: 'Messages of {{ $labels.account }} are no longer waited for.',
      description:
        'The log told nothing of them for a day after they were due, or too many are in flight to follow. How they ended is in no figure.',
    },
    {
      alert: 'OpsdReconciliationGap',
      expr: `last_over_time(opsd_reconciliation_gap[${GAUGE_RANGE}]) == 1`,
      for: '10m',
      severity: 'warning',
      area: 'collectors',
      summary: 'Log and {{ $labels.source }} of {{ $labels.account }} disagree on {{ $labels.state }}.',
      description:
        'They differ to the same side in two hours in a row, by more than rounding. One of the two did not serve what happened, and what is counted from it is wrong.',
    },
    {
      alert: 'OpsdStatisticsPointsMissed',
      expr: 'increase(opsd_stats_points_missed_total[1h]) > 0',
      severity: 'warning',
      area: 'collectors',
      summary: 'Minutes of the statistics {{ $labels.source }} of {{ $labels.account }} are in no counter.',
      description:
        'They were never served, or it cannot be told what was counted of them. The counter is too low by what fell into them.',
    },
    {
      alert: 'OpsdStatisticsPointsMisread',
      expr: `last_over_time(opsd_stats_points_misread[${GAUGE_RANGE}]) == 1`,
      for: '10m',
      severity: 'warning',
      area: 'collectors',
      summary: 'Points of {{ $labels.source }} of {{ $labels.account }} do not add up to their day.',
      description:
        'The setting collectors.accountStats.points says what a point means, and is wrong for this service: counters from points are wrong by the same factor.',
    },
    {
      alert: 'OpsdMetricsWithheld',
      expr: promql`
        increase(opsd_refused_values_total[15m]) > 0
        or
        increase(opsd_projection_failures_total[15m]) > 0
      `,
      severity: 'warning',
      area: 'collectors',
      summary: 'Values of {{ $labels.source }} make no sense or could not be shown.',
      description:
        'Not a number, a negative count, a time outside 2015 to 2100, or a failure of the daemon: these metrics are absent, and panels and alerts on them are blind.',
    },
  ],
};

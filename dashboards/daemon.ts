/** Dashboard of the daemon itself: the reading of sources and its quality, and the health of the daemon. */
import { THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { FROM_ONE, PLAIN, rising, words } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { SOURCE_AGE, SOURCE_AGE_RATIO } from './parts/freshness.ts';
import { row } from './parts/layout.ts';
import { barGauge, stat, stateTimeline, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { increase, ofOwners, perStep, quantile, rate, sel } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { rateUnitOf, unitOf } from './parts/units.ts';

const { api: apiThresholds, collectors, daemon: ofItself } = THRESHOLDS;

/**
 * Returns an expression with one row per daemon, with its version. Several targets may have one instance label, such as the
 * pods behind a service: a match with one of several series would be an error, and the whole table would be empty.
 */
function ofDaemon(expr: string): string {
  const versions = `max by (job, instance, version) (${sel('opsd_build_info')})`;
  return `max by (instance, version) (${expr} * on (job, instance) group_left (version) ${versions})`;
}

const right = row(
  'Can the data be trusted?',
  [
    stat({
      title: 'Sources withheld',
      description:
        'Number of sources whose data is too old. Their gauges are withheld, and their panels are empty rather than wrong. The table of sources below names them.',
      unit: 'short',
      queries: [query(`sum(${sel('opsd_collector_stale')})`)],
      steps: rising({ critical: 1 }),
      mappings: [words({ 0: ['none', 'green'] })],
      noValue: 'no daemon',
    }),
    stat({
      title: 'Log lag',
      description: 'Age of the newest counted log entries. Counters and durations of messages include nothing later.',
      unit: 's',
      decimals: 0,
      queries: [query(`max(time() - ${sel('opsd_log_watermark_timestamp_seconds')})`)],
      steps: rising({ warning: 300, critical: collectors.logsBehindSeconds }),
      noValue: 'not read',
    }),
    stat({
      title: 'Log and statistics, largest difference',
      description:
        'Largest difference between the counts of the log and of the statistics for the last whole hour, by state. Up to 2 % is rounding. The first value takes more than an hour.',
      unit: 'percentunit',
      decimals: 1,
      queries: [query(`max(abs(${sel('opsd_reconciliation_ratio')} - 1))`)],
      steps: rising({ warning: 0.02, critical: 0.1 }),
      noValue: 'not known yet',
    }),
    stat({
      title: 'Lasting differences',
      description:
        'Message states that differ between log and statistics in two consecutive hours, and sources whose points have another meaning than configured. The log of the daemon says what to do.',
      unit: 'short',
      queries: [
        query(
          `(sum(${sel('opsd_reconciliation_gap')}) or vector(0)) + (sum(${sel('opsd_stats_points_misread')}) or vector(0))`,
        ),
      ],
      steps: rising({ critical: 1 }),
      mappings: [words({ 0: ['none', 'green'] })],
    }),
    stat({
      title: 'Last commit to the store',
      description:
        'Time since counters and log position were last written to the store. If it is old, check the store failures below and the disk.',
      unit: 's',
      decimals: 0,
      queries: [query(`max(time() - ${ofOwners('opsd_state_last_save_timestamp_seconds')})`)],
      steps: rising({ warning: 300, critical: 900 }),
      noValue: 'never',
    }),
    stat({
      title: 'Active conditions',
      description:
        'Active warnings and critical conditions that operators were notified of. The status page shows each one and what to do.',
      unit: unitOf('opsd_active_conditions'),
      queries: [query(`sum(${sel('opsd_active_conditions', 'severity=~"warning|critical"')})`)],
      steps: rising({ warning: 1 }),
      mappings: [words({ 0: ['none', 'green'] })],
      noValue: 'no daemon',
    }),
  ],
  [
    table({
      title: 'Daemons',
      description:
        'All scraped daemons. At most one of them is allowed to act on an account. After a failed reload the previous configuration stays in use: the log of the daemon has file, line and column.',
      labels: { instance: 'Daemon', version: 'Version' },
      columns: [
        { title: 'Started', expr: `${ofDaemon(sel('process_start_time_seconds'))} * 1000`, unit: 'dateTimeFromNow' },
        {
          title: 'Holds the lease',
          expr: ofDaemon(sel('opsd_leader')),
          unit: unitOf('opsd_leader'),
          mappings: [words({ 0: ['no', 'orange'], 1: ['yes', 'green'] })],
        },
        {
          title: 'Last reload',
          expr: ofDaemon(sel('opsd_config_last_reload_successful')),
          unit: unitOf('opsd_config_last_reload_successful'),
          mappings: [words({ 0: ['FAILED', 'red'], 1: ['successful', 'green'] })],
        },
        {
          title: 'Configuration loaded',
          expr: `${ofDaemon(sel('opsd_config_last_reload_success_timestamp_seconds'))} * 1000`,
          unit: 'dateTimeFromNow',
        },
        {
          title: 'Series, share of the limit',
          expr: ofDaemon(
            `max by (job, instance) (${sel('opsd_series')}) / max by (job, instance) (${sel('opsd_series_limit')})`,
          ),
          unit: 'percentunit',
          decimals: 1,
          steps: rising({ warning: ofItself.seriesRatio, critical: 0.9 }),
        },
        {
          title: 'Last commit',
          expr: ofDaemon(`(time() - ${sel('opsd_state_last_save_timestamp_seconds')})`),
          unit: 's',
          decimals: 0,
        },
      ],
      noValue: '–',
      height: 7,
    }),
    timeSeries({
      title: 'Failures and losses',
      description:
        'Failed writes of the store and the audit log, failed and dropped notifications, missed points, dropped spans, rejected hook requests and callbacks. All should be 0.',
      unit: 'short',
      bars: true,
      stacked: true,
      interval: '1m',
      width: 10,
      height: 7,
      queries: [
        query(`sum(${perStep('opsd_state_save_failures_total')})`, 'store'),
        query(`sum(${perStep('opsd_audit_write_errors_total')})`, 'audit log'),
        query(`sum(${perStep('opsd_notification_failures_total')})`, 'notifications failed'),
        query(`sum(${perStep('opsd_notifications_dropped_total')})`, 'notifications dropped'),
        query(`sum(${perStep('opsd_stats_points_missed_total')})`, 'points missed'),
        query(`sum(${perStep('opsd_spans_dropped_total')})`, 'spans dropped'),
        query(`sum(${perStep('opsd_hook_requests_total', 'code!~"2.."')})`, 'hook requests rejected'),
        query(`sum(${perStep('opsd_callbacks_rejected_total')})`, 'callbacks rejected'),
      ],
    }),
  ],
);

const OWNED = `${sel('opsd_lease_owner')} == 1`;
/** Without replicas, the accounts of each daemon. */
const OWN_ACCOUNTS = `max by (account, instance) (${sel('opsd_collector_stale')})`;

const replicas = row('Replicas', [
  table({
    title: 'Owner of each account',
    description:
      'The daemon that reads the account and acts on it. With replicas on PostgreSQL, the epoch increases at each takeover. Without replicas, both numbers are 0.',
    labels: { account: 'Account', instance: 'Owner' },
    columns: [
      {
        title: 'Epoch',
        expr: `max by (account, instance) (${sel('opsd_lease_epoch')} and on (job, instance, account) ${OWNED}) or 0 * ${OWN_ACCOUNTS}`,
        unit: 'short',
        decimals: 0,
      },
      {
        title: 'Takeovers',
        expr: `max by (account, instance) (${OWNED}) * on (account) group_left () sum by (account) (${increase('opsd_lease_takeovers_total')}) or 0 * ${OWN_ACCOUNTS}`,
        unit: 'short',
        decimals: 0,
        steps: FROM_ONE,
      },
    ],
    sortBy: 'Takeovers',
    noValue: 'no daemon',
    width: 12,
  }),
  timeSeries({
    title: 'Accounts by daemon',
    description:
      'Number of accounts that each daemon owns. With replicas on PostgreSQL, accounts move when a replica starts or stops. Accounts without an owner are not observed.',
    unit: 'short',
    stacked: true,
    queries: [
      query(`sum by (instance) (${sel('opsd_lease_owner')}) or count by (instance) (${OWN_ACCOUNTS})`, '{{instance}}'),
      query(`count(max by (account) (${sel('opsd_lease_owner')}) == 0) or vector(0)`, 'without an owner'),
    ],
    noValue: 'no daemon',
  }),
]);

const sources = row('Sources', [
  table({
    title: 'Sources, oldest first',
    description:
      'Data sources of the service. At 100 % of its maximum age (three intervals, at least 3 minutes) the gauges of a source are withheld. Failures are those in the selected time range.',
    labels: { account: 'Account', collector: 'Source' },
    columns: [
      { title: 'Age', expr: SOURCE_AGE, unit: 's', decimals: 0 },
      {
        title: 'Of maximum age',
        expr: SOURCE_AGE_RATIO,
        unit: 'percentunit',
        decimals: 0,
        steps: rising({ warning: 0.7, critical: 1 }),
      },
      {
        title: 'Last run duration',
        expr: `max by (account, collector) (${sel('opsd_collector_duration_seconds')})`,
        unit: unitOf('opsd_collector_duration_seconds'),
      },
      {
        title: 'Failures',
        expr: `sum by (account, collector) (${increase('opsd_collector_failures_total')})`,
        unit: 'short',
        decimals: 0,
        steps: FROM_ONE,
      },
      {
        title: 'Skipped',
        expr: `sum by (account, collector) (${increase('opsd_collector_runs_skipped_total')})`,
        unit: 'short',
        decimals: 0,
        steps: FROM_ONE,
      },
    ],
    sortBy: 'Of maximum age',
    noValue: 'no daemon',
    width: 12,
  }),
  stateTimeline({
    title: 'Withheld sources',
    description:
      'Red while the data of a source was too old and its gauges were withheld. Its panels have a gap there.',
    unit: unitOf('opsd_collector_stale'),
    queries: [query(`max by (account, collector) (${sel('opsd_collector_stale')})`, '{{account}} {{collector}}')],
    mappings: [words({ 0: ['fresh', 'green'], 1: ['withheld', 'red'] })],
    noValue: 'no daemon',
    height: 8,
  }),
  timeSeries({
    title: 'Source failures by reason',
    description:
      'Failed collector runs by reason. unauthorized, forbidden: check the token. rate_limited: send fewer requests. timeout, connection, server_error: check the service and the network.',
    unit: unitOf('opsd_collector_failures_total'),
    bars: true,
    stacked: true,
    interval: '1m',
    queries: [
      query(
        `sum by (collector, reason) (${perStep('opsd_collector_failures_total')}) > 0`,
        '{{collector}}: {{reason}}',
      ),
    ],
  }),
]);

const requests = row(
  'Requests to the service',
  [
    timeSeries({
      title: 'Responses to the daemon',
      description:
        'Requests of the daemon per second, by status. 401 and 403: a token is wrong. 429: the service limits the daemon. error: there was no response.',
      unit: rateUnitOf('opsd_api_requests_total'),
      queries: [query(`sum by (code) (${rate('opsd_api_requests_total')})`, '{{code}}')],
      stacked: true,
    }),
    timeSeries({
      title: 'Response time, p95',
      description: '95 % of requests are faster, by operation. Dots are requests with a trace.',
      unit: unitOf('opsd_api_request_duration_seconds_sum'),
      queries: [
        query(quantile(0.95, 'opsd_api_request_duration_seconds', ['operation']), '{{operation}}', { exemplar: true }),
      ],
    }),
    barGauge({
      title: 'Requests today, share of the quota',
      description:
        'Requests of this UTC day divided by client.requestsPerDay. At 100 % the daemon reads nothing until midnight UTC.',
      unit: 'percentunit',
      decimals: 2,
      max: 1,
      queries: [
        query(
          `max by (account, api) (${sel('opsd_api_quota_used_requests')} / ${sel('opsd_api_quota_requests')})`,
          '{{account}} {{api}}',
        ),
      ],
      steps: rising({ warning: 0.7, critical: apiThresholds.quotaRatio }),
      noValue: 'no quota',
    }),
  ],
  [
    timeSeries({
      title: 'Throttled, retried, invalid',
      description:
        "Requests delayed by the daemon's own limiter, requests retried after a failure, and invalid rows dropped from responses. If many are delayed, raise client.requestsPerSecond or read less often.",
      unit: 'cps',
      queries: [
        query(`sum(${rate('opsd_api_throttled_requests_total')})`, 'delayed requests'),
        query(`sum(${rate('opsd_api_request_retries_total')})`, 'retried requests'),
        query(`sum(${rate('opsd_api_invalid_rows_total')})`, 'invalid rows'),
      ],
    }),
    timeSeries({
      title: 'Log lag by account',
      description:
        'Age of the newest counted log entries, by account. A slope of 1 means standstill; a falling line means catching up. Overfull windows are divided: entries are counted late, not lost.',
      unit: 's',
      queries: [query(`max by (account) (time() - ${sel('opsd_log_watermark_timestamp_seconds')})`, '{{account}}')],
    }),
    timeSeries({
      title: 'Log reader events',
      description:
        'Late entries found by sweeps, invalid entries, deliveries and attempts with an unknown start, and abandoned messages. Many invalid entries: the format of the service may have changed.',
      unit: 'short',
      bars: true,
      stacked: true,
      interval: '1m',
      queries: [
        query(`sum(${perStep('opsd_log_late_entries_total')})`, 'late entries'),
        query(`sum(${perStep('opsd_log_invalid_entries_total')})`, 'invalid entries'),
        query(`sum(${perStep('opsd_log_unjoined_deliveries_total')})`, 'delivery without start'),
        query(`sum(${perStep('opsd_log_unjoined_attempts_total')})`, 'attempt without start'),
        query(`sum(${perStep('opsd_messages_abandoned_total')})`, 'abandoned messages'),
      ],
    }),
  ],
);

const reconciliation = row('Log and statistics, notifications, hooks', [
  timeSeries({
    title: 'Log and statistics, ratio of counts',
    description:
      "Counts of the statistics divided by counts of the log for the last whole hour, by state; and sum of today's points divided by today's value. 1 means agreement. A lasting difference: one of the two sources lacks data.",
    unit: 'none',
    decimals: 2,
    free: true,
    queries: [
      query(`max by (account, state) (${sel('opsd_reconciliation_ratio')})`, '{{account}} {{state}}'),
      query(`max by (account, source) (${sel('opsd_stats_points_day_ratio')})`, '{{account}} points: {{source}}'),
    ],
    noValue: 'not known yet',
  }),
  timeSeries({
    title: 'Pending notifications and spans',
    description:
      'Notifications that a receiver has not accepted yet, and spans that the trace receiver has not acknowledged yet. A rising line: the receiver is unavailable or rejects requests. Both are retried, and dropped above a limit.',
    unit: unitOf('opsd_notifications_queued'),
    queries: [
      query(`sum by (receiver) (${sel('opsd_notifications_queued')})`, 'for {{receiver}}'),
      query(`sum(${sel('opsd_spans_queued')})`, 'spans'),
    ],
    noValue: 'no receiver configured',
  }),
  timeSeries({
    title: 'Hooks, notifications and traces',
    description:
      'Requests to the hooks by status, notifications to receivers, and acknowledged spans, per second. No line means not configured.',
    unit: 'cps',
    queries: [
      query(`sum by (hook, code) (${rate('opsd_hook_requests_total')})`, 'hook {{hook}} {{code}}'),
      query(`sum by (receiver) (${rate('opsd_notification_requests_total')})`, 'to {{receiver}}'),
      query(`sum(${rate('opsd_spans_exported_total')})`, 'spans'),
    ],
  }),
]);

const process = row('The process', [
  timeSeries({
    title: 'CPU and event loop',
    description:
      'Share of one core in use, and share of time that the event loop was busy. Near 100 %, scrapes are late and probes may fail.',
    unit: 'percentunit',
    steps: rising({ critical: ofItself.eventLoopRatio }),
    limits: true,
    queries: [
      query(`max by (instance) (${rate('process_cpu_seconds_total')})`, '{{instance}} CPU'),
      query(`max by (instance) (${rate('nodejs_eventloop_active_seconds_total')})`, '{{instance}} event loop'),
    ],
  }),
  timeSeries({
    title: 'Memory',
    description:
      'Resident memory, and the heap as part of it. Set the memory limit of the container above the need of catching up after an outage.',
    unit: unitOf('process_resident_memory_bytes'),
    queries: [
      query(`max by (instance) (${sel('process_resident_memory_bytes')})`, '{{instance}} resident'),
      query(`max by (instance) (${sel('nodejs_heap_size_used_bytes')})`, '{{instance}} heap'),
    ],
  }),
  timeSeries({
    title: 'Warnings and errors in the daemon log',
    description:
      'Log lines per step, by level. warn: an operator should act soon. error: an operator must act now. The log has the text.',
    unit: unitOf('opsd_log_messages_total'),
    bars: true,
    stacked: true,
    interval: '1m',
    queries: [query(`sum by (level) (${perStep('opsd_log_messages_total', 'level=~"warn|error"')})`, '{{level}}')],
    steps: PLAIN,
  }),
]);

export const daemon = dashboard({
  uid: 'opsd-daemon',
  title: 'opsd: the daemon itself',
  description: 'Trustworthiness of the data: the reading of sources, its quality, and the health of the daemon.',
  rows: [right, replicas, sources, requests, reconciliation, process],
});

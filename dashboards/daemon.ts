/** Is the exporter lying? What the daemon reads, how well, and how it fares itself. */
import { THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { FROM_ONE, PLAIN, rising, words } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { SOURCE_AGE, SOURCE_AGE_RATIO } from './parts/freshness.ts';
import { row } from './parts/layout.ts';
import { barGauge, stat, stateTimeline, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { increase, perStep, quantile, rate, sel } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { rateUnitOf, unitOf } from './parts/units.ts';

const { api: apiThresholds, collectors, daemon: ofItself } = THRESHOLDS;

/** One row a daemon, with its version. */
function ofDaemon(expr: string): string {
  return `max by (instance, version) (${expr} * on (job, instance) group_left (version) ${sel('opsd_build_info')})`;
}

const right = row(
  'Can the figures be trusted?',
  [
    stat({
      title: 'Sources withheld',
      description:
        'Sources whose data is older than it may be. Their gauges are withheld, and panels about them are empty rather than wrong. The table of sources says which.',
      unit: 'short',
      queries: [query(`sum(${sel('opsd_collector_stale')})`)],
      steps: rising({ critical: 1 }),
      mappings: [words({ 0: ['none', 'green'] })],
      noValue: 'no daemon',
    }),
    stat({
      title: 'Log is behind by',
      description:
        'How far behind now the reading of the log is. Counters and durations of messages know nothing later than that.',
      unit: 's',
      decimals: 0,
      queries: [query(`max(time() - ${sel('opsd_log_watermark_timestamp_seconds')})`)],
      steps: rising({ warning: 300, critical: collectors.logsBehindSeconds }),
      noValue: 'not read',
    }),
    stat({
      title: 'Log against statistics',
      description:
        'The greatest distance of the last whole hour between what the log counted and what the statistics say, by state. Up to 2 % is rounding. It takes more than an hour to be known.',
      unit: 'percentunit',
      decimals: 1,
      queries: [query(`max(abs(${sel('opsd_reconciliation_ratio')} - 1))`)],
      steps: rising({ warning: 0.02, critical: 0.1 }),
      noValue: 'not yet known',
    }),
    stat({
      title: 'Counts that disagree',
      description:
        'States of messages where the log and the statistics differ for two hours in a row, and points that are read otherwise than the service means them. The log of the daemon says what to do.',
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
      title: 'State was saved',
      description:
        'How long ago counters and the position in the log were last written to the store. Old: look at failures of the store below, and at the disk.',
      unit: 's',
      decimals: 0,
      queries: [query(`max(time() - ${sel('opsd_state_last_save_timestamp_seconds')})`)],
      steps: rising({ warning: 300, critical: 900 }),
      noValue: 'never',
    }),
    stat({
      title: 'Active conditions',
      description:
        'Conditions that people are told of and that have not ended, warnings and critical ones. The status page has each, with what to do.',
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
        'Each daemon that is scraped. Two that both may act on one account are one too many. A failed reload leaves the configuration of before: the log of the daemon has file, line and column.',
      labels: { instance: 'Daemon', version: 'Version' },
      columns: [
        { title: 'Started', expr: `${ofDaemon(sel('process_start_time_seconds'))} * 1000`, unit: 'dateTimeFromNow' },
        {
          title: 'May act',
          expr: ofDaemon(sel('opsd_leader')),
          unit: unitOf('opsd_leader'),
          mappings: [words({ 0: ['no', 'orange'], 1: ['yes', 'green'] })],
        },
        {
          title: 'Last reload',
          expr: ofDaemon(sel('opsd_config_last_reload_successful')),
          unit: unitOf('opsd_config_last_reload_successful'),
          mappings: [words({ 0: ['FAILED', 'red'], 1: ['good', 'green'] })],
        },
        {
          title: 'Configuration loaded',
          expr: `${ofDaemon(sel('opsd_config_last_reload_success_timestamp_seconds'))} * 1000`,
          unit: 'dateTimeFromNow',
        },
        {
          title: 'Series, of what may be',
          expr: ofDaemon(
            `sum by (job, instance) (${sel('opsd_series')}) / on (job, instance) ${sel('opsd_series_limit')}`,
          ),
          unit: 'percentunit',
          decimals: 1,
          steps: rising({ warning: ofItself.seriesRatio, critical: 0.9 }),
        },
      ],
      noValue: '–',
      height: 7,
    }),
    timeSeries({
      title: 'What could not be kept or told',
      description:
        'Writes of the store and records of the audit log that failed, notifications that failed or were dropped, points missed for good, spans dropped, hooks and callbacks refused. All should be 0.',
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
        query(`sum(${perStep('opsd_hook_requests_total', 'code!~"2.."')})`, 'hooks refused'),
        query(`sum(${perStep('opsd_callbacks_rejected_total')})`, 'callbacks refused'),
      ],
    }),
  ],
);

const sources = row('Sources', [
  table({
    title: 'Sources, the oldest first',
    description:
      'What is read of the service. At 100 % of its time (three intervals, at least 3 minutes) the gauges of a source are withheld. Failures are those of the time shown.',
    labels: { account: 'Account', collector: 'Source' },
    columns: [
      { title: 'Age', expr: SOURCE_AGE, unit: 's', decimals: 0 },
      {
        title: 'Of its time',
        expr: SOURCE_AGE_RATIO,
        unit: 'percentunit',
        decimals: 0,
        steps: rising({ warning: 0.7, critical: 1 }),
      },
      {
        title: 'Last run took',
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
        title: 'Not started',
        expr: `sum by (account, collector) (${increase('opsd_collector_runs_skipped_total')})`,
        unit: 'short',
        decimals: 0,
        steps: FROM_ONE,
      },
    ],
    sortBy: 'Of its time',
    noValue: 'no daemon',
    width: 12,
  }),
  stateTimeline({
    title: 'When was a source withheld?',
    description:
      'Red while the data of a source was older than it may be, and its gauges were withheld. Panels about it have a gap there.',
    unit: unitOf('opsd_collector_stale'),
    queries: [query(`max by (account, collector) (${sel('opsd_collector_stale')})`, '{{account}} {{collector}}')],
    mappings: [words({ 0: ['fresh', 'green'], 1: ['withheld', 'red'] })],
    noValue: 'no daemon',
    height: 8,
  }),
  timeSeries({
    title: 'Why sources fail',
    description:
      'Failed runs of collectors by reason. unauthorized and forbidden: look at the token. rate_limited: ask less often. timeout, connection, server_error: the service or the way there.',
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
      title: 'What the service answers us',
      description:
        'Requests of the daemon a second, by status. 401 and 403: a token is wrong. 429: the service slows us down. error: there was no answer.',
      unit: rateUnitOf('opsd_api_requests_total'),
      queries: [query(`sum by (code) (${rate('opsd_api_requests_total')})`, '{{code}}')],
      stacked: true,
    }),
    timeSeries({
      title: 'How long it takes to answer us',
      description: '95 of 100 requests are faster, by operation. Points are requests with a trace.',
      unit: unitOf('opsd_api_request_duration_seconds_sum'),
      queries: [
        query(quantile(0.95, 'opsd_api_request_duration_seconds', ['operation']), '{{operation}}', { exemplar: true }),
      ],
    }),
    barGauge({
      title: 'Requests of today, of our own quota',
      description:
        'Requests of this UTC day over those that client.requestsPerDay allows. At 100 % nothing more is read until midnight UTC.',
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
        'Requests that wait in our own limiter, requests repeated after a failure, and rows of answers that were left out since they could not be understood. Many that wait: raise client.requestsPerSecond, or read less often.',
      unit: 'cps',
      queries: [
        query(`sum(${rate('opsd_api_throttled_requests_total')})`, 'wait in our limiter'),
        query(`sum(${rate('opsd_api_request_retries_total')})`, 'repeated requests'),
        query(`sum(${rate('opsd_api_invalid_rows_total')})`, 'invalid rows'),
      ],
    }),
    timeSeries({
      title: 'How far behind is the log?',
      description:
        'How far behind now the reading of the log is, by account. A slope of 1 is a standstill; a fall is catching up. Windows that are too full are halved: late, not lost.',
      unit: 's',
      queries: [query(`max by (account) (time() - ${sel('opsd_log_watermark_timestamp_seconds')})`, '{{account}}')],
    }),
    timeSeries({
      title: 'What the reader of the log met',
      description:
        'Entries that came late and were found, that were refused, deliveries and attempts without a known beginning, and messages abandoned. Many that are refused: the service tells something new.',
      unit: 'short',
      bars: true,
      stacked: true,
      interval: '1m',
      queries: [
        query(`sum(${perStep('opsd_log_late_entries_total')})`, 'came late'),
        query(`sum(${perStep('opsd_log_invalid_entries_total')})`, 'invalid'),
        query(`sum(${perStep('opsd_log_unjoined_deliveries_total')})`, 'delivery without beginning'),
        query(`sum(${perStep('opsd_log_unjoined_attempts_total')})`, 'attempt without beginning'),
        query(`sum(${perStep('opsd_messages_abandoned_total')})`, 'abandoned'),
      ],
    }),
  ],
);

const reconciliation = row('Reconciliation, store, hooks and notifications', [
  timeSeries({
    title: 'Do log and statistics agree?',
    description:
      'What the statistics counted of the last whole hour over what the log counted, by state, and points of today over their day. 1 is agreement. A lasting gap: one of the two did not serve what happened.',
    unit: 'none',
    decimals: 2,
    free: true,
    queries: [
      query(`max by (account, state) (${sel('opsd_reconciliation_ratio')})`, '{{account}} {{state}}'),
      query(`max by (account, source) (${sel('opsd_stats_points_day_ratio')})`, '{{account}} points: {{source}}'),
    ],
    noValue: 'not yet known',
  }),
  timeSeries({
    title: 'What waits to be told',
    description:
      'Notifications that a receiver did not take yet, and spans that the receiver of traces did not acknowledge. What grows: the receiver is away or refuses; both are tried again, and dropped when too much waits.',
    unit: unitOf('opsd_notifications_queued'),
    queries: [
      query(`sum by (receiver) (${sel('opsd_notifications_queued')})`, 'for {{receiver}}'),
      query(`sum(${sel('opsd_spans_queued')})`, 'spans'),
    ],
    noValue: 'nobody is configured to be told',
  }),
  timeSeries({
    title: 'Hooks, notifications and traces',
    description:
      'Requests to the hooks by answer, notifications to receivers, and spans that the receiver of traces acknowledged, a second. No line: it is not configured.',
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
    title: 'Processor and event loop',
    description:
      'Share of a core in use, and share of time in which the event loop was busy. Near 100 % scrapes come late and probes may fail.',
    unit: 'percentunit',
    steps: rising({ critical: ofItself.eventLoopRatio }),
    limits: true,
    queries: [
      query(`max by (instance) (${rate('process_cpu_seconds_total')})`, '{{instance}} processor'),
      query(`max by (instance) (${rate('nodejs_eventloop_active_seconds_total')})`, '{{instance}} event loop'),
    ],
  }),
  timeSeries({
    title: 'Memory',
    description:
      'Resident memory, and the part of it that is the heap. Set the limit of the container above what a catching up after an outage needs.',
    unit: unitOf('process_resident_memory_bytes'),
    queries: [
      query(`max by (instance) (${sel('process_resident_memory_bytes')})`, '{{instance}} resident'),
      query(`max by (instance) (${sel('nodejs_heap_size_used_bytes')})`, '{{instance}} heap'),
    ],
  }),
  timeSeries({
    title: 'Lines of the log of the daemon',
    description:
      'Lines written, by level, without info and debug: warn wants somebody soon, error somebody now. Their text is in the log itself.',
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
  description: 'Whether the figures can be trusted: what is read, how well, and how the daemon fares.',
  rows: [right, sources, requests, reconciliation, process],
});

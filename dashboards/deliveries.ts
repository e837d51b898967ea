/** Dashboard of deliveries by destination: failures and their reasons, latency, and backlog. */
import { OBJECTIVES, THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { PLAIN, rising } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { row } from './parts/layout.ts';
import type { Row } from './parts/layout.ts';
import { linkTo } from './parts/links.ts';
import type { LinkTo } from './parts/links.ts';
import { heatmap, stat, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import {
  increase,
  LATELY,
  once,
  perStep,
  portion,
  quantile,
  quantileOver,
  rate,
  sel,
  share,
} from './parts/selectors.ts';
import type { SeriesName } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { rateUnitOf, unitOf } from './parts/units.ts';

const { latency } = THRESHOLDS;
/**
 * Thresholds for failing attempts, which are retried. Above the objective they cost; from one half on, hardly anything
 * is delivered.
 */
const FAILING = rising({ warning: 1 - OBJECTIVES.attempts, critical: 0.5 });
const CHOSEN = 'destination=~"$destination"';
const IN_FLIGHT = 'msgsvc_messages_in_flight';
const OLDEST_DUE = 'msgsvc_messages_oldest_due_timestamp_seconds';

const all = (series: SeriesName): string => `sum(${rate(series, CHOSEN)})`;
const lately = (series: SeriesName): string => `sum(${increase(series, CHOSEN, LATELY)})`;
/** Messages that count for the objective. A cancelled message did not fail. */
const uncancelled = `(${lately('msgsvc_messages_finished_total')} - ${lately('msgsvc_message_cancellations_total')})`;
const each = (series: SeriesName): string => `sum by (destination) (${rate(series, CHOSEN)})`;
const shown = (series: SeriesName): string => `sum by (destination) (${increase(series, CHOSEN)})`;
const shownP95 = (histogram: 'msgsvc_message_queue_wait_seconds' | 'msgsvc_message_attempt_duration_seconds'): string =>
  quantileOver('$__range', 0.95, histogram, ['destination'], CHOSEN);
/** Returns the age of the oldest due message. It is 0 if messages in flight are known and none is due. */
const oldestAge = (by: readonly string[]): string => {
  const group = by.length === 0 ? '' : ` by (${by.join(', ')})`;
  return `(time() - min${group} (${sel(OLDEST_DUE, CHOSEN)})) or 0 * sum${group} (${sel(IN_FLIGHT, CHOSEN)})`;
};

const SERIES_LINKS: readonly LinkTo[] = [
  linkTo('opsd-deliveries', 'Only ${__field.labels.destination}', { destination: '${__field.labels.destination}' }),
  linkTo('opsd-workflows', 'Workflows on ${__field.labels.destination}', { host: '${__field.labels.destination}' }),
];

const now: Row = row('Now', [
  stat({
    title: 'Failed attempts, share',
    description:
      'Share of delivery attempts in the last 10 minutes that failed, from the log. Failed attempts are retried. If it is high, the table below has the destination and the reason.',
    unit: 'percentunit',
    decimals: 1,
    queries: [query(portion(lately('msgsvc_message_attempt_failures_total'), lately('msgsvc_message_attempts_total')))],
    steps: FAILING,
    noValue: 'no attempts',
  }),
  stat({
    title: 'Failed messages, share',
    description:
      'Share of messages that ended in the last 10 minutes without delivery after all retries; cancelled messages do not count. They are in the DLQ. If it is high, see the reasons below and on the DLQ dashboard.',
    unit: 'percentunit',
    decimals: 1,
    queries: [query(portion(lately('msgsvc_message_failures_total'), uncancelled))],
    steps: rising({ critical: 1 - OBJECTIVES.delivered }),
    noValue: 'no messages ended',
    links: [linkTo('opsd-dlq', 'DLQ and retries')],
  }),
  stat({
    title: 'Messages in flight',
    description:
      'Messages created and not yet ended, including delayed ones, among those whose entries were read. No value if the log does not report each change of state.',
    unit: unitOf(IN_FLIGHT),
    queries: [query(`sum(${once(IN_FLIGHT, ['destination'], CHOSEN)})`)],
    steps: PLAIN,
    noValue: 'not reported by the log',
  }),
  stat({
    title: 'Longest overdue message',
    description:
      'Time since the due time of the longest overdue message; 0 if none is due. Retries are due at their scheduled time. If it is high, see below if the service or the destination is slow, or if a flow-control key holds it.',
    unit: 's',
    decimals: 0,
    queries: [query(oldestAge([]))],
    steps: rising(latency.overdueSeconds),
    links: [linkTo('opsd-flow-control', 'Flow control')],
  }),
  stat({
    title: 'Wait, p95',
    description:
      'Time between due time and start of an attempt, caused by the service or by flow control. In the last 10 minutes, 95 % of attempts waited less.',
    unit: 's',
    queries: [query(quantileOver(LATELY, 0.95, 'msgsvc_message_queue_wait_seconds', [], CHOSEN))],
    steps: rising({ warning: latency.queueWaitSeconds }),
    noValue: 'no attempts',
  }),
  stat({
    title: 'Attempt, p95',
    description:
      'Time between start and outcome of an attempt, caused by the destination. In the last 10 minutes, 95 % of attempts were faster.',
    unit: 's',
    queries: [query(quantileOver(LATELY, 0.95, 'msgsvc_message_attempt_duration_seconds', [], CHOSEN))],
    steps: rising({ warning: latency.attemptSeconds }),
    noValue: 'no attempts',
  }),
  stat({
    title: 'Log lag',
    description:
      'Age of the newest counted log entries; all counts from the log are this old. Above five minutes the reader is behind: data is late, not lost. See the dashboard of the daemon.',
    unit: 's',
    decimals: 0,
    queries: [query(`time() - min(${sel('opsd_log_watermark_timestamp_seconds')})`)],
    steps: rising({ warning: 300, critical: THRESHOLDS.collectors.logsBehindSeconds }),
    links: [linkTo('opsd-daemon', 'The daemon')],
  }),
]);

const failures: Row = row(
  'Failures by destination and reason',
  [
    table({
      title: 'Destinations',
      description:
        'All destinations over the selected time range, most failed attempts first; in flight and overdue are current. A long wait with short attempts: the service or flow control is slow. Long attempts: the destination is slow. Click a name to select it.',
      labels: { destination: 'Destination' },
      columns: [
        { title: 'Attempts', expr: shown('msgsvc_message_attempts_total'), unit: 'locale', decimals: 0 },
        { title: 'Failed attempts', expr: shown('msgsvc_message_attempt_failures_total'), unit: 'locale', decimals: 0 },
        {
          title: 'Failing',
          expr: portion(shown('msgsvc_message_attempt_failures_total'), shown('msgsvc_message_attempts_total')),
          unit: 'percentunit',
          decimals: 1,
          steps: FAILING,
        },
        {
          title: 'Failed messages',
          expr: shown('msgsvc_message_failures_total'),
          unit: 'locale',
          decimals: 0,
          steps: rising({ warning: 1 }),
        },
        { title: 'Wait p95', expr: shownP95('msgsvc_message_queue_wait_seconds'), unit: 's' },
        { title: 'Attempt p95', expr: shownP95('msgsvc_message_attempt_duration_seconds'), unit: 's' },
        {
          title: 'In flight',
          expr: `sum by (destination) (${once(IN_FLIGHT, ['destination'], CHOSEN)})`,
          unit: 'short',
        },
        { title: 'Overdue', expr: oldestAge(['destination']), unit: 's', decimals: 0 },
      ],
      sortBy: 'Failed attempts',
      height: 9,
      click: {
        destination: linkTo('opsd-deliveries', 'Only this destination', {
          destination: '${__data.fields.Destination}',
        }),
      },
    }),
  ],
  [
    timeSeries({
      title: 'Failed attempts by destination, share',
      description:
        'Failed attempts divided by all attempts; a gap means no attempts. One line at 100 %: that destination is down. All lines rise together: check the service.',
      unit: 'percentunit',
      max: 1,
      queries: [
        query(
          portion(each('msgsvc_message_attempt_failures_total'), each('msgsvc_message_attempts_total')),
          '{{destination}}',
        ),
      ],
      click: SERIES_LINKS,
    }),
    timeSeries({
      title: 'Failed attempts by reason and code',
      description:
        'Failed attempts by reason: http with its status, or no response (dns, tls, connection, timeout, no_response). 429 and 503: the destination requests less traffic, see flow control. Other 4xx: retries do not help.',
      unit: rateUnitOf('msgsvc_message_attempt_failures_total'),
      stacked: true,
      bars: true,
      queries: [
        query(
          `sum by (reason, code) (${rate('msgsvc_message_attempt_failures_total', CHOSEN)}) > 0`,
          '{{reason}} {{code}}',
        ),
      ],
      noValue: 'none known',
    }),
  ],
  [
    timeSeries({
      title: 'Attempts by destination',
      description: 'Delivery attempts per second, including retries. A destination at 0 receives no messages.',
      unit: rateUnitOf('msgsvc_message_attempts_total'),
      queries: [query(each('msgsvc_message_attempts_total'), '{{destination}}')],
      click: SERIES_LINKS,
    }),
    timeSeries({
      title: 'Failed messages per minute, by destination',
      description: 'Messages that failed after their last retry. They are in the DLQ.',
      unit: 'cpm',
      queries: [query(`60 * ${each('msgsvc_message_failures_total')}`, '{{destination}}')],
      click: SERIES_LINKS,
      links: [linkTo('opsd-dlq', 'DLQ and retries')],
    }),
  ],
);

const slow: Row = row(
  'Latency of destinations and service',
  [
    timeSeries({
      title: 'Time of an attempt, mean',
      description:
        'Mean wait before an attempt and mean duration of attempts, stacked. If the wait grows, the service or flow control is slow. If the attempt grows, the destination is slow.',
      unit: 's',
      stacked: true,
      queries: [
        query(
          share(all('msgsvc_message_queue_wait_seconds_sum'), all('msgsvc_message_queue_wait_seconds_count')),
          'wait',
        ),
        query(
          share(
            all('msgsvc_message_attempt_duration_seconds_sum'),
            all('msgsvc_message_attempt_duration_seconds_count'),
          ),
          'attempt',
        ),
      ],
    }),
    heatmap({
      title: 'Delivery time',
      description:
        'Time between due time and delivery of messages, including retries. Two bands: some messages are delivered at once, others only after retries.',
      unit: 's',
      query: query(`sum by (le) (${perStep('msgsvc_message_delivery_duration_seconds_bucket', CHOSEN)})`),
    }),
  ],
  [
    timeSeries({
      title: 'Wait before an attempt, p95',
      description:
        'Time between due time and start of attempts, by destination. Dots link to traces of single messages, if they are stored. High for one destination only: check its flow-control key.',
      unit: 's',
      queries: [
        query(quantile(0.95, 'msgsvc_message_queue_wait_seconds', ['destination'], CHOSEN), '{{destination}}', {
          exemplar: true,
        }),
      ],
      click: SERIES_LINKS,
      links: [linkTo('opsd-flow-control', 'Flow control')],
    }),
    timeSeries({
      title: 'Duration of attempts, p95',
      description: 'Time between start and outcome of attempts, by destination.',
      unit: 's',
      queries: [
        query(quantile(0.95, 'msgsvc_message_attempt_duration_seconds', ['destination'], CHOSEN), '{{destination}}', {
          exemplar: true,
        }),
      ],
      click: SERIES_LINKS,
    }),
    timeSeries({
      title: 'Delivery time, p95',
      description:
        'Time between due time and delivery, including waits and retries, by destination: the latency that users see. Dots link to traces of single messages.',
      unit: 's',
      queries: [
        query(quantile(0.95, 'msgsvc_message_delivery_duration_seconds', ['destination'], CHOSEN), '{{destination}}', {
          exemplar: true,
        }),
      ],
      click: SERIES_LINKS,
    }),
  ],
);

const backlog: Row = row(
  'Backlog',
  [
    timeSeries({
      title: 'Created and ended',
      description:
        'Messages created per second, and messages that ended: delivered, failed or cancelled. If created stays above ended, the backlog grows.',
      unit: rateUnitOf('msgsvc_messages_created_total'),
      queries: [
        query(all('msgsvc_messages_created_total'), 'created'),
        query(all('msgsvc_messages_finished_total'), 'ended'),
        query(all('msgsvc_message_cancellations_total'), 'cancelled'),
      ],
    }),
    timeSeries({
      title: 'In flight by destination',
      description:
        'Messages created and not yet ended, including delayed ones. A line that only rises: its destination is too slow, or its key is held.',
      unit: unitOf(IN_FLIGHT),
      stacked: true,
      queries: [query(`sum by (destination) (${once(IN_FLIGHT, ['destination'], CHOSEN)})`, '{{destination}}')],
      click: SERIES_LINKS,
    }),
    timeSeries({
      title: 'Longest overdue message, by destination',
      description:
        'Time since the due time of the longest overdue message; 0 if none is due. A steadily rising line: nothing is delivered there.',
      unit: 's',
      queries: [query(oldestAge(['destination']), '{{destination}}')],
      click: SERIES_LINKS,
    }),
  ],
  [
    timeSeries({
      title: 'Log entries by state',
      description:
        'Log entries per second by state, for all destinations. All other panels here are computed from them. If they stop while messages are sent, see the dashboard of the daemon.',
      unit: rateUnitOf('msgsvc_log_events_total'),
      queries: [query(`sum by (state) (${rate('msgsvc_log_events_total')})`, '{{state}}')],
      links: [linkTo('opsd-daemon', 'The daemon')],
    }),
    table({
      title: 'URL Groups',
      description:
        'A message to a URL Group becomes one message per endpoint, so a new endpoint adds traffic. Changed is the last change of the group.',
      labels: { account: 'Account', url_group: 'URL Group' },
      columns: [
        { title: 'Endpoints', expr: once('msgsvc_url_group_endpoints', ['url_group']), unit: 'short' },
        {
          title: 'Changed',
          expr: `1000 * ${once('msgsvc_url_group_updated_timestamp_seconds', ['url_group'])}`,
          unit: unitOf('msgsvc_url_group_updated_timestamp_seconds'),
        },
      ],
      sortBy: 'Endpoints',
      noValue: 'none, or not read',
    }),
  ],
);

export const deliveries = dashboard({
  uid: 'opsd-deliveries',
  title: 'opsd: deliveries',
  description: 'Failures by destination and reason, latency of destinations and service, and backlog.',
  variables: [
    {
      name: 'destination',
      label: 'Destination',
      description: 'URL Groups, queues, or hosts.',
      of: 'msgsvc_messages_created_total',
      value: 'destination',
    },
  ],
  rows: [now, failures, slow, backlog],
});

/** Deliveries by destination: what fails and why, what is slow, what waits. */
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
/** Attempts are tried again: beyond the objective they cost, from the half on hardly anything gets through. */
const FAILING = rising({ warning: 1 - OBJECTIVES.attempts, critical: 0.5 });
const CHOSEN = 'destination=~"$destination"';
const IN_FLIGHT = 'msgsvc_messages_in_flight';
const OLDEST_DUE = 'msgsvc_messages_oldest_due_timestamp_seconds';

const all = (series: SeriesName): string => `sum(${rate(series, CHOSEN)})`;
const lately = (series: SeriesName): string => `sum(${increase(series, CHOSEN, LATELY)})`;
/** What the objective is about: a message that somebody cancelled did not fail. */
const uncancelled = `(${lately('msgsvc_messages_finished_total')} - ${lately('msgsvc_message_cancellations_total')})`;
const each = (series: SeriesName): string => `sum by (destination) (${rate(series, CHOSEN)})`;
const shown = (series: SeriesName): string => `sum by (destination) (${increase(series, CHOSEN)})`;
const shownP95 = (histogram: 'msgsvc_message_queue_wait_seconds' | 'msgsvc_message_attempt_duration_seconds'): string =>
  quantileOver('$__range', 0.95, histogram, ['destination'], CHOSEN);
/** Where messages in flight are known and none is due, the age is truly 0. */
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
    title: 'Attempts that fail',
    description:
      'Share of delivery attempts that failed within the last 10 minutes, from the log. An attempt that fails is tried again. High: the table below names the destination and the reason.',
    unit: 'percentunit',
    decimals: 1,
    queries: [query(portion(lately('msgsvc_message_attempt_failures_total'), lately('msgsvc_message_attempts_total')))],
    steps: FAILING,
    noValue: 'no attempts',
  }),
  stat({
    title: 'Messages that fail for good',
    description:
      'Of the messages that ended within the last 10 minutes and were not cancelled, the share that was not delivered after all retries. They are in the DLQ now. High: see what they failed of, below and on the DLQ dashboard.',
    unit: 'percentunit',
    decimals: 1,
    queries: [query(portion(lately('msgsvc_message_failures_total'), uncancelled))],
    steps: rising({ critical: 1 - OBJECTIVES.delivered }),
    noValue: 'none ended',
    links: [linkTo('opsd-dlq', 'DLQ and retries')],
  }),
  stat({
    title: 'Messages in flight',
    description:
      'Messages accepted and not yet ended, delayed ones included, of those whose entries were read. No value where the log does not tell each change of state.',
    unit: unitOf(IN_FLIGHT),
    queries: [query(`sum(${once(IN_FLIGHT, ['destination'], CHOSEN)})`)],
    steps: PLAIN,
    noValue: 'the log does not tell',
  }),
  stat({
    title: 'Oldest message due',
    description:
      'How long the message that waits longest has been due; 0 when none is due. Retries wait for their time and are not due before it. High: below, see whether it waits for the service or for the destination; then whether a flow-control key holds it.',
    unit: 's',
    decimals: 0,
    queries: [query(oldestAge([]))],
    steps: rising(latency.overdueSeconds),
    links: [linkTo('opsd-flow-control', 'Flow control')],
  }),
  stat({
    title: 'Wait, p95 of all',
    description:
      'From when a message was due until its attempt began: the service, or flow control. Of the last 10 minutes, 95 of 100 attempts waited no longer.',
    unit: 's',
    queries: [query(quantileOver(LATELY, 0.95, 'msgsvc_message_queue_wait_seconds', [], CHOSEN))],
    steps: rising({ warning: latency.queueWaitSeconds }),
    noValue: 'no attempts',
  }),
  stat({
    title: 'Attempt, p95 of all',
    description:
      'From the beginning of an attempt to its outcome: the destination. Of the last 10 minutes, 95 of 100 took no longer.',
    unit: 's',
    queries: [query(quantileOver(LATELY, 0.95, 'msgsvc_message_attempt_duration_seconds', [], CHOSEN))],
    steps: rising({ warning: latency.attemptSeconds }),
    noValue: 'no attempts',
  }),
  stat({
    title: 'Log counted up to',
    description:
      'All that is counted from the log here is that old. Beyond five minutes the reader falls behind: figures here are late, not lost. See the daemon.',
    unit: 's',
    decimals: 0,
    queries: [query(`time() - min(${sel('opsd_log_watermark_timestamp_seconds')})`)],
    steps: rising({ warning: 300, critical: THRESHOLDS.collectors.logsBehindSeconds }),
    links: [linkTo('opsd-daemon', 'The daemon')],
  }),
]);

const failures: Row = row(
  'Which destination fails, and why?',
  [
    table({
      title: 'Destinations',
      description:
        'Each destination over the time shown, the most failed attempts first; in flight and oldest due are of this moment. A long wait with short attempts is the service or flow control, long attempts are the destination. A click on a name shows it alone.',
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
          title: 'Failed for good',
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
        { title: 'Oldest due', expr: oldestAge(['destination']), unit: 's', decimals: 0 },
      ],
      sortBy: 'Failed attempts',
      height: 9,
      click: {
        destination: linkTo('opsd-deliveries', 'Only this one', { destination: '${__data.fields.Destination}' }),
      },
    }),
  ],
  [
    timeSeries({
      title: 'Share of attempts that fail, by destination',
      description:
        'Failed attempts over all attempts; a gap where there were none. One line at 100%: that destination is down. All lines up at once: look at the service.',
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
        'Why attempts failed: http with the status of the answer, or no answer at all (dns, tls, connection, timeout, no_response). 429 and 503: the destination asks for less, see flow control. 4xx: retries will not help.',
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
      description: 'Delivery attempts a second, retries included. A destination that falls to 0 gets nothing to do.',
      unit: rateUnitOf('msgsvc_message_attempts_total'),
      queries: [query(each('msgsvc_message_attempts_total'), '{{destination}}')],
      click: SERIES_LINKS,
    }),
    timeSeries({
      title: 'Failed for good a minute, by destination',
      description: 'Messages that failed after their last retry. Their repair is a matter of the DLQ.',
      unit: 'cpm',
      queries: [query(`60 * ${each('msgsvc_message_failures_total')}`, '{{destination}}')],
      click: SERIES_LINKS,
      links: [linkTo('opsd-dlq', 'DLQ and retries')],
    }),
  ],
);

const slow: Row = row(
  'Is the destination slow, or the service?',
  [
    timeSeries({
      title: 'Where the time of an attempt goes, on average',
      description:
        'The mean wait before an attempt, and the mean duration of one: means may be stacked, quantiles may not. If the wait grows, the service or flow control is slow; if the attempt grows, the destination.',
      unit: 's',
      stacked: true,
      queries: [
        query(
          share(all('msgsvc_message_queue_wait_seconds_sum'), all('msgsvc_message_queue_wait_seconds_count')),
          'wait before the attempt',
        ),
        query(
          share(
            all('msgsvc_message_attempt_duration_seconds_sum'),
            all('msgsvc_message_attempt_duration_seconds_count'),
          ),
          'the attempt',
        ),
      ],
    }),
    heatmap({
      title: 'Time until delivered',
      description:
        'How long messages took from when they were due until they were delivered, retries included. Two bands: some get through at once, others only after retries.',
      unit: 's',
      query: query(`sum by (le) (${perStep('msgsvc_message_delivery_duration_seconds_bucket', CHOSEN)})`),
    }),
  ],
  [
    timeSeries({
      title: 'Wait before an attempt, p95',
      description:
        'From due until the attempt began, by destination. The dots lead to traces of single messages, where they are kept. High for one destination alone: its flow-control key.',
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
      description: 'From the beginning of an attempt to its outcome, by destination: how slowly each one answers.',
      unit: 's',
      queries: [
        query(quantile(0.95, 'msgsvc_message_attempt_duration_seconds', ['destination'], CHOSEN), '{{destination}}', {
          exemplar: true,
        }),
      ],
      click: SERIES_LINKS,
    }),
    timeSeries({
      title: 'Time until delivered, p95',
      description:
        'From due until delivered, waits and retries included, by destination: what users of the messages feel. The dots lead to traces of single messages.',
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
  'Is the backlog growing?',
  [
    timeSeries({
      title: 'Accepted and ended',
      description:
        'Messages accepted a second, and those that ended: delivered, failed for good or cancelled. Accepted above ended for long: the backlog grows.',
      unit: rateUnitOf('msgsvc_messages_created_total'),
      queries: [
        query(all('msgsvc_messages_created_total'), 'accepted'),
        query(all('msgsvc_messages_finished_total'), 'ended'),
        query(all('msgsvc_message_cancellations_total'), 'of these cancelled'),
      ],
    }),
    timeSeries({
      title: 'In flight by destination',
      description:
        'Messages accepted and not yet ended, delayed ones included. A line that only climbs: its destination does not keep up, or its key is held.',
      unit: unitOf(IN_FLIGHT),
      stacked: true,
      queries: [query(`sum by (destination) (${once(IN_FLIGHT, ['destination'], CHOSEN)})`, '{{destination}}')],
      click: SERIES_LINKS,
    }),
    timeSeries({
      title: 'Oldest message due, by destination',
      description:
        'How long the oldest message that is due waits; 0 when none is due. A line that climbs steadily: nothing gets through there.',
      unit: 's',
      queries: [query(oldestAge(['destination']), '{{destination}}')],
      click: SERIES_LINKS,
    }),
  ],
  [
    timeSeries({
      title: 'What the log tells',
      description:
        'Entries of the log a second by state, of all destinations. Everything else of this page is made of them; if they stop while messages are sent, see the daemon.',
      unit: rateUnitOf('msgsvc_log_events_total'),
      queries: [query(`sum by (state) (${rate('msgsvc_log_events_total')})`, '{{state}}')],
      links: [linkTo('opsd-daemon', 'The daemon')],
    }),
    table({
      title: 'URL Groups',
      description:
        'A message to a URL Group becomes one for each endpoint, so an endpoint that was added is more traffic. Changed says when the group was last changed.',
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
  description: 'Which destination fails and why, whether the destination or the service is slow, and what waits.',
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

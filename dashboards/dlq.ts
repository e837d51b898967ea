/** The message DLQ and what leads to it: how full it is, what failed for good, how retries fare. */
import { OBJECTIVES, THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { falling, PLAIN, rising } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { row } from './parts/layout.ts';
import type { Row } from './parts/layout.ts';
import { linkTo } from './parts/links.ts';
import { stat, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { increase, LATELY, once, perStep, portion, quantile, rate, sel, share } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { rateUnitOf, unitOf } from './parts/units.ts';

const HELD = 'msgsvc_account_dlq_messages';
const LIMIT = 'msgsvc_account_limit_dlq_messages';
const FAILURES = 'msgsvc_message_failures_total';
const NO_LIMIT = 'no limit set';

const CHOSEN = 'destination=~"$destination"';
const YEAR_SECONDS = 31_536_000;

const filled = share(once(HELD), once(LIMIT));
/** By how many messages within the last hour. */
const growth = `max by (account) (delta(${sel(HELD)}[1h]))`;
const fullIn = `clamp(min((${once(LIMIT)} - ${once(HELD)}) * 3600 / clamp_min(${growth}, 1e-9)), 0, ${YEAR_SECONDS})`;

const ATTEMPTS_BUCKET = 'msgsvc_message_delivery_attempts_bucket';
/** Deliveries that took so many attempts at most. The bound is written `1` or `1.0`, by the format of the scrape. */
const bound = (attempts: number): string => `le=~"${attempts}([.]0)?"`;
const within = (attempts: number): string => `sum(${rate(ATTEMPTS_BUCKET, bound(attempts))})`;
const deliveries = `sum(${rate('msgsvc_message_delivery_attempts_count')})`;

const now: Row = row('Now', [
  stat({
    title: 'Messages in the DLQ',
    description:
      'As the statistics of the service count it. They do not say whether failed workflow runs are among them, so it is an upper bound. The service cannot list what the messages are: see below what failed for good.',
    unit: unitOf(HELD),
    queries: [query(`sum(${once(HELD)})`)],
    steps: PLAIN,
  }),
  stat({
    title: 'DLQ filled',
    description:
      'The fullest account: its messages over limits.dlqMessages of the configuration. What a full DLQ does with the next failure is not known: prune or repair before it is full.',
    unit: 'percentunit',
    decimals: 1,
    queries: [query(`max(${filled})`)],
    steps: rising(THRESHOLDS.dlq.fullRatio),
    noValue: NO_LIMIT,
  }),
  stat({
    title: 'DLQ full in',
    description:
      'At the pace of the last hour, for the account that is first. A year stands for a year or more, and for a DLQ that does not grow.',
    unit: 's',
    decimals: 1,
    queries: [query(fullIn)],
    // A day to plan a prune, four hours to make one.
    steps: falling({ warning: 86_400, critical: 14_400 }),
    noValue: NO_LIMIT,
  }),
  stat({
    title: 'Failed for good in the time shown',
    description:
      'Messages that failed after their last retry, to the chosen destinations. Each of them is work that was not done.',
    unit: 'locale',
    decimals: 0,
    queries: [query(`sum(${increase(FAILURES, CHOSEN)})`)],
    steps: PLAIN,
  }),
  stat({
    title: 'Delivered at the first attempt',
    description:
      'Of the messages that were delivered within the last 10 minutes, those that needed no retry. When it falls, a destination fails now and then: see which one on the deliveries.',
    unit: 'percentunit',
    decimals: 1,
    queries: [
      query(
        share(
          `sum(${increase(ATTEMPTS_BUCKET, bound(1), LATELY)})`,
          `sum(${increase('msgsvc_message_delivery_attempts_count', '', LATELY)})`,
        ),
      ),
    ],
    steps: falling({ warning: OBJECTIVES.attempts }),
    noValue: 'none delivered',
    links: [linkTo('opsd-deliveries', 'Deliveries')],
  }),
  stat({
    title: 'Failed workflow runs held',
    description: 'What the workflow DLQ holds: that is another queue, with a dashboard of its own.',
    unit: unitOf('msgsvc_workflow_dlq_aged_runs'),
    queries: [query(`sum(${once('msgsvc_workflow_dlq_aged_runs', ['age'])})`)],
    steps: PLAIN,
    links: [linkTo('opsd-workflows', 'Workflows')],
  }),
]);

const fill: Row = row('Is the DLQ growing?', [
  timeSeries({
    title: 'Messages in the DLQ, by account',
    description:
      'What it held over time. Steps down are prunes, deletes, or messages that grew too old; steps up are failures for good.',
    unit: unitOf(HELD),
    queries: [query(once(HELD), '{{account}}')],
  }),
  timeSeries({
    title: 'DLQ filled, by account',
    description: 'Messages over limits.dlqMessages of the configuration; no line where it is not set.',
    unit: 'percentunit',
    max: 1,
    queries: [query(filled, '{{account}}')],
    steps: rising(THRESHOLDS.dlq.fullRatio),
    limits: true,
    noValue: NO_LIMIT,
  }),
  timeSeries({
    title: 'Growth of the DLQ within an hour',
    description:
      'By how many messages it grew (above 0) or shrank within the hour before, and how many failed for good in that hour. Failures without growth: they are taken out, or grow too old.',
    unit: unitOf(HELD),
    free: true,
    queries: [
      query(growth, '{{account}} grew by'),
      query(`sum by (account) (${increase(FAILURES, '', '1h')})`, '{{account}} failed for good'),
    ],
  }),
]);

const failures: Row = row(
  'What fails for good, and why?',
  [
    table({
      title: 'Failed for good, in the time shown',
      description:
        'By destination, reason and code, the most first. 4xx: the message or its receiver is wrong, a retry will not help. 5xx and no answer: the destination was down; publish again once it is up.',
      labels: { destination: 'Destination', reason: 'Reason', code: 'Code' },
      columns: [
        {
          title: 'Messages',
          expr: `sum by (destination, reason, code) (${increase(FAILURES, CHOSEN)}) > 0`,
          unit: 'locale',
          decimals: 0,
        },
      ],
      sortBy: 'Messages',
      noValue: 'none known',
      click: {
        destination: linkTo('opsd-deliveries', 'Its deliveries', { destination: '${__data.fields.Destination}' }),
      },
    }),
    timeSeries({
      title: 'Share of messages that fail for good',
      description:
        'Of the messages that ended, those that failed for good, by destination; a gap where none ended. It lags behind failed attempts by the time that the retries take.',
      unit: 'percentunit',
      max: 1,
      queries: [
        query(
          portion(
            `sum by (destination) (${rate(FAILURES, CHOSEN)})`,
            `sum by (destination) (${rate('msgsvc_messages_finished_total', CHOSEN)})`,
          ),
          '{{destination}}',
        ),
      ],
      click: [
        linkTo('opsd-deliveries', 'Deliveries to ${__field.labels.destination}', {
          destination: '${__field.labels.destination}',
        }),
      ],
    }),
  ],
  [
    timeSeries({
      title: 'Failed for good a minute, by reason and code',
      description:
        'Why messages failed: the outcome of the last attempt. Of the chosen destinations; nothing is drawn while none fails.',
      unit: 'cpm',
      stacked: true,
      bars: true,
      queries: [query(`60 * sum by (reason, code) (${rate(FAILURES, CHOSEN)}) > 0`, '{{reason}} {{code}}')],
      noValue: 'none known',
    }),
    timeSeries({
      title: 'Taken out by policies',
      description:
        'Dead messages that policies of the daemon pruned or deleted, in each step. What others took out shows only in the growth above.',
      unit: unitOf('opsd_action_items_total'),
      bars: true,
      interval: '1m',
      queries: [
        query(
          `sum by (policy, action) (${perStep('opsd_action_items_total', 'action=~"message-dlq[.].+"')})`,
          '{{policy}}: {{action}}',
        ),
      ],
      noValue: 'no policy took any out',
      links: [linkTo('opsd-policies', 'Policies')],
    }),
  ],
);

const retries: Row = row(
  'How do retries fare?',
  [
    timeSeries({
      title: 'Attempts needed until delivery',
      description:
        'Messages delivered at the first, second, third attempt and so on, as shares of all that were delivered. Those that never were are not among them. More colours: destinations fail now and then.',
      unit: 'percentunit',
      max: 1,
      stacked: true,
      queries: [
        query(share(within(1), deliveries), 'first'),
        query(share(`(${within(2)} - ${within(1)})`, deliveries), 'second'),
        query(share(`(${within(3)} - ${within(2)})`, deliveries), 'third'),
        query(share(`(${within(4)} - ${within(3)})`, deliveries), 'fourth'),
        query(share(`(${deliveries} - ${within(4)})`, deliveries), 'later'),
      ],
      noValue: 'none delivered',
    }),
    timeSeries({
      title: 'Attempts for each message that ends',
      description:
        'Attempts over messages that ended, by destination: 1 when every first attempt does it. High: retries load a destination that is down already.',
      unit: 'short',
      decimals: 2,
      queries: [
        query(
          share(
            `sum by (destination) (${rate('msgsvc_message_attempts_total', CHOSEN)})`,
            `sum by (destination) (${rate('msgsvc_messages_finished_total', CHOSEN)})`,
          ),
          '{{destination}}',
        ),
      ],
    }),
  ],
  [
    timeSeries({
      title: 'Delay before retries',
      description:
        'How far ahead the next attempt was scheduled after a failed one: the half, and 95 of 100, were scheduled within. It says how long the repair of a short failure takes.',
      unit: 's',
      queries: [
        query(quantile(0.5, 'msgsvc_message_retry_delay_seconds'), 'p50'),
        query(quantile(0.95, 'msgsvc_message_retry_delay_seconds'), 'p95'),
      ],
    }),
    timeSeries({
      title: 'Errors, retries and failures in the log',
      description:
        'Entries a second: ERROR is a failed attempt, RETRY one more to come, FAILED the end of a message without delivery. ERROR far above RETRY: most have no retries left.',
      unit: rateUnitOf('msgsvc_log_events_total'),
      queries: [
        query(`sum by (state) (${rate('msgsvc_log_events_total', 'state=~"ERROR|RETRY|FAILED"')})`, '{{state}}'),
      ],
    }),
  ],
);

export const dlq = dashboard({
  uid: 'opsd-dlq',
  title: 'opsd: DLQ and retries',
  description: 'How full the message DLQ is and how fast it fills, what failed for good and why, and how retries fare.',
  variables: [
    {
      name: 'destination',
      label: 'Destination',
      description: 'URL Groups, queues, or hosts. What is told of the DLQ as a whole does not follow it.',
      of: 'msgsvc_messages_created_total',
      value: 'destination',
    },
  ],
  rows: [now, fill, failures, retries],
});

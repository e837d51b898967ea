/** Dashboard of the message DLQ: its size, the messages that failed, and retries. */
import { OBJECTIVES, THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { falling, PLAIN, rising } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { row } from './parts/layout.ts';
import type { Row } from './parts/layout.ts';
import { linkTo } from './parts/links.ts';
import { stat, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { increase, LATELY, once, perStep, portion, quantile, rate, selOver, share } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { rateUnitOf, unitOf } from './parts/units.ts';

const HELD = 'msgsvc_account_dlq_messages';
const LIMIT = 'msgsvc_account_limit_dlq_messages';
const FAILURES = 'msgsvc_message_failures_total';
const NO_LIMIT = 'no limit set';

const CHOSEN = 'destination=~"$destination"';
const YEAR_SECONDS = 31_536_000;

const filled = share(once(HELD), once(LIMIT));
/** Growth in messages over the last hour. */
const growth = `max by (account) (${selOver('delta', HELD, '1h')})`;
const fullIn = `clamp(min((${once(LIMIT)} - ${once(HELD)}) * 3600 / clamp_min(${growth}, 1e-9)), 0, ${YEAR_SECONDS})`;

const ATTEMPTS_BUCKET = 'msgsvc_message_delivery_attempts_bucket';
/**
 * Matches deliveries with at most this number of attempts. The bound is `1` or `1.0`, depending on the scrape format.
 */
const bound = (attempts: number): string => `le=~"${attempts}([.]0)?"`;
const within = (attempts: number): string => `sum(${rate(ATTEMPTS_BUCKET, bound(attempts))})`;
const deliveries = `sum(${rate('msgsvc_message_delivery_attempts_count')})`;

const now: Row = row('Now', [
  stat({
    title: 'Messages in the DLQ',
    description:
      'Size of the message DLQ from the statistics of the service. It may include failed workflow runs, so it is an upper bound. The service cannot list the messages: see the failed messages below.',
    unit: unitOf(HELD),
    queries: [query(`sum(${once(HELD)})`)],
    steps: PLAIN,
  }),
  stat({
    title: 'DLQ used',
    description:
      "Account with the fullest DLQ: messages divided by limits.dlqMessages. The service's behavior at a full DLQ is unknown: prune or repair before it is full.",
    unit: 'percentunit',
    decimals: 1,
    queries: [query(`max(${filled})`)],
    steps: rising(THRESHOLDS.dlq.fullRatio),
    noValue: NO_LIMIT,
  }),
  stat({
    title: 'DLQ full in',
    description:
      "Time until the first account's DLQ is full, at the rate of the last hour. A year means a year or more, or no growth.",
    unit: 's',
    decimals: 1,
    queries: [query(fullIn)],
    // One day to plan a prune, four hours to run one.
    steps: falling({ warning: 86_400, critical: 14_400 }),
    noValue: NO_LIMIT,
  }),
  stat({
    title: 'Failed messages in the time range',
    description: 'Messages to the selected destinations that failed after their last retry. Each is lost work.',
    unit: 'locale',
    decimals: 0,
    queries: [query(`sum(${increase(FAILURES, CHOSEN)})`)],
    steps: PLAIN,
  }),
  stat({
    title: 'Delivered at the first attempt',
    description:
      'Share of messages delivered in the last 10 minutes that needed no retry. If it falls, a destination fails intermittently: see the deliveries dashboard.',
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
    title: 'Failed workflow runs',
    description: 'Size of the workflow DLQ, which is separate and has its own dashboard.',
    unit: unitOf('msgsvc_workflow_dlq_aged_runs'),
    queries: [query(`sum(${once('msgsvc_workflow_dlq_aged_runs', ['age'])})`)],
    steps: PLAIN,
    links: [linkTo('opsd-workflows', 'Workflows')],
  }),
]);

const fill: Row = row('Size and growth', [
  timeSeries({
    title: 'Messages in the DLQ, by account',
    description: 'Size over time. Steps down are prunes, deletes or expiry; steps up are failed messages.',
    unit: unitOf(HELD),
    queries: [query(once(HELD), '{{account}}')],
  }),
  timeSeries({
    title: 'DLQ used, by account',
    description: 'Messages divided by limits.dlqMessages; no line if it is not set.',
    unit: 'percentunit',
    max: 1,
    queries: [query(filled, '{{account}}')],
    steps: rising(THRESHOLDS.dlq.fullRatio),
    limits: true,
    noValue: NO_LIMIT,
  }),
  timeSeries({
    title: 'Growth of the DLQ per hour',
    description:
      'Change of the size over the last hour (growth above 0), and messages that failed in that hour. Failures without growth: messages are removed or expire.',
    unit: unitOf(HELD),
    free: true,
    queries: [
      query(growth, '{{account}} growth'),
      query(`sum by (account) (${increase(FAILURES, '', '1h')})`, '{{account}} failed'),
    ],
  }),
]);

const failures: Row = row(
  'Failed messages and reasons',
  [
    table({
      title: 'Failed messages by destination and reason',
      description:
        'Failed messages in the time range, most first. 4xx: the message or its receiver is wrong, and a retry does not help. 5xx or no response: the destination was down; publish again once it is up.',
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
      title: 'Failed messages by destination, share',
      description:
        'Share of ended messages that failed, by destination; a gap means none ended. It lags behind failed attempts by the duration of the retries.',
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
      title: 'Failed messages per minute, by reason and code',
      description:
        'Outcome of the last attempt of failed messages, for the selected destinations. Empty while none fails.',
      unit: 'cpm',
      stacked: true,
      bars: true,
      queries: [query(`60 * sum by (reason, code) (${rate(FAILURES, CHOSEN)}) > 0`, '{{reason}} {{code}}')],
      noValue: 'none known',
    }),
    timeSeries({
      title: 'Removed by policies',
      description:
        'Dead letters that policies of the daemon pruned or deleted, per step. Removal by others is visible only in the growth above.',
      unit: unitOf('opsd_action_items_total'),
      bars: true,
      interval: '1m',
      queries: [
        query(
          `sum by (policy, action) (${perStep('opsd_action_items_total', 'action=~"message-dlq[.].+"')})`,
          '{{policy}}: {{action}}',
        ),
      ],
      noValue: 'none removed by policies',
      links: [linkTo('opsd-policies', 'Policies')],
    }),
  ],
);

const retries: Row = row(
  'Retries',
  [
    timeSeries({
      title: 'Attempts until delivery',
      description:
        'Messages delivered at the first, second, third attempt and so on, as shares of delivered messages. Failed messages are not included. More colors: destinations fail intermittently.',
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
      title: 'Attempts per ended message',
      description:
        'Attempts divided by ended messages, by destination; 1 if every first attempt succeeds. High: retries add load to a destination that is down.',
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
        'Delay between a failed attempt and its next one: 50 % and 95 % are shorter. It shows how long the recovery from a short failure takes.',
      unit: 's',
      queries: [
        query(quantile(0.5, 'msgsvc_message_retry_delay_seconds'), 'p50'),
        query(quantile(0.95, 'msgsvc_message_retry_delay_seconds'), 'p95'),
      ],
    }),
    timeSeries({
      title: 'Errors, retries and failures in the log',
      description:
        'Log entries per second: ERROR is a failed attempt, RETRY is a scheduled retry, FAILED is the end of a message without delivery. ERROR far above RETRY: most have no retries left.',
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
  description: 'Size and growth of the message DLQ, failed messages and their reasons, and retries.',
  variables: [
    {
      name: 'destination',
      label: 'Destination',
      description: 'URL Groups, queues, or hosts. Panels about the whole DLQ ignore it.',
      of: 'msgsvc_messages_created_total',
      value: 'destination',
    },
  ],
  rows: [now, fill, failures, retries],
});

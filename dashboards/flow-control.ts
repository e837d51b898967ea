/** Flow control: what waits, what holds it, and how much of each limit is in use. */
import { THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { PLAIN, rising, words } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { row } from './parts/layout.ts';
import type { Row } from './parts/layout.ts';
import { linkTo } from './parts/links.ts';
import type { LinkTo } from './parts/links.ts';
import { stateTimeline, stat, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { increase, LATELY, once, quantile, rate, sel } from './parts/selectors.ts';
import type { SeriesName } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { rateUnitOf, unitOf } from './parts/units.ts';

const CHOSEN = 'flow_control_key=~"$key"';
const WAITING = 'msgsvc_flow_control_waitlist_messages';
const PAUSED = 'msgsvc_flow_control_paused';
const SATURATED = 'msgsvc_flow_control_saturated_seconds_total';
const KEYS = 'msgsvc_flow_control_keys';
const UNWATCHED = 'opsd_flow_control_keys_unwatched_total';

const key = (series: SeriesName): string => once(series, ['flow_control_key'], CHOSEN);
/** Of the readings in each step: a single one catches the moment between two deliveries as often as not. */
const mean = (series: SeriesName): string =>
  `max by (account, flow_control_key) (avg_over_time(${sel(series, CHOSEN)}[$__rate_interval]))`;
/** None where the limit is none, or 0. */
const used = (part: SeriesName, limit: SeriesName): string => `${mean(part)} / (${key(limit)} > 0 < Inf)`;
const parallelism = used('msgsvc_flow_control_parallelism_in_use', 'msgsvc_flow_control_parallelism_limit');
const rateUsed = used('msgsvc_flow_control_rate_used_messages', 'msgsvc_flow_control_rate_limit_messages');
const perSecond = `${key('msgsvc_flow_control_rate_limit_messages')} / (${key('msgsvc_flow_control_rate_period_seconds')} > 0)`;

/** A share of time; of a counter that has just appeared, what it catches up with would be more than all of it. */
const timeHeld = (by: readonly string[]): string =>
  `clamp_max(sum by (${by.join(', ')}) (${rate(SATURATED, CHOSEN)}), 1)`;

const KEY_LINKS: readonly LinkTo[] = [
  linkTo('opsd-flow-control', 'Only ${__field.labels.flow_control_key}', { key: '${__field.labels.flow_control_key}' }),
];
const YES_NO = [words({ 0: ['no', 'green'], 1: ['yes', 'orange'] })];

const now: Row = row('Now', [
  stat({
    title: 'Messages that wait',
    description:
      'Messages on the waiting lists of the chosen keys. A list that empties now and then is flow control at work; one that only grows needs a higher limit or less traffic.',
    unit: unitOf(WAITING),
    queries: [query(`sum(${key(WAITING)})`)],
    steps: PLAIN,
    noValue: 'no keys watched, or not read',
  }),
  stat({
    title: 'Keys paused',
    description: 'Keys whose messages are not delivered until somebody resumes them.',
    unit: 'short',
    queries: [query(`sum(${key(PAUSED)})`)],
    steps: rising({ warning: 1 }),
    noValue: 'no keys watched, or not read',
  }),
  stat({
    title: 'Paused with messages waiting',
    description:
      'Keys that are paused while messages wait for them: is the pause still meant? Resume the key, or tell who waits.',
    unit: 'short',
    queries: [query(`sum((${key(PAUSED)}) * (${key(WAITING)} > bool 0))`)],
    steps: rising({ critical: 1 }),
    noValue: 'no keys watched, or not read',
  }),
  stat({
    title: 'Most saturated key',
    description:
      'Share of the last 10 minutes in which the key that is held most had a waiting list. At 100% the list was never empty: the table below says what holds it.',
    unit: 'percentunit',
    decimals: 0,
    queries: [
      query(`max(clamp_max(sum by (account, flow_control_key) (${increase(SATURATED, CHOSEN, LATELY)}) / 600, 1))`),
    ],
    steps: rising({ warning: THRESHOLDS.flowControl.saturatedRatio }),
    noValue: 'none waited yet',
  }),
  stat({
    title: 'Keys watched',
    description:
      'Configured in flowControlKeys, or discovered in entries of the log and of the workflow DLQ. The service cannot list its keys: one that no entry carried yet is not known.',
    unit: unitOf(KEYS),
    queries: [query(`sum by (origin) (${once(KEYS, ['origin'])})`, '{{origin}}')],
    steps: PLAIN,
    names: true,
  }),
  stat({
    title: 'Keys not watched',
    description:
      'Keys that entries carried since the daemon began to count and for which there is no place: of these, nothing is shown here. Name them in flowControlKeys, or raise collectors.flowControl.discover.',
    unit: unitOf(UNWATCHED),
    queries: [query(`sum(${sel(UNWATCHED)})`)],
    steps: rising({ warning: 1 }),
  }),
]);

const held: Row = row(
  'Why is a key held?',
  [
    table({
      title: 'Keys',
      description:
        'Each key as it is at this moment. Waiting with parallelism in use at its limit: deliveries are slow, or the limit is low. Waiting with the rate used up: more traffic than the rate lets through. Pinned: what publishers ask for is not heeded. A click on a key shows it alone.',
      labels: { account: 'Account', flow_control_key: 'Key' },
      columns: [
        { title: 'Waiting', expr: key(WAITING), unit: 'short', steps: rising({ warning: 1 }) },
        { title: 'In parallel', expr: key('msgsvc_flow_control_parallelism_in_use'), unit: 'short' },
        { title: 'Parallelism limit', expr: key('msgsvc_flow_control_parallelism_limit'), unit: 'short' },
        { title: 'Sent in period', expr: key('msgsvc_flow_control_rate_used_messages'), unit: 'short' },
        { title: 'Rate limit', expr: key('msgsvc_flow_control_rate_limit_messages'), unit: 'short' },
        { title: 'Period', expr: key('msgsvc_flow_control_rate_period_seconds'), unit: 's' },
        { title: 'Paused', expr: key(PAUSED), unit: unitOf(PAUSED), mappings: YES_NO },
        {
          title: 'Parallelism pinned',
          expr: key('msgsvc_flow_control_parallelism_pinned'),
          unit: unitOf('msgsvc_flow_control_parallelism_pinned'),
          mappings: YES_NO,
        },
        {
          title: 'Rate pinned',
          expr: key('msgsvc_flow_control_rate_pinned'),
          unit: unitOf('msgsvc_flow_control_rate_pinned'),
          mappings: YES_NO,
        },
      ],
      sortBy: 'Waiting',
      noValue: 'no keys watched, or not read',
      click: { flow_control_key: linkTo('opsd-flow-control', 'Only this key', { key: '${__data.fields.Key}' }) },
    }),
  ],
  [
    timeSeries({
      title: 'Time with a waiting list, by what held it',
      description:
        'Share of time in which messages of the key waited: for parallelism, for the rate, since it is paused, or for another reason that the service does not show. Nothing is drawn while none wait. Parallelism at 100%: raise it, or make the destination faster.',
      unit: rateUnitOf(SATURATED),
      max: 1,
      queries: [query(`${timeHeld(['flow_control_key', 'constraint'])} > 0`, '{{flow_control_key}}: {{constraint}}')],
      noValue: 'nothing waited',
      click: KEY_LINKS,
    }),
    timeSeries({
      title: 'Messages that wait, by key',
      description: 'Length of the waiting list when it was read. Short bursts between two readings are not seen.',
      unit: unitOf(WAITING),
      queries: [query(`sum by (flow_control_key) (${key(WAITING)})`, '{{flow_control_key}}')],
      noValue: 'no keys watched, or not read',
      click: KEY_LINKS,
    }),
  ],
);

const limits: Row = row(
  'How much of the limits is in use?',
  [
    timeSeries({
      title: 'Parallelism in use',
      description:
        'Deliveries in parallel over the limit of the key, the mean of the readings in each step. Near 100% with a waiting list: the limit holds. No line for keys without a limit.',
      unit: 'percentunit',
      max: 1,
      queries: [query(parallelism, '{{flow_control_key}}')],
      noValue: 'no key has a limit of parallelism',
      click: KEY_LINKS,
    }),
    timeSeries({
      title: 'Rate in use',
      description:
        'Messages sent in the present period over what it allows. It is the mean of the moments of reading: with a period shorter than the interval of the collector most periods are never seen, so read the share of time above instead.',
      unit: 'percentunit',
      max: 1,
      queries: [query(rateUsed, '{{flow_control_key}}')],
      noValue: 'no key has a rate',
      click: KEY_LINKS,
    }),
  ],
  [
    timeSeries({
      title: 'Parallelism and its limit',
      description:
        'Deliveries in parallel, the mean of the readings in each step, and the limit. A limit that moves was changed by a publisher, or pinned.',
      unit: 'short',
      queries: [
        query(mean('msgsvc_flow_control_parallelism_in_use'), '{{flow_control_key}}'),
        query(key('msgsvc_flow_control_parallelism_limit'), '{{flow_control_key}} limit'),
      ],
      noValue: 'no keys watched, or not read',
    }),
    timeSeries({
      title: 'Messages a second that the rate allows',
      description:
        'The rate of each key over its period: no more than that is delivered, however fast the destination.',
      unit: 'mps',
      queries: [query(perSecond, '{{flow_control_key}}')],
      noValue: 'no key has a rate',
    }),
    timeSeries({
      title: 'Wait before an attempt, p95',
      description:
        'From due until the attempt began, of the destinations that wait longest. Flow control is one cause of it; a wait without a waiting list is the service.',
      unit: 's',
      queries: [
        query(
          `topk(5, ${quantile(0.95, 'msgsvc_message_queue_wait_seconds', ['destination'])} >= 0)`,
          '{{destination}}',
        ),
      ],
      links: [linkTo('opsd-deliveries', 'Deliveries')],
    }),
  ],
);

const state: Row = row(
  'Who changed what?',
  [
    stateTimeline({
      title: 'Paused',
      description: 'When each key was paused. Nothing in the interface says by whom.',
      unit: unitOf(PAUSED),
      queries: [query(`max by (flow_control_key) (${sel(PAUSED, CHOSEN)})`, '{{flow_control_key}}')],
      mappings: [words({ 0: ['delivers', 'green'], 1: ['paused', 'red'] })],
      noValue: 'no keys watched, or not read',
    }),
    stateTimeline({
      title: 'Pinned',
      description:
        'When parallelism or rate of a key was pinned: then what publishers give with their messages is not heeded.',
      unit: unitOf('msgsvc_flow_control_rate_pinned'),
      queries: [
        query(
          `max by (flow_control_key) (${sel('msgsvc_flow_control_parallelism_pinned', CHOSEN)})`,
          '{{flow_control_key}}: parallelism',
        ),
        query(
          `max by (flow_control_key) (${sel('msgsvc_flow_control_rate_pinned', CHOSEN)})`,
          '{{flow_control_key}}: rate',
        ),
      ],
      mappings: [words({ 0: ['as published', 'blue'], 1: ['pinned', 'orange'] })],
      noValue: 'no keys watched, or not read',
    }),
  ],
  [
    timeSeries({
      title: 'Keys watched and not watched',
      description:
        'Keys by where they are known from, and those for which there was no place. Not watched keys may be held without anybody seeing it.',
      unit: unitOf(KEYS),
      queries: [
        query(`sum by (origin) (${once(KEYS, ['origin'])})`, '{{origin}}'),
        query(`sum(${sel(UNWATCHED)})`, 'not watched'),
      ],
    }),
    timeSeries({
      title: 'Failed runs held, by key',
      description: 'Runs in the workflow DLQ that have the key: what was held too long may have failed.',
      unit: unitOf('msgsvc_workflow_dlq_flow_control_runs'),
      queries: [
        query(
          `sum by (flow_control_key) (${once('msgsvc_workflow_dlq_flow_control_runs', ['flow_control_key'], CHOSEN)})`,
          '{{flow_control_key}}',
        ),
      ],
      noValue: 'none has a key, or not read',
      links: [linkTo('opsd-workflows', 'Workflows')],
    }),
  ],
);

export const flowControl = dashboard({
  uid: 'opsd-flow-control',
  title: 'opsd: flow control',
  description: 'Which keys make messages wait, for what, and how much of each limit is in use.',
  variables: [
    {
      name: 'key',
      label: 'Key',
      description: 'Flow-control keys that are watched.',
      of: WAITING,
      value: 'flow_control_key',
    },
  ],
  rows: [now, held, limits, state],
});

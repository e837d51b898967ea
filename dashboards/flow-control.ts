/** Dashboard of flow control: waiting messages, their constraints, and the use of each limit. */
import { THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { PLAIN, rising, words } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { row } from './parts/layout.ts';
import type { Row } from './parts/layout.ts';
import { linkTo } from './parts/links.ts';
import type { LinkTo } from './parts/links.ts';
import { stateTimeline, stat, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { increase, LATELY, once, perStep, quantile, rate, sel, selOver } from './parts/selectors.ts';
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
/** Mean of the readings in each step. A single reading often falls between two deliveries. */
const mean = (series: SeriesName): string =>
  `max by (account, flow_control_key) (${selOver('avg_over_time', series, '$__rate_interval', CHOSEN)})`;
/** No value if there is no limit, or if it is 0. */
const used = (part: SeriesName, limit: SeriesName): string => `${mean(part)} / (${key(limit)} > 0 < Inf)`;
const parallelism = used('msgsvc_flow_control_parallelism_in_use', 'msgsvc_flow_control_parallelism_limit');
const rateUsed = used('msgsvc_flow_control_rate_used_messages', 'msgsvc_flow_control_rate_limit_messages');
const perSecond = `${key('msgsvc_flow_control_rate_limit_messages')} / (${key('msgsvc_flow_control_rate_period_seconds')} > 0)`;

/** Share of time, at most 1: a counter that just appeared catches up, and its rate would be higher. */
const timeHeld = (by: readonly string[]): string =>
  `clamp_max(sum by (${by.join(', ')}) (${rate(SATURATED, CHOSEN)}), 1)`;

const KEY_LINKS: readonly LinkTo[] = [
  linkTo('opsd-flow-control', 'Only ${__field.labels.flow_control_key}', { key: '${__field.labels.flow_control_key}' }),
];
const YES_NO = [words({ 0: ['no', 'green'], 1: ['yes', 'orange'] })];

const now: Row = row('Now', [
  stat({
    title: 'Waiting messages',
    description:
      'Messages on the waiting lists of the selected keys. A list that is sometimes empty is normal. A list that only grows needs a higher limit or less traffic.',
    unit: unitOf(WAITING),
    queries: [query(`sum(${key(WAITING)})`)],
    steps: PLAIN,
    noValue: 'no keys watched, or not read',
  }),
  stat({
    title: 'Paused keys',
    description: 'Keys whose messages are not delivered until someone resumes them.',
    unit: 'short',
    queries: [query(`sum(${key(PAUSED)})`)],
    steps: rising({ warning: 1 }),
    noValue: 'no keys watched, or not read',
  }),
  stat({
    title: 'Paused with messages waiting',
    description:
      'Paused keys with waiting messages. Check if the pause is still intended, then resume the key or inform its users.',
    unit: 'short',
    queries: [query(`sum((${key(PAUSED)}) * (${key(WAITING)} > bool 0))`)],
    steps: rising({ critical: 1 }),
    noValue: 'no keys watched, or not read',
  }),
  stat({
    title: 'Most saturated key',
    description:
      'Share of the last 10 minutes that the most saturated key had a waiting list. At 100 % the list was never empty: the table below shows the constraint.',
    unit: 'percentunit',
    decimals: 0,
    queries: [
      query(`max(clamp_max(sum by (account, flow_control_key) (${increase(SATURATED, CHOSEN, LATELY)}) / 600, 1))`),
    ],
    steps: rising({ warning: THRESHOLDS.flowControl.saturatedRatio }),
    noValue: 'none has waited yet',
  }),
  stat({
    title: 'Watched keys',
    description:
      'Keys configured in flowControlKeys, or discovered in log and workflow DLQ entries. The service cannot list keys: a key without an entry is unknown.',
    unit: unitOf(KEYS),
    queries: [query(`sum by (origin) (${once(KEYS, ['origin'])})`, '{{origin}}')],
    steps: PLAIN,
    names: true,
  }),
  stat({
    title: 'Unwatched keys',
    description:
      'Keys first seen in the time range that are not watched because of the limit; they have no data here. Add them to flowControlKeys, or raise collectors.flowControl.discover.',
    unit: unitOf(UNWATCHED),
    queries: [query(`sum(${increase(UNWATCHED)})`)],
    steps: rising({ warning: 1 }),
  }),
]);

const held: Row = row(
  'Constraints of keys',
  [
    table({
      title: 'Keys',
      description:
        'Current state of each key. Waiting at the parallelism limit: deliveries are slow, or the limit is low. Waiting with the rate used up: too much traffic for the rate. Pinned: settings of publishers are ignored. Click a key to select it.',
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
      title: 'Time with a waiting list, by constraint',
      description:
        'Share of time that messages waited on the key, by constraint: parallelism, rate, pause, or other (no visible limit). Empty while none waits. Parallelism at 100 %: raise it, or make the destination faster.',
      unit: rateUnitOf(SATURATED),
      max: 1,
      queries: [query(`${timeHeld(['flow_control_key', 'constraint'])} > 0`, '{{flow_control_key}}: {{constraint}}')],
      noValue: 'nothing waited',
      click: KEY_LINKS,
    }),
    timeSeries({
      title: 'Waiting messages by key',
      description: 'Length of the waiting list at each reading. Short bursts between two readings are not visible.',
      unit: unitOf(WAITING),
      queries: [query(`sum by (flow_control_key) (${key(WAITING)})`, '{{flow_control_key}}')],
      noValue: 'no keys watched, or not read',
      click: KEY_LINKS,
    }),
  ],
);

const limits: Row = row(
  'Use of limits',
  [
    timeSeries({
      title: 'Parallelism in use',
      description:
        'Parallel deliveries divided by the limit of the key, mean per step. Near 100 % with a waiting list: the limit is the constraint. No line for keys without a limit.',
      unit: 'percentunit',
      max: 1,
      queries: [query(parallelism, '{{flow_control_key}}')],
      noValue: 'no key has a parallelism limit',
      click: KEY_LINKS,
    }),
    timeSeries({
      title: 'Rate in use',
      description:
        'Messages sent in the current period divided by the rate, mean of the readings. If the period is shorter than the interval of the collector, most periods are not visible: use the share of time above instead.',
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
        'Parallel deliveries, mean per step, and the limit. A change of the limit: a publisher changed it, or it was pinned.',
      unit: 'short',
      queries: [
        query(mean('msgsvc_flow_control_parallelism_in_use'), '{{flow_control_key}}'),
        query(key('msgsvc_flow_control_parallelism_limit'), '{{flow_control_key}} limit'),
      ],
      noValue: 'no keys watched, or not read',
    }),
    timeSeries({
      title: 'Rate limit, messages per second',
      description:
        "Rate of each key divided by its period: the maximum deliveries, regardless of the destination's speed.",
      unit: 'mps',
      queries: [query(perSecond, '{{flow_control_key}}')],
      noValue: 'no key has a rate',
    }),
    timeSeries({
      title: 'Wait before an attempt, p95',
      description:
        'Time between due time and start of attempts, for the five destinations with the longest waits. Flow control is one cause. A wait without a waiting list: the service is slow.',
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
  'Changes',
  [
    stateTimeline({
      title: 'Paused',
      description: 'Times when each key was paused. The interface does not report who paused it.',
      unit: unitOf(PAUSED),
      queries: [query(`max by (flow_control_key) (${sel(PAUSED, CHOSEN)})`, '{{flow_control_key}}')],
      mappings: [words({ 0: ['delivers', 'green'], 1: ['paused', 'red'] })],
      noValue: 'no keys watched, or not read',
    }),
    stateTimeline({
      title: 'Pinned',
      description: 'Times when parallelism or rate of a key was pinned. Settings of publishers are then ignored.',
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
      title: 'Watched and unwatched keys',
      description:
        'Keys by origin, and new keys that are not watched because of the limit. Unwatched keys may be held unnoticed.',
      unit: unitOf(KEYS),
      queries: [
        query(`sum by (origin) (${once(KEYS, ['origin'])})`, '{{origin}}'),
        query(`sum(${perStep(UNWATCHED)})`, 'newly unwatched'),
      ],
    }),
    timeSeries({
      title: 'Failed runs by key',
      description: 'Runs in the workflow DLQ with this key. Runs that were held too long may have failed.',
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
  description: 'Keys with waiting messages, their constraints, and the use of each limit.',
  variables: [
    {
      name: 'key',
      label: 'Key',
      description: 'Watched flow-control keys.',
      of: WAITING,
      value: 'flow_control_key',
    },
  ],
  rows: [now, held, limits, state],
});

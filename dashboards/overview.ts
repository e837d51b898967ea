/** Overview for the first look: outages, failures, backlog, expiry, cost, and actions of the automation. */
import { OBJECTIVES, THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import type { CanaryVerdict } from '#foundation/domain/canary.ts';
import { falling, rising, words } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { SOURCE_AGE_RATIO } from './parts/freshness.ts';
import { row } from './parts/layout.ts';
import { linkTo } from './parts/links.ts';
import { barGauge, stat, stateTimeline, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { increase, most, once, perStep, quantile, rate, sel } from './parts/selectors.ts';
import type { SeriesName } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { unitOf } from './parts/units.ts';

const { delivered, attempts } = OBJECTIVES;
const { latency, spend } = THRESHOLDS;

const sumOf = (series: SeriesName, more = '', window = '1h') => `sum(${increase(series, more, window)})`;

/** No share without traffic, rather than a good one. */
const DELIVERED = `clamp_min(1 - ${sumOf('msgsvc_message_failures_total')} / (${sumOf('msgsvc_messages_finished_total')} - ${sumOf('msgsvc_message_cancellations_total')} > 0), 0)`;
const SUCCEEDED = `clamp_min(1 - ${sumOf('msgsvc_message_attempt_failures_total')} / (${sumOf('msgsvc_message_attempts_total')} > 0), 0)`;

const BUDGET = once('msgsvc_account_budget_dollars');
const FORECAST = once('msgsvc_account_month_billing_forecast_dollars');

/** 0 while there are no failed runs, because their ages are exported even then. Absent if their expiry is unknown. */
const HELD_RUNS = `sum(${once('msgsvc_workflow_dlq_aged_runs', ['age'])})`;
const NONE_EXPIRES = `0 * ${HELD_RUNS} * on () max(${sel('msgsvc_account_limit_dlq_retention_seconds')})`;

/** Firing alerts of these rules, for the selected accounts or without account. The heartbeat always fires. */
const FIRING = (severity: string): string =>
  `ALERTS{alertstate="firing",area=~".+",severity=~"${severity}",account=~"$account|"}`;
const SUBJECT = 'severity, alertname, account, destination, workflow, policy, instance';
/** Firing alerts with the start of their condition. */
const BEGAN = `max by (${SUBJECT}) (ALERTS_FOR_STATE{area=~".+",severity=~"critical|warning",account=~"$account|"})`;

const verdict = row('Verdict', [
  stat({
    title: 'Firing alerts',
    description:
      'Number of alerts that page, and of warnings. The data source must be the Prometheus that evaluates the rules.',
    unit: 'short',
    width: 6,
    queries: [
      query(`count(${FIRING('critical')}) or vector(0)`, 'pages'),
      query(`count(${FIRING('warning')}) or vector(0)`, 'warnings'),
    ],
    steps: rising({ warning: 1 }),
    stepsOf: { pages: rising({ critical: 1 }) },
    names: true,
    links: [linkTo('opsd-daemon', 'The daemon')],
  }),
  table({
    title: 'Firing alerts, the worst first',
    description: 'Each alert that fires, with its subject and the time since its condition began. Pages come first.',
    width: 18,
    height: 6,
    labels: {
      severity: 'Severity',
      alertname: 'Alert',
      account: 'Account',
      destination: 'Destination',
      workflow: 'Workflow',
      policy: 'Policy',
      instance: 'Daemon',
    },
    columns: [
      {
        title: 'Page',
        expr: `max by (${SUBJECT}) (${FIRING('critical')}) or 0 * max by (${SUBJECT}) (${FIRING('warning')})`,
        unit: 'short',
        mappings: [words({ 0: ['no', 'orange'], 1: ['yes', 'red'] })],
      },
      {
        title: 'Active for',
        expr: `time() - ${BEGAN} and on (${SUBJECT}) ${FIRING('critical|warning')}`,
        unit: 's',
      },
    ],
    sortBy: 'Page',
    noValue: 'no alert fires',
    click: {
      destination: linkTo('opsd-deliveries', 'Deliveries there', { destination: '${__data.fields.Destination}' }),
    },
    links: [linkTo('opsd-deliveries', 'Deliveries'), linkTo('opsd-policies', 'Policies')],
  }),
]);

const traffic = row('Traffic', [
  timeSeries({
    title: 'Messages per second',
    description:
      'Messages delivered, and messages that failed permanently. A new kind of failure appears after 90 s (telemetry.metrics.newSeriesZeroFor). Cancelled messages are in neither.',
    unit: 'mps',
    queries: [
      // Not computed as ended minus failed: a new kind of failure is held at 0 at first, and would count as delivered.
      query(`sum(${rate('msgsvc_log_events_total', 'state="DELIVERED"')})`, 'delivered'),
      query(`sum(${rate('msgsvc_message_failures_total')})`, 'failed permanently'),
    ],
    links: [linkTo('opsd-deliveries', 'Deliveries')],
  }),
]);

const state = row('Key figures', [
  stat({
    title: 'Service available',
    description:
      'Up if the last successful request to the API is at most two intervals old. DOWN with code 401 or 403 means the token; with 5xx or error it means the service or the network.',
    unit: unitOf('msgsvc_up'),
    queries: [query(`min by (account, api) (${sel('msgsvc_up')})`, '{{account}} {{api}}')],
    steps: falling({ critical: 1 }),
    mappings: [words({ 0: ['DOWN', 'red'], 1: ['up', 'green'] })],
    noValue: 'no daemon',
    names: true,
    links: [linkTo('opsd-daemon', 'Requests to the service')],
  }),
  stat({
    title: 'Messages delivered, last hour',
    description: `Share of messages delivered, of those that ended and were not cancelled. The objective is ${delivered * 100} %. Messages that failed permanently are in the DLQ.`,
    unit: 'percentunit',
    decimals: 2,
    queries: [query(DELIVERED)],
    steps: falling({ critical: delivered }),
    noValue: 'no traffic known',
    links: [linkTo('opsd-deliveries', 'Deliveries'), linkTo('opsd-dlq', 'DLQ')],
  }),
  stat({
    title: 'Longest overdue message',
    description:
      'Time that the oldest due message has waited for its delivery, retries included. Not known if the log does not report each state change, or was not read.',
    unit: 's',
    // If messages in flight are known and none is due, there is no wait, unlike with an unread log.
    queries: [
      query(
        `max(time() - ${sel('msgsvc_messages_oldest_due_timestamp_seconds')}) or 0 * max(${sel('msgsvc_messages_in_flight')})`,
      ),
    ],
    steps: rising(latency.overdueSeconds),
    mappings: [words({ 0: ['none', 'green'] })],
    noValue: 'not known',
    links: [linkTo('opsd-deliveries', 'Deliveries')],
  }),
  stat({
    title: 'Failed runs expiring within 24 h',
    description:
      'Failed workflow runs that expire within 24 hours unless an operator resumes them. Needs limits.dlqRetention of the account.',
    unit: unitOf('msgsvc_workflow_dlq_expiring_runs'),
    queries: [
      query(`sum(${once('msgsvc_workflow_dlq_expiring_runs', ['workflow'], 'within="24h"')}) or ${NONE_EXPIRES}`),
    ],
    steps: rising({ warning: 1 }),
    noValue: 'not known',
    links: [linkTo('opsd-workflows', 'Workflows')],
  }),
  stat({
    title: 'Forecast cost, of budget',
    description:
      'Forecast cost of the month over the known budget of the account. The forecast extends the pace of the last whole days. An account without a limit shows 0 %.',
    unit: 'percentunit',
    decimals: 0,
    queries: [query(`max(${FORECAST} / ${BUDGET})`)],
    steps: rising({ warning: spend.budgetUsedRatio.warning, critical: spend.forecastRatio }),
    noValue: 'no budget known',
    links: [linkTo('opsd-spend', 'Spend')],
  }),
  stat({
    title: 'Waiting for an operator',
    description:
      'Pending approvals, halted groups, active pauses, and actions whose outcome is unknown. Next steps: opsd approve, opsd unpause, opsd explain.',
    unit: 'short',
    queries: [
      query(
        `sum(max by (scope) (${sel('opsd_paused')})) + (sum(${sel('opsd_pending_plans')}) or vector(0)) + (sum(${sel('opsd_breaker_state')} == bool 2) or vector(0)) + (sum(${sel('opsd_unknown_outcomes')}) or vector(0))`,
      ),
    ],
    steps: rising({ warning: 1 }),
    mappings: [words({ 0: ['nothing', 'green'] })],
    noValue: 'no policies',
    links: [linkTo('opsd-policies', 'Policies')],
  }),
]);

/** Verdicts, the ones with the clearest blame first: of two in one step, the first one is shown. */
const VERDICTS: Readonly<Record<CanaryVerdict, string>> = {
  service: 'red',
  account: 'orange',
  network: 'purple',
  receiver: 'blue',
  service_reporting: 'dark-red',
  throttled: 'yellow',
  unknown: 'text',
  ok: 'green',
};

/** Number of the verdict in the list above, for each canary. */
const VERDICT_OF_CANARY = Object.keys(VERDICTS)
  .map((verdict, index) => {
    const samples = most('msgsvc_canary_verdict_info', '$__interval', `verdict="${verdict}"`);
    return `${index} * max by (account, canary) (${samples})`;
  })
  .join(' or ');

const canaries = row('Canaries', [
  stateTimeline({
    title: 'Verdicts of canaries',
    description:
      'Who must act, by canary: messages that the daemon sends to itself through the service. service, service_reporting: the provider. account, throttled: the settings of the account. network, receiver: the way to the hooks. unknown: too little is known. The page Canaries has the reason.',
    unit: 'short',
    height: 8,
    queries: [query(VERDICT_OF_CANARY, '{{account}} {{canary}}')],
    mappings: [
      words(Object.fromEntries(Object.entries(VERDICTS).map(([verdict, color], index) => [index, [verdict, color]]))),
    ],
    noValue: 'no canary is configured',
    links: [linkTo('opsd-daemon', 'The daemon')],
  }),
  timeSeries({
    title: 'Round trip of canaries, 95th percentile',
    description:
      'Time from the publish request of a canary message to its arrival at the daemon: the delay of the service itself, without your destinations. Gaps are times without an arrival.',
    unit: unitOf('msgsvc_canary_round_trip_seconds_sum'),
    interval: '2m',
    queries: [
      query(quantile(0.95, 'msgsvc_canary_round_trip_seconds', ['account', 'canary']), '{{account}} {{canary}}'),
    ],
    noValue: 'no canary is configured',
    links: [linkTo('opsd-deliveries', 'Latency of deliveries')],
  }),
]);

const REASONS = 'account, destination, reason, code';
const FAILED = `sum by (${REASONS}) (${increase('msgsvc_message_attempt_failures_total', '', '1h')})`;
const OF_ATTEMPTS = `sum by (account, destination) (${increase('msgsvc_message_attempts_total', '', '1h')})`;

const failing = row(
  'Failures and latency',
  [
    table({
      title: 'Failed attempts by destination and reason, last hour',
      description:
        'Failed attempts by destination, reason and status, and their share of all attempts there. The reasons dns, tls and connection are about the way there, timeout and http about the destination itself.',
      labels: { account: 'Account', destination: 'Destination', reason: 'Reason', code: 'Code' },
      columns: [
        { title: 'Failed attempts', expr: `${FAILED} > 0.5`, unit: 'locale', decimals: 0 },
        {
          title: 'Of its attempts',
          // Only the rows of the previous column: a share of nothing is not a row.
          expr: `clamp_max((${FAILED} > 0.5) / on (account, destination) group_left () ${OF_ATTEMPTS}, 1)`,
          unit: 'percentunit',
          decimals: 1,
          steps: rising({ warning: 1 - attempts, critical: 0.5 }),
        },
      ],
      sortBy: 'Failed attempts',
      click: {
        destination: linkTo('opsd-deliveries', 'Deliveries there', { destination: '${__data.fields.Destination}' }),
      },
      links: [linkTo('opsd-deliveries', 'Deliveries')],
    }),
    timeSeries({
      title: 'Delivery latency, 95th percentile',
      description:
        '95 of 100 are faster. An attempt is the time that the destination takes; the wait before it is due to the service or to flow control; delivery is from when a message was due until its end, retries included. Points are messages with a trace.',
      unit: unitOf('msgsvc_message_attempt_duration_seconds_sum'),
      queries: [
        query(quantile(0.95, 'msgsvc_message_attempt_duration_seconds'), 'destination: attempt', { exemplar: true }),
        query(quantile(0.95, 'msgsvc_message_queue_wait_seconds'), 'service: wait before an attempt'),
        query(quantile(0.95, 'msgsvc_message_delivery_duration_seconds'), 'due until delivered'),
      ],
      links: [linkTo('opsd-deliveries', 'Latency by destination')],
    }),
  ],
  [
    timeSeries({
      title: 'Delivered messages and successful attempts, last hour',
      description: `Share of messages delivered in the end (objective ${delivered * 100} %) and of attempts that succeed (objective ${attempts * 100} %), each over the hour before. Gaps are hours without traffic.`,
      unit: 'percentunit',
      max: 1,
      free: true,
      queries: [query(DELIVERED, 'delivered in the end'), query(SUCCEEDED, 'attempts that succeed')],
      steps: [
        { value: null, color: 'red' },
        { value: attempts, color: 'orange' },
        { value: delivered, color: 'green' },
      ],
      limits: true,
      links: [linkTo('opsd-deliveries', 'Deliveries')],
    }),
    timeSeries({
      title: 'Backlog',
      description:
        'Messages on their way, messages that wait on a flow control key (some of both are the same), messages in the DLQ, and failed workflow runs. A gap means that the source was not read.',
      unit: 'short',
      queries: [
        query(`sum(${once('msgsvc_messages_in_flight', ['destination'])})`, 'on their way'),
        query(`sum(${once('msgsvc_flow_control_waitlist_messages', ['flow_control_key'])})`, 'waiting on flow control'),
        query(`sum(${once('msgsvc_account_dlq_messages')})`, 'message DLQ'),
        query(HELD_RUNS, 'failed workflow runs'),
      ],
      links: [
        linkTo('opsd-dlq', 'DLQ'),
        linkTo('opsd-workflows', 'Workflows'),
        linkTo('opsd-flow-control', 'Flow control'),
      ],
    }),
  ],
);

const waiting = row('Throttling, expiry, and cost', [
  timeSeries({
    title: 'Time throttled, by flow control key',
    description:
      'Share of time that messages waited on a flow control key, by cause: its parallelism, its rate, a pause, or other (no visible limit). Keys without waiting messages are left out.',
    unit: 'percentunit',
    max: 1,
    queries: [
      query(
        `clamp_max(sum by (flow_control_key, constraint) (${rate('msgsvc_flow_control_saturated_seconds_total')}), 1) > 0`,
        '{{flow_control_key}}: {{constraint}}',
      ),
    ],
    interval: '1m',
    links: [linkTo('opsd-flow-control', 'Flow control')],
  }),
  barGauge({
    title: 'Failed runs expiring within 72 h',
    description:
      'Failed workflow runs that are deleted by age within 72 hours, by workflow, the ten with most. Resume or archive them before; needs limits.dlqRetention of the account.',
    unit: unitOf('msgsvc_workflow_dlq_expiring_runs'),
    queries: [
      query(
        `topk(10, sum by (workflow) (${once('msgsvc_workflow_dlq_expiring_runs', ['workflow'], 'within="72h"')}))`,
        '{{workflow}}',
      ),
    ],
    steps: rising({ warning: 1 }),
    noValue: 'none held, or not known',
    links: [linkTo('opsd-workflows', 'Workflows')],
  }),
  timeSeries({
    title: 'Cost of the month, forecast, and budget',
    description:
      'Billing of the month so far, its forecast for the end of the month, and the known budget. An account without a limit has no line of a budget.',
    unit: unitOf('msgsvc_account_month_billing_dollars'),
    queries: [
      query(once('msgsvc_account_month_billing_dollars'), '{{account}} so far'),
      query(FORECAST, '{{account}} forecast'),
      query(`${BUDGET} < +Inf`, '{{account}} budget'),
    ],
    links: [linkTo('opsd-spend', 'Spend')],
  }),
]);

const automation = row('Automation and age of the data', [
  timeSeries({
    title: 'Actions by policy',
    description: 'Entries and runs acted on, by policy and action. The marks on all panels are the same actions.',
    unit: unitOf('opsd_action_items_total'),
    bars: true,
    stacked: true,
    interval: '1m',
    queries: [query(`sum by (policy, action) (${perStep('opsd_action_items_total')})`, '{{policy}}: {{action}}')],
    noValue: 'nothing known',
    links: [linkTo('opsd-policies', 'Policies')],
  }),
  timeSeries({
    title: 'Outcomes of actions',
    description:
      'Outcomes of actions: verified: the repair lasted, failed_again: the run failed again, unverified is still listed, rejected was refused by the service. Actions that are only accepted so far are left out.',
    unit: unitOf('opsd_action_outcomes_total'),
    bars: true,
    stacked: true,
    interval: '1m',
    queries: [
      query(
        `sum by (outcome) (${perStep('opsd_action_outcomes_total', 'outcome!~"accepted|unknown"')}) > 0`,
        '{{outcome}}',
      ),
    ],
    noValue: 'nothing to judge',
    links: [linkTo('opsd-policies', 'Policies')],
  }),
  barGauge({
    title: 'Age of the data, by source',
    description:
      'Age of what was last read of each source, over what it may be: three intervals, at least 3 minutes. At 100 % its gauges are withheld, and panels about it are empty.',
    unit: 'percentunit',
    decimals: 0,
    max: 1,
    queries: [query(SOURCE_AGE_RATIO, '{{account}} {{collector}}')],
    steps: rising({ warning: 0.7, critical: 1 }),
    noValue: 'no daemon',
    links: [linkTo('opsd-daemon', 'Sources')],
  }),
]);

export const overview = dashboard({
  uid: 'opsd-overview',
  title: 'opsd: overview',
  description: 'The first page at night. Each panel links to the dashboard with the details.',
  rows: [verdict, traffic, state, canaries, failing, waiting, automation],
});

/** Spend and quota: what is billed, how long the budget lasts, and how much of the allowed requests is used. */
import { THRESHOLDS } from '../deploy/prometheus/thresholds.ts';
import { falling, PLAIN, rising, UNLIMITED } from './parts/colours.ts';
import { dashboard } from './parts/dashboard.ts';
import { row } from './parts/layout.ts';
import type { Row } from './parts/layout.ts';
import { linkTo } from './parts/links.ts';
import { stat, timeSeries } from './parts/panels.ts';
import { query } from './parts/queries.ts';
import { once, rate, sel, share } from './parts/selectors.ts';
import { table } from './parts/table.ts';
import { rateUnitOf, unitOf } from './parts/units.ts';

const limits = THRESHOLDS.spend;
const DAY = 'msgsvc_account_day_billing_dollars';
const MONTH = 'msgsvc_account_month_billing_dollars';
const FORECAST = 'msgsvc_account_month_billing_forecast_dollars';
const BUDGET = 'msgsvc_account_budget_dollars';
const EXHAUSTION = 'msgsvc_account_budget_exhaustion_timestamp_seconds';
const REQUESTS = 'msgsvc_account_day_requests';
const REQUEST_LIMIT = 'msgsvc_account_limit_day_requests';
const QUOTA_USED = 'opsd_api_quota_used_requests';
const DOLLARS = unitOf(MONTH);
const NO_BUDGET = 'none known, or no limit';
const NO_LIMIT = 'no limit set';

/** There may be no limit: a share of it is none, and no line either. */
const finiteBudget = `(${once(BUDGET)} < Inf)`;
const requestShare = (kind: string): string =>
  share(once(REQUESTS), `max by (account) (${sel(REQUEST_LIMIT, `kind="${kind}"`)})`);
/**
 * By the UTC day so far when it was read: soon after midnight that may be the day before, and whole. An hour at least,
 * since the first minutes say nothing of a day.
 */
const dayRead = `clamp_min(${sel('opsd_collector_last_success_timestamp_seconds', 'collector="accountStats"')} % 86400, 3600)`;
const byMidnight = `max by (account) (${sel(REQUESTS)} * 86400 / on (account, job, instance) ${dayRead})`;
const ownShare = share(once(QUOTA_USED, ['api']), once('opsd_api_quota_requests', ['api']));

const now: Row = row('When is the budget gone?', [
  stat({
    title: 'Billed today',
    description: 'Billing of the current UTC day, all accounts chosen. The service lags behind by up to an hour.',
    unit: DOLLARS,
    queries: [query(`sum(${once(DAY)})`)],
    steps: PLAIN,
  }),
  stat({
    title: 'Billed this month',
    description: 'Billing of the current month so far, all accounts chosen.',
    unit: DOLLARS,
    queries: [query(`sum(${once(MONTH)})`)],
    steps: PLAIN,
  }),
  stat({
    title: 'Forecast for the month',
    description:
      'What is billed so far, and the pace of the last whole days for the rest of the month. Withheld while no whole day is known. A change of today is not in it yet: see the spend an hour.',
    unit: DOLLARS,
    queries: [query(`sum(${once(FORECAST)})`)],
    steps: PLAIN,
    noValue: 'not enough days yet',
  }),
  stat({
    title: 'Known budget',
    description:
      'Of the accounts that have a limit. No operation of the service reads it: it is what the configuration says, or what a policy of the daemon raised it to. Somebody else may have changed it since.',
    unit: DOLLARS,
    queries: [query(`sum(${finiteBudget})`)],
    steps: PLAIN,
    noValue: NO_BUDGET,
  }),
  stat({
    title: 'Budget used',
    description:
      'The account that has used most of its budget this month. What the service does at 100% is to refuse messages: raise the budget before, or find what spends it.',
    unit: 'percentunit',
    decimals: 0,
    queries: [query(`max(${share(once(MONTH), finiteBudget)})`)],
    steps: rising(limits.budgetUsedRatio),
    noValue: NO_BUDGET,
  }),
  stat({
    title: 'Budget gone in',
    description:
      'At the pace of the last whole days, for the account that is first; below 0 it is gone. No value where the budget lasts for the month, or is not known.',
    unit: 's',
    decimals: 1,
    queries: [query(`min(${once(EXHAUSTION)}) - time()`)],
    steps: falling({ warning: limits.exhaustionSeconds, critical: 0 }),
    noValue: 'lasts, or not known',
    links: [linkTo('opsd-policies', 'Who raises it')],
  }),
  stat({
    title: 'Budget last asserted',
    description:
      'How long ago somebody last said that the budget is so, the oldest of the accounts chosen. Months: look it up in the console of the service, and write it down as budget.assertedOn.',
    unit: 's',
    decimals: 1,
    queries: [query(`time() - min(${sel('msgsvc_account_budget_asserted_timestamp_seconds')})`)],
    // 90 days.
    steps: rising({ warning: 7_776_000 }),
    noValue: 'budget not known',
  }),
]);

const spending: Row = row(
  'What is spent?',
  [
    timeSeries({
      title: 'This month: billed, forecast, budget',
      description:
        'Forecast above the budget: it will not last. A step of the budget is a raise, by a policy (see the marks) or by the configuration. No budget line where there is no limit.',
      unit: DOLLARS,
      queries: [
        query(once(MONTH), '{{account}} billed'),
        query(once(FORECAST), '{{account}} forecast'),
        query(finiteBudget, '{{account}} budget'),
      ],
    }),
    timeSeries({
      title: 'Share of the budget: used, and by the end of the month',
      description: 'Above 100% at the end of the month: messages will be refused before it is over.',
      unit: 'percentunit',
      queries: [
        query(share(once(MONTH), finiteBudget), '{{account}} used'),
        query(share(once(FORECAST), finiteBudget), '{{account}} forecast'),
      ],
      steps: rising(limits.budgetUsedRatio),
      limits: true,
      noValue: NO_BUDGET,
    }),
  ],
  [
    timeSeries({
      title: 'Spend an hour',
      description:
        'How fast billing grows at present, in dollars an hour. A step without a step of the traffic is an anomaly: retries, larger messages, or another plan.',
      unit: DOLLARS,
      interval: '5m',
      queries: [query(`3600 * sum by (account) (${rate('msgsvc_account_billing_dollars_total')})`, '{{account}}')],
    }),
    timeSeries({
      title: 'Billed by day',
      description:
        'Billing of the current UTC day as it grows; begins at 0 at midnight UTC. Compare days by their ends.',
      unit: DOLLARS,
      queries: [query(once(DAY), '{{account}}')],
    }),
    table({
      title: 'Budgets, and where they are known from',
      description:
        'From the configuration (budget.knownUsd), or from the ledger: a raise by a policy of the daemon since then. Unlimited means that the service does not stop at any sum.',
      labels: { account: 'Account', origin: 'Known from' },
      columns: [
        { title: 'Budget', expr: once(BUDGET, ['origin']), unit: DOLLARS, mappings: [UNLIMITED] },
        {
          title: 'Asserted',
          expr: `1000 * ${once('msgsvc_account_budget_asserted_timestamp_seconds', ['origin'])}`,
          unit: unitOf('msgsvc_account_budget_asserted_timestamp_seconds'),
        },
      ],
      sortBy: 'Asserted',
      noValue: 'no budget known',
    }),
  ],
);

const requests: Row = row(
  'Do the requests of the account fit into its limits?',
  [
    timeSeries({
      title: 'Requests today, share of the limits',
      description:
        'Requests of the current UTC day over limits.requestsPerDay (soft) and limits.requestsPerDayHard (hard). Beyond the hard one the service refuses; find out who publishes so much.',
      unit: 'percentunit',
      queries: [
        query(requestShare('soft'), '{{account}} of the soft limit'),
        query(requestShare('hard'), '{{account}} of the hard limit'),
      ],
      steps: rising({ warning: limits.dayRequestsRatio.near, critical: limits.dayRequestsRatio.reached }),
      limits: true,
      noValue: NO_LIMIT,
    }),
    timeSeries({
      title: 'Requests today, and by midnight UTC at this pace',
      description:
        'So far, and what it comes to if the rest of the day is like the day so far. Little is known in the first hours.',
      unit: unitOf(REQUESTS),
      queries: [query(once(REQUESTS), '{{account}} so far'), query(byMidnight, '{{account}} by midnight')],
    }),
    timeSeries({
      title: 'Bandwidth',
      description: 'Bytes a second, from the settled points of the statistics, in the unit of wire.bandwidthUnit.',
      unit: rateUnitOf('msgsvc_account_bandwidth_bytes_total'),
      interval: '5m',
      queries: [query(`sum by (account) (${rate('msgsvc_account_bandwidth_bytes_total')})`, '{{account}}')],
    }),
  ],
  [
    timeSeries({
      title: 'Messages used',
      description:
        'Messages a second that count, and those of workflows, from the settled points of the statistics. They are some minutes late.',
      unit: rateUnitOf('msgsvc_account_used_messages_total'),
      interval: '5m',
      queries: [
        query(`sum by (account) (${rate('msgsvc_account_used_messages_total')})`, '{{account}} messages'),
        query(`sum by (account) (${rate('msgsvc_account_used_workflow_messages_total')})`, '{{account}} of workflows'),
      ],
    }),
    timeSeries({
      title: 'Messages by what the service calls them',
      description:
        'The named series of the statistics, a second. They overlap (a message that was created is delivered later), so they are not stacked, and must not be added up.',
      unit: rateUnitOf('msgsvc_account_messages_total'),
      interval: '5m',
      queries: [query(`sum by (series) (${rate('msgsvc_account_messages_total')})`, '{{series}}')],
    }),
    timeSeries({
      title: 'Workflow messages by what the service calls them',
      description: 'As beside, for the messages of workflows. The series overlap: do not add them up.',
      unit: rateUnitOf('msgsvc_account_workflow_messages_total'),
      interval: '5m',
      queries: [query(`sum by (series) (${rate('msgsvc_account_workflow_messages_total')})`, '{{series}}')],
    }),
  ],
);

const own: Row = row('What does the daemon itself use?', [
  timeSeries({
    title: "Daemon's requests today, share of what it allows itself",
    description:
      'Requests of the daemon in this UTC day over client.requestsPerDay, by API. At 100% it reads no more until midnight UTC, and gauges are withheld: raise it, or lengthen intervals.',
    unit: 'percentunit',
    max: 1,
    queries: [query(ownShare, '{{account}} {{api}}')],
    steps: rising({ warning: THRESHOLDS.api.quotaRatio, critical: 1 }),
    limits: true,
  }),
  timeSeries({
    title: "Daemon's requests by operation",
    description: 'What the daemon asks the service for, a second. The operation that asks most is where to save.',
    unit: rateUnitOf('opsd_api_requests_total'),
    stacked: true,
    queries: [query(`sum by (operation) (${rate('opsd_api_requests_total')})`, '{{operation}}')],
    links: [linkTo('opsd-daemon', 'The daemon')],
  }),
  stat({
    title: 'Requests left, as the service says',
    description:
      'What remains of the rate limits, as the answers to the daemon last told, where the service tells: of a burst, or of the day. At 0 it answers 429, to others of the account too.',
    unit: unitOf('opsd_api_rate_limit_remaining_requests'),
    queries: [
      query(
        `min by (account, api, window) (${sel('opsd_api_rate_limit_remaining_requests')})`,
        '{{account}} {{api}}, {{window}}',
      ),
    ],
    steps: PLAIN,
    names: true,
    noValue: 'the service does not tell',
  }),
]);

export const spend = dashboard({
  uid: 'opsd-spend',
  title: 'opsd: spend and quota',
  description:
    'What is billed and when the budget is gone; whether requests fit into the limits; what the daemon uses.',
  from: 'now-24h',
  rows: [now, spending, requests, own],
});

/** Dashboard of spend and quota: billing, the remaining budget, and the use of request limits. */
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

/** Finite budget. Without a limit there is no share and no line. */
const finiteBudget = `(${once(BUDGET)} < Inf)`;
const requestShare = (kind: string): string =>
  share(once(REQUESTS), `max by (account) (${sel(REQUEST_LIMIT, `kind="${kind}"`)})`);
/**
 * Scales by the part of the UTC day at the time of the reading. Soon after midnight, the reading may be of the complete
 * previous day. At least one hour, because the first minutes say nothing about a day.
 */
const dayRead = `clamp_min(${sel('opsd_collector_last_success_timestamp_seconds', 'collector="accountStats"')} % 86400, 3600)`;
const byMidnight = `max by (account) (${sel(REQUESTS)} * 86400 / on (account, job, instance) ${dayRead})`;
const ownShare = share(once(QUOTA_USED, ['api']), once('opsd_api_quota_requests', ['api']));

const now: Row = row('Budget', [
  stat({
    title: 'Billed today',
    description: 'Billing of the current UTC day for all selected accounts. The service lags by up to an hour.',
    unit: DOLLARS,
    queries: [query(`sum(${once(DAY)})`)],
    steps: PLAIN,
  }),
  stat({
    title: 'Billed this month',
    description: 'Billing of the current month so far, for all selected accounts.',
    unit: DOLLARS,
    queries: [query(`sum(${once(MONTH)})`)],
    steps: PLAIN,
  }),
  stat({
    title: 'Forecast for the month',
    description:
      "Amount billed so far plus the pace of the last whole days for the rest of the month. Withheld while no whole day is known. It excludes today's changes: see the spend per hour.",
    unit: DOLLARS,
    queries: [query(`sum(${once(FORECAST)})`)],
    steps: PLAIN,
    noValue: 'not enough days yet',
  }),
  stat({
    title: 'Known budget',
    description:
      'Sum of the finite budgets. The service has no operation to read it: it is from the configuration, or from a raise by a policy. Someone else may have changed it since.',
    unit: DOLLARS,
    queries: [query(`sum(${finiteBudget})`)],
    steps: PLAIN,
    noValue: NO_BUDGET,
  }),
  stat({
    title: 'Budget used',
    description:
      'Account that used the largest share of its budget this month. At 100 % the service rejects messages: raise the budget in time, or find the cause of the spend.',
    unit: 'percentunit',
    decimals: 0,
    queries: [query(`max(${share(once(MONTH), finiteBudget)})`)],
    steps: rising(limits.budgetUsedRatio),
    noValue: NO_BUDGET,
  }),
  stat({
    title: 'Budget exhausted in',
    description:
      "Time until the first account's budget is exhausted, at the pace of the last whole days; below 0 it is exhausted. No value if the budget lasts for the month or is unknown.",
    unit: 's',
    decimals: 1,
    queries: [query(`min(${once(EXHAUSTION)}) - time()`)],
    steps: falling({ warning: limits.exhaustionSeconds, critical: 0 }),
    noValue: 'lasts, or unknown',
    links: [linkTo('opsd-policies', 'Who raises it')],
  }),
  stat({
    title: 'Budget last asserted',
    description:
      'Age of the last assertion of the budget, for the account with the oldest. If it is months, check the budget in the console of the service and set budget.assertedOn.',
    unit: 's',
    decimals: 1,
    queries: [query(`time() - min(${sel('msgsvc_account_budget_asserted_timestamp_seconds')})`)],
    // 90 days.
    steps: rising({ warning: 7_776_000 }),
    noValue: 'budget unknown',
  }),
]);

const spending: Row = row(
  'Spend',
  [
    timeSeries({
      title: 'This month: billed, forecast, budget',
      description:
        'If the forecast is above the budget, it will not last. A step of the budget is a raise by a policy (see the annotations) or by the configuration. No budget line if it is unlimited.',
      unit: DOLLARS,
      queries: [
        query(once(MONTH), '{{account}} billed'),
        query(once(FORECAST), '{{account}} forecast'),
        query(finiteBudget, '{{account}} budget'),
      ],
    }),
    timeSeries({
      title: 'Share of the budget, used and forecast',
      description: 'A forecast above 100 %: the service will reject messages before the end of the month.',
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
      title: 'Spend per hour',
      description:
        'Current growth of billing in US dollars per hour. A step without more traffic is an anomaly: retries, larger messages, or another plan.',
      unit: DOLLARS,
      interval: '5m',
      queries: [query(`3600 * sum by (account) (${rate('msgsvc_account_billing_dollars_total')})`, '{{account}}')],
    }),
    timeSeries({
      title: 'Billed by day',
      description: 'Billing of the current UTC day so far; starts at 0 at midnight UTC. Compare days at their ends.',
      unit: DOLLARS,
      queries: [query(once(DAY), '{{account}}')],
    }),
    table({
      title: 'Budgets by origin',
      description:
        'Budget from the configuration (budget.knownUsd), or from the ledger: a later raise by a policy. Unlimited: the service never stops because of the amount.',
      labels: { account: 'Account', origin: 'Origin' },
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
  'Requests of the account',
  [
    timeSeries({
      title: 'Requests today, share of limits',
      description:
        'Requests of the current UTC day divided by limits.requestsPerDay (soft) and limits.requestsPerDayHard (hard). Above the hard limit the service rejects requests; find the publisher with the most traffic.',
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
      title: 'Requests today, and projection for midnight UTC',
      description: 'Requests so far, and the projection for the whole day. It is unreliable in the first hours.',
      unit: unitOf(REQUESTS),
      queries: [query(once(REQUESTS), '{{account}} so far'), query(byMidnight, '{{account}} by midnight')],
    }),
    timeSeries({
      title: 'Bandwidth',
      description: 'Bytes per second, from the settled points of the statistics, in the unit of wire.bandwidthUnit.',
      unit: rateUnitOf('msgsvc_account_bandwidth_bytes_total'),
      interval: '5m',
      queries: [query(`sum by (account) (${rate('msgsvc_account_bandwidth_bytes_total')})`, '{{account}}')],
    }),
  ],
  [
    timeSeries({
      title: 'Messages used',
      description:
        'Billable messages per second, and those of workflows, from the settled points of the statistics. They are some minutes late.',
      unit: rateUnitOf('msgsvc_account_used_messages_total'),
      interval: '5m',
      queries: [
        query(`sum by (account) (${rate('msgsvc_account_used_messages_total')})`, '{{account}} messages'),
        query(`sum by (account) (${rate('msgsvc_account_used_workflow_messages_total')})`, '{{account}} of workflows'),
      ],
    }),
    timeSeries({
      title: 'Messages by named series',
      description:
        'Named series of the statistics, per second. They overlap (a created message is delivered later), so they are not stacked and must not be added.',
      unit: rateUnitOf('msgsvc_account_messages_total'),
      interval: '5m',
      queries: [query(`sum by (series) (${rate('msgsvc_account_messages_total')})`, '{{series}}')],
    }),
    timeSeries({
      title: 'Workflow messages by named series',
      description: 'Named series of workflow messages, per second. They overlap and must not be added.',
      unit: rateUnitOf('msgsvc_account_workflow_messages_total'),
      interval: '5m',
      queries: [query(`sum by (series) (${rate('msgsvc_account_workflow_messages_total')})`, '{{series}}')],
    }),
  ],
);

const own: Row = row('Requests of the daemon', [
  timeSeries({
    title: "Daemon's requests today, share of its quota",
    description:
      'Requests of the daemon in this UTC day divided by client.requestsPerDay, by API. At 100 % it reads nothing until midnight UTC and withholds gauges: raise the quota, or lengthen intervals.',
    unit: 'percentunit',
    max: 1,
    queries: [query(ownShare, '{{account}} {{api}}')],
    steps: rising({ warning: THRESHOLDS.api.quotaRatio, critical: 1 }),
    limits: true,
  }),
  timeSeries({
    title: "Daemon's requests by operation",
    description: 'Requests of the daemon per second. To save requests, start with the most frequent operation.',
    unit: rateUnitOf('opsd_api_requests_total'),
    stacked: true,
    queries: [query(`sum by (operation) (${rate('opsd_api_requests_total')})`, '{{operation}}')],
    links: [linkTo('opsd-daemon', 'The daemon')],
  }),
  stat({
    title: 'Remaining requests in rate limits',
    description:
      'Remaining requests in the last response headers to the daemon, per burst or per day. At 0 the service returns 429, also to other clients of the account.',
    unit: unitOf('opsd_api_rate_limit_remaining_requests'),
    queries: [
      query(
        `min by (account, api, window) (${sel('opsd_api_rate_limit_remaining_requests')})`,
        '{{account}} {{api}}, {{window}}',
      ),
    ],
    steps: PLAIN,
    names: true,
    noValue: 'not reported by the service',
  }),
]);

export const spend = dashboard({
  uid: 'opsd-spend',
  title: 'opsd: spend and quota',
  description: 'Billing and remaining budget, use of request limits, and requests of the daemon.',
  from: 'now-24h',
  rows: [now, spending, requests, own],
});

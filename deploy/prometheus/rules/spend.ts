/** Alerts about money and about requests a day. Budget and limits are known from the configuration, or there is no alert. */
import { latest, promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
import { THRESHOLDS } from '../thresholds.ts';

const { budgetUsedRatio, forecastRatio, exhaustionSeconds, anomalyFactor, anomalyDollars, dayRequestsRatio } =
  THRESHOLDS.spend;

const USED = 'account:msgsvc_account_budget_used:ratio';
const FORECAST = 'account:msgsvc_account_budget_forecast:ratio';
const BILLED = 'msgsvc_account_billing_dollars_total';

/** After a raise both origins are there for a while; the higher one is in force. No limit is +Inf, and its ratio is 0. */
const BUDGET = latest('msgsvc_account_budget_dollars', 'account');
const DAY = `sum by (account) (increase(${BILLED}[1d]))`;
const MEAN_DAY = `sum by (account) (increase(${BILLED}[7d] offset 1d)) / 7`;

const USED_SUMMARY = '{{ $labels.account }} has used {{ $value | humanizePercentage }} of its budget of this month.';

function left(seconds: number): string {
  return `${latest('msgsvc_account_budget_exhaustion_timestamp_seconds', 'account')} - time() < ${seconds}`;
}

function requests(kind: 'soft' | 'hard'): string {
  return promql`
    ${latest('msgsvc_account_day_requests', 'account')}
    /
    ${latest(`msgsvc_account_limit_day_requests{kind="${kind}"}`, 'account')}
    >= ${dayRequestsRatio[kind]}`;
}

export const spendRecording: RecordingGroup = {
  name: 'msgsvc-spend-recording',
  rules: [
    {
      record: USED,
      expr: promql`
        ${latest('msgsvc_account_month_billing_dollars', 'account')}
        /
        ${BUDGET}`,
    },
    {
      record: FORECAST,
      expr: promql`
        ${latest('msgsvc_account_month_billing_forecast_dollars', 'account')}
        /
        ${BUDGET}`,
    },
  ],
};

export const spendAlerts: AlertGroup = {
  name: 'msgsvc-spend',
  rules: [
    {
      alert: 'MsgsvcBudgetNear',
      expr: `${USED} >= ${budgetUsedRatio.critical}`,
      for: '5m',
      severity: 'critical',
      area: 'spend',
      summary: USED_SUMMARY,
      description:
        'The budget is used up: the service may refuse what is published until it is raised or the month ends.',
    },
    {
      alert: 'MsgsvcBudgetNear',
      expr: `${USED} >= ${budgetUsedRatio.warning}`,
      for: '15m',
      severity: 'warning',
      area: 'spend',
      summary: USED_SUMMARY,
      description: 'When it is used up, the service may refuse what is published until it is raised or the month ends.',
    },
    {
      alert: 'MsgsvcBudgetForecastBeyond',
      expr: `${FORECAST} > ${forecastRatio}`,
      for: '1h',
      severity: 'warning',
      area: 'spend',
      summary:
        '{{ $labels.account }} will spend {{ $value | humanizePercentage }} of its budget by the end of the month.',
      description: 'So says the pace of the last whole days. There is time to decide: spend less, or raise the budget.',
    },
    {
      alert: 'MsgsvcBudgetRunsOut',
      expr: left(exhaustionSeconds.critical),
      for: '30m',
      severity: 'critical',
      area: 'spend',
      summary:
        'The budget of {{ $labels.account }} is used up in {{ $value | humanizeDuration }}, at the present pace.',
      description: 'A negative time is the time since then. The service may refuse what is published afterwards.',
    },
    {
      alert: 'MsgsvcBudgetRunsOut',
      expr: left(exhaustionSeconds.warning),
      for: '30m',
      severity: 'warning',
      area: 'spend',
      summary:
        'The budget of {{ $labels.account }} is used up in {{ $value | humanizeDuration }}, at the present pace.',
      description: 'The service may refuse what is published afterwards. There are days to decide.',
    },
    {
      alert: 'MsgsvcBillingAnomaly',
      // Eight days of history first: with fewer the mean day would be too small, and each first week an anomaly.
      expr: promql`
        ${DAY} > ${anomalyFactor} * ${MEAN_DAY}
        and ${DAY} - ${MEAN_DAY} >= ${anomalyDollars}
        and max by (account) (last_over_time(${BILLED}[1h] offset 8d))`,
      for: '30m',
      severity: 'warning',
      area: 'spend',
      summary: '{{ $labels.account }} spent {{ $value | humanize }} dollars within 24 hours, far more than usual.',
      description: `That is more than ${anomalyFactor} times the mean day of the week before. A loop, a flood of retries, or honest traffic.`,
    },
    {
      alert: 'MsgsvcRequestsNearDailyLimit',
      expr: requests('hard'),
      for: '5m',
      severity: 'critical',
      area: 'spend',
      summary:
        '{{ $labels.account }} has used {{ $value | humanizePercentage }} of the requests of today, by the hard limit.',
      description:
        'Beyond the hard limit the service may refuse requests until midnight UTC: nothing can be published then.',
    },
    {
      alert: 'MsgsvcRequestsNearDailyLimit',
      expr: requests('soft'),
      for: '15m',
      severity: 'warning',
      area: 'spend',
      summary:
        '{{ $labels.account }} has used {{ $value | humanizePercentage }} of the requests of today, by the soft limit.',
      description: 'What the service does beyond the soft limit is its own matter; the hard one comes after it.',
    },
  ],
};

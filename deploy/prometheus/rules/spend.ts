/** Alerts about money and about requests a day. Budget and limits are known from the configuration, or there is no alert. */
import { duration, latest, percent, promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
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

function left(seconds: number): string {
  return `${latest('msgsvc_account_budget_exhaustion_timestamp_seconds', 'account')} - time() < ${seconds}`;
}

function requests(kind: 'soft' | 'hard', ratio: number): string {
  return promql`
    ${latest('msgsvc_account_day_requests', 'account')}
    /
    ${latest(`msgsvc_account_limit_day_requests{kind="${kind}"}`, 'account')}
    >= ${ratio}`;
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
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of the monthly budget used (limit ${percent(budgetUsedRatio.critical)})`,
      description: 'The service may reject messages until the budget is raised or the month ends.',
    },
    {
      alert: 'MsgsvcBudgetNear',
      expr: `${USED} >= ${budgetUsedRatio.warning}`,
      for: '15m',
      severity: 'warning',
      area: 'spend',
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of the monthly budget used (limit ${percent(budgetUsedRatio.warning)})`,
      description: 'At 100 % the service may reject messages until the budget is raised or the month ends.',
    },
    {
      alert: 'MsgsvcBudgetForecastBeyond',
      expr: `${FORECAST} > ${forecastRatio}`,
      for: '1h',
      severity: 'warning',
      area: 'spend',
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of the monthly budget forecast (limit ${percent(forecastRatio)})`,
      description: 'The forecast uses the pace of the last whole days. Spend less, or raise the budget.',
    },
    {
      alert: 'MsgsvcBudgetRunsOut',
      expr: left(exhaustionSeconds),
      for: '30m',
      severity: 'warning',
      area: 'spend',
      extended: true,
      summary: `{{ $labels.account }}: budget exhausted in {{ $value | humanizeDuration }} (limit ${duration(exhaustionSeconds)})`,
      description: 'At the current pace the service may reject messages after that. A negative time is in the past.',
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
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | printf "%.2f" }} USD in 24 h (limit ${anomalyFactor} times the weekly mean)`,
      description: 'Look for a loop or many retries. More traffic is also possible.',
    },
    {
      alert: 'MsgsvcRequestsNearDailyLimit',
      expr: requests('hard', dayRequestsRatio.reached),
      for: '5m',
      severity: 'critical',
      area: 'spend',
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of daily requests used (limit ${percent(dayRequestsRatio.reached)})`,
      description: 'The service may reject requests until midnight UTC. Nothing can be published then.',
    },
    {
      alert: 'MsgsvcRequestsNearDailyLimit',
      expr: promql`
        ${requests('hard', dayRequestsRatio.near)}
        or
        ${requests('soft', dayRequestsRatio.near)}`,
      for: '15m',
      severity: 'warning',
      area: 'spend',
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of daily requests used (limit ${percent(dayRequestsRatio.near)})`,
      description:
        'The limit of the day, soft or hard, is near. Beyond the hard limit the service may reject requests.',
    },
  ],
};

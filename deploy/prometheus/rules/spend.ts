/** Alerts about spend and daily requests. Budget and limits come from the configuration; without them no alert fires. */
import { counted } from '../owner.ts';
import { duration, latest, percent, promql, type AlertGroup, type RecordingGroup } from '../rule.ts';
import { THRESHOLDS } from '../thresholds.ts';

const { budgetUsedRatio, forecastRatio, exhaustionSeconds, anomalyFactor, anomalyDollars, dayRequestsRatio } =
  THRESHOLDS.spend;

const USED = 'account:msgsvc_account_budget_used:ratio';
const FORECAST = 'account:msgsvc_account_budget_forecast:ratio';
const BILLED = 'msgsvc_account_billing_dollars_total';

/** After a raise both origins exist for a while; the higher one applies. A missing limit is +Inf, so its ratio is 0. */
const BUDGET = latest('msgsvc_account_budget_dollars', 'account');
const DAY = counted('increase', BILLED, 'account', { window: '1d' });
const MEAN_DAY = `${counted('increase', BILLED, 'account', { window: '7d', offset: '1d' })} / 7`;

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
      description: 'The service may reject messages until the month ends. Raise the budget, or reduce traffic.',
    },
    {
      alert: 'MsgsvcBudgetNear',
      expr: `${USED} >= ${budgetUsedRatio.warning}`,
      for: '15m',
      severity: 'warning',
      area: 'spend',
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of the monthly budget used (limit ${percent(budgetUsedRatio.warning)})`,
      description:
        'At 100 % the service may reject messages until the month ends. Raise the budget, or reduce traffic.',
    },
    {
      alert: 'MsgsvcBudgetForecastBeyond',
      expr: `${FORECAST} > ${forecastRatio}`,
      for: '1h',
      severity: 'warning',
      area: 'spend',
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of the monthly budget forecast (limit ${percent(forecastRatio)})`,
      description:
        'At the pace of the last whole days the budget is used up before the month ends. Raise the budget, or reduce traffic.',
    },
    {
      alert: 'MsgsvcBudgetRunsOut',
      expr: left(exhaustionSeconds),
      for: '30m',
      severity: 'warning',
      area: 'spend',
      extended: true,
      summary: `{{ $labels.account }}: budget exhausted in {{ $value | humanizeDuration }} (limit ${duration(exhaustionSeconds)})`,
      description:
        'After that the service may reject messages. A negative time is in the past. Raise the budget, or reduce traffic.',
    },
    {
      alert: 'MsgsvcBillingAnomaly',
      // Needs eight days of history: with less, the mean day is too small, and every first week is an anomaly.
      expr: promql`
        ${DAY} > ${anomalyFactor} * ${MEAN_DAY}
        and ${DAY} - ${MEAN_DAY} >= ${anomalyDollars}
        and max by (account) (last_over_time(${BILLED}[1h] offset 8d))`,
      for: '30m',
      severity: 'warning',
      area: 'spend',
      extended: true,
      summary: `{{ $labels.account }}: {{ $value | printf "%.2f" }} USD in 24 h (limit ${anomalyFactor} times the weekly mean)`,
      description: 'A loop does not stop without a repair. Look for the destination with more attempts than usual.',
    },
    {
      alert: 'MsgsvcRequestsNearDailyLimit',
      expr: requests('hard', dayRequestsRatio.reached),
      for: '5m',
      severity: 'critical',
      area: 'spend',
      summary: `{{ $labels.account }}: {{ $value | humanizePercentage }} of daily requests used (limit ${percent(dayRequestsRatio.reached)})`,
      description:
        'The service may reject all requests until midnight UTC, so nothing can be published. Reduce traffic, or ask for a larger plan.',
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
        'The soft or the hard daily limit is near. Above the hard limit the service may reject requests. Find the destination with the most messages.',
    },
  ],
};

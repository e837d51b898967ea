/**
 * Projects account statistics to gauges. The daily arrays cover the whole month, so the day is selected by its date.
 */
import { ofDay } from './points.ts';
import type { Project } from './projection.ts';
import { flag, seconds } from './values.ts';

export const projectAccountStats: Project<'accountStats'> = ({ account, rows, at }, put) => {
  for (const stats of rows) {
    const requests = ofDay(stats.dailyRequests, at);
    put('msgsvc_account_dlq_messages', { account }, stats.dlqMessages);
    put('msgsvc_account_month_billing_dollars', { account }, stats.monthBillingUsd);
    put('msgsvc_account_day_billing_dollars', { account }, ofDay(stats.dailyBillings, at)?.value);
    put('msgsvc_account_day_bandwidth_bytes', { account }, ofDay(stats.dailyBandwidths, at)?.value);
    put('msgsvc_account_day_requests', { account }, requests?.value);
    put('msgsvc_account_day_workflow_messages', { account }, requests?.workflowMessages);
    put('msgsvc_account_day_workflow_runs', { account }, requests?.workflowRuns);
    put('msgsvc_account_month_billing_forecast_dollars', { account }, stats.spend?.forecastUsd);
    put('msgsvc_account_budget_exhaustion_timestamp_seconds', { account }, seconds(stats.spend?.exhaustedAt));
    for (const { source, points, day, isWrong } of stats.pointsCheck?.sources ?? []) {
      put('opsd_stats_points_day_ratio', { account, source }, ratio(points, day));
      put('opsd_stats_points_misread', { account, source }, flag(isWrong));
    }
    for (const { state, statistics, logs, isLasting } of stats.reconciled ?? []) {
      const labels = { account, source: 'statistics', state };
      put('opsd_reconciliation_ratio', labels, ratio(statistics, logs));
      put('opsd_reconciliation_gap', labels, flag(isLasting));
    }
    for (const { source, series, at: countedAt } of stats.aggregated ?? []) {
      put('opsd_stats_point_timestamp_seconds', { account, source, series }, countedAt / 1_000);
    }
  }
};

function ratio(counted: number, reference: number): number {
  return counted === reference ? 1 : counted / reference;
}

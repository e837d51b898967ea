/**
 * Aggregates billing into a counter that spans days and months. The counter grows by the increases of the month's total. The
 * daily array shows the month of the response and whether the total has been reset. Billing figures lag: for a while
 * after the turn of the month, the total may still be the previous month's.
 */
import type { AccountStats } from '#foundation/domain/statistics.ts';
import { monthOf } from '#foundation/domain/utc-month.ts';
import { aggregateMonth } from './month-total.ts';
import { readMonth, writeMonth } from './series-record.ts';
import type { Increment } from './totals.ts';

export interface BillingAggregate {
  readonly increments: readonly Increment[];
  readonly record: string;
}

/** @returns undefined if the response has no billing */
export function aggregateBilling(
  record: string | undefined,
  stats: AccountStats,
  servedAt: number,
): BillingAggregate | undefined {
  const { monthBillingUsd, dailyBillings } = stats;
  const ofDays = dailyBillings?.reduce((sum, { value }) => sum + Math.max(0, value), 0);
  const value = monthBillingUsd ?? ofDays;
  if (value === undefined || !Number.isFinite(value) || value < 0) return undefined;
  const state = readMonth(record);
  const first = dailyBillings?.[0];
  let month = first === undefined ? undefined : monthOf(first.at);
  if (state !== undefined && month !== undefined && month > state.month && ofDays !== undefined) {
    // The total has not fallen, and it exceeds the sum of the new month's days. It has not been reset yet.
    const hasTurned = value < state.value || value <= ofDays * 1.5;
    if (!hasTurned) month = state.month;
  }
  const aggregated = aggregateMonth(state, { value, at: servedAt, ...(month !== undefined && { month }) });
  const isFirst = state === undefined;
  const increments: Increment[] = [];
  if (isFirst || aggregated.increase > 0) {
    increments.push({ metric: 'msgsvc_account_billing_dollars_total', labels: [], by: aggregated.increase });
  }
  if (isFirst || aggregated.corrected) {
    increments.push({ metric: 'opsd_stats_corrections_total', labels: ['billing'], by: aggregated.corrected ? 1 : 0 });
  }
  return { increments, record: writeMonth(aggregated.state) };
}

/**
 * Billing as a counter across days and months. The total of the month is folded by its increases; the daily array says
 * which month the answer is about, and whether the total has already begun anew: billing figures lag, and for a while
 * after the turn the total may still be that of the month before.
 */
import type { AccountStats } from '#foundation/domain/statistics.ts';
import { monthOf } from '#foundation/domain/utc-month.ts';
import { foldMonth } from './month-total.ts';
import { readMonth, writeMonth } from './series-record.ts';
import type { Increment } from './totals.ts';

export interface BillingFolded {
  readonly increments: readonly Increment[];
  readonly record: string;
}

/** @returns undefined when the answer does not tell of billing */
export function foldBilling(
  record: string | undefined,
  stats: AccountStats,
  servedAt: number,
): BillingFolded | undefined {
  const { monthBillingUsd, dailyBillings } = stats;
  const ofDays = dailyBillings?.reduce((sum, { value }) => sum + Math.max(0, value), 0);
  const value = monthBillingUsd ?? ofDays;
  if (value === undefined || !Number.isFinite(value) || value < 0) return undefined;
  const state = readMonth(record);
  const first = dailyBillings?.[0];
  let month = first === undefined ? undefined : monthOf(first.at);
  if (state !== undefined && month !== undefined && month > state.month && ofDays !== undefined) {
    // As high as it was, and more than the days of the new month together: it has not begun anew yet.
    const hasTurned = value < state.value || value <= ofDays * 1.5;
    if (!hasTurned) month = state.month;
  }
  const folded = foldMonth(state, { value, at: servedAt, ...(month !== undefined && { month }) });
  const isFirst = state === undefined;
  const increments: Increment[] = [];
  if (isFirst || folded.increase > 0) {
    increments.push({ metric: 'msgsvc_account_billing_dollars_total', labels: [], by: folded.increase });
  }
  if (isFirst || folded.corrected) {
    increments.push({ metric: 'opsd_stats_corrections_total', labels: ['billing'], by: folded.corrected ? 1 : 0 });
  }
  return { increments, record: writeMonth(folded.state) };
}

/** The statistics of one account as the management API returns them, read from its counts. */
import {
  BYTES,
  CANCELED,
  CREATED,
  DELIVERED,
  FAILED,
  RETRY,
  RUNS,
  WORKFLOW,
  type AccountCounts,
} from './account-counts.ts';
import { microUsdToUsd } from './plan-billing.ts';
import type { MinuteRing } from './minute-ring.ts';
import { DAY_MS, daysOfMonth, formatDay, formatPointTime, MINUTE_MS } from './point-time.ts';
import type { FractionDigits } from '../state/switches.ts';
import { pointGrid, type StatsPeriodName } from './statistics-period.ts';

export interface WirePoint {
  readonly x: string;
  readonly y: number;
}

interface WireRequestsPoint extends WirePoint {
  readonly workflow_message: number;
  readonly workflow_run: number;
}

interface WireSeries {
  readonly id: string;
  readonly data_points: readonly WirePoint[];
}

/** Response of interface 2.11. Bandwidth is in bytes, billing in dollars. */
export interface AccountStatsJson {
  readonly days: readonly string[];
  readonly daily_billings: readonly WirePoint[];
  readonly daily_bandwidths: readonly WirePoint[];
  readonly daily_used: readonly WirePoint[];
  readonly daily_used_workflow: readonly WirePoint[];
  readonly daily_bandwidth_used: readonly WirePoint[];
  readonly daily_requests: readonly WireRequestsPoint[];
  readonly daily_msgsvc_messages: readonly WireSeries[];
  readonly daily_workflow_messages: readonly WireSeries[];
  readonly dlq_message_count: number;
  readonly total_monthly_billing: number;
}

/** Series by name. Each is a sum of columns. */
const SERIES: readonly { readonly id: string; readonly columns: readonly number[] }[] = [
  { id: 'created', columns: [CREATED] },
  { id: 'delivered', columns: [DELIVERED] },
  { id: 'error', columns: [RETRY, FAILED] },
  { id: 'retry', columns: [RETRY] },
  { id: 'failed', columns: [FAILED] },
  { id: 'canceled', columns: [CANCELED] },
];

/** Columns of billed attempts. */
const ATTEMPTS = [DELIVERED, RETRY, FAILED] as const;

interface AccountStatsReading {
  readonly period: StatsPeriodName;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly digits: FractionDigits;
  /** Billing of a day since the epoch. */
  readonly billingMicroUsd: (day: number) => number;
  readonly monthBillingMicroUsd: number;
  readonly dlqMessageCount: number;
}

/** Returns the answer of the API; all zero without counts. */
export function accountStatsJson(counts: AccountCounts | undefined, reading: AccountStatsReading): AccountStatsJson {
  const { period, now, digits, billingMicroUsd, dlqMessageCount } = reading;
  const { stepMinutes, starts } = pointGrid(period, now);
  const times = starts.map((start) => formatPointTime(start * MINUTE_MS, digits));
  const points = (value: (minutes: MinuteRing, from: number, to: number) => number): WirePoint[] =>
    starts.map((start, index) => ({
      x: times[index]!,
      y: counts === undefined ? 0 : value(counts.minutes, start, start + stepMinutes),
    }));
  const columns = (list: readonly number[]): WirePoint[] =>
    points((minutes, from, to) => list.reduce((sum, column) => sum + minutes.sum(column, from, to), 0));
  const series = (kind: number): WireSeries[] =>
    SERIES.map(({ id, columns: list }) => ({ id, data_points: columns(list.map((column) => kind + column)) }));

  const days = daysOfMonth(now);
  const daily = <T extends object>(
    value: (totals: Float64Array | undefined, day: number) => T,
  ): (T & { x: string })[] =>
    days.map((day) => ({ x: formatPointTime(day * DAY_MS, digits), ...value(counts?.day(day), day) }));
  return {
    days: days.map(formatDay),
    daily_billings: daily((_totals, day) => ({ y: microUsdToUsd(billingMicroUsd(day)) })),
    daily_bandwidths: daily((totals) => ({ y: totals?.[BYTES] ?? 0 })),
    daily_used: columns(ATTEMPTS),
    daily_used_workflow: columns(ATTEMPTS.map((column) => WORKFLOW + column)),
    daily_bandwidth_used: points((minutes, from, to) => minutes.sumBytes(from, to)),
    daily_requests: daily((totals) => ({
      y: attemptsOf(totals, 0) + attemptsOf(totals, WORKFLOW),
      workflow_message: attemptsOf(totals, WORKFLOW),
      workflow_run: totals?.[RUNS] ?? 0,
    })),
    daily_msgsvc_messages: series(0),
    daily_workflow_messages: series(WORKFLOW),
    dlq_message_count: dlqMessageCount,
    total_monthly_billing: microUsdToUsd(reading.monthBillingMicroUsd),
  };
}

function attemptsOf(totals: Float64Array | undefined, kind: number): number {
  return ATTEMPTS.reduce((sum, column) => sum + (totals?.[kind + column] ?? 0), 0);
}

/**
 * Usage, traffic and billing of the accounts, computed only from facts. Requests without a fact are not counted. Two
 * invariants hold in every response: `error` = `retry` + `failed`, and used messages (billed attempts) = `delivered` +
 * `error`.
 *
 * The interface does not define how the series relate. Here `daily_used` and `daily_msgsvc_messages` count published
 * messages. `daily_used_workflow` and `daily_workflow_messages` count those of workflow runs. `daily_requests` and the
 * amounts count both.
 */
import { billingMicroUsd, DEFAULT_PRICES, microUsdToUsd, type PriceTable } from './billing.ts';
import type { Fact } from './facts.ts';
import { MinuteRing } from './minute-ring.ts';
import type { PlanBilling } from './plan-billing.ts';
import { DAY_MS, dayOf, daysOfMonth, formatDay, formatPointTime, MINUTE_MS } from './point-time.ts';
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

export interface Statistics {
  /** Counts a fact; `times` counts that many equal facts. A fact older than 31 days appears in no point. */
  record(accountId: string, fact: Fact, times?: number): void;
  /** Returns the statistics as of `now` (epoch milliseconds); all zero for an unknown account. */
  accountStats(accountId: string, period: StatsPeriodName, now: number, dlqMessageCount: number): AccountStatsJson;
  /** Returns the billing of the UTC month of `now` so far, in micro-dollars. */
  monthBillingMicroUsd(accountId: string, now: number): number;
  /** Returns the part of that billing for individual messages. */
  monthSpendMicroUsd(accountId: string, now: number): number;
}

export interface StatisticsOptions {
  readonly prices?: PriceTable;
  /** Default: every account pays per message, and nothing else. */
  readonly plans?: PlanBilling;
  readonly fractionDigits?: () => FractionDigits;
}

/** Columns of the counts: five outcomes of published messages, the same five of workflows, and runs. */
const CREATED = 0;
const DELIVERED = 1;
const RETRY = 2;
const FAILED = 3;
const CANCELED = 4;
const WORKFLOW = 5;
const RUNS = 10;
const COLUMNS = 11;
/**
 * Columns that only daily totals have: bytes, which minutes keep separately, and attempts that are billed individually.
 */
const BYTES = 11;
const PAID = 12;
const PAID_WORKFLOW = 13;

const ATTEMPT_COLUMNS = { delivered: DELIVERED, retry: RETRY, failed: FAILED } as const;

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

/** Number of days with totals: this month, the previous one, and a margin. */
const DAYS_KEPT = 70;

interface AccountCounts {
  readonly minutes: MinuteRing;
  /** Totals by day since the epoch, kept apart from the minutes: the ring holds less than a month of 31 days. */
  readonly days: Map<number, Float64Array>;
}

export function createStatistics(options: StatisticsOptions = {}): Statistics {
  const prices = options.prices ?? DEFAULT_PRICES;
  const { plans } = options;
  const fractionDigits = options.fractionDigits ?? (() => 9 as const);
  const accounts = new Map<string, AccountCounts>();

  function countsOf(accountId: string): AccountCounts {
    let counts = accounts.get(accountId);
    if (counts === undefined) {
      counts = { minutes: new MinuteRing(COLUMNS), days: new Map() };
      accounts.set(accountId, counts);
    }
    return counts;
  }

  function record(accountId: string, fact: Fact, times = 1): void {
    const counts = countsOf(accountId);
    const minute = Math.floor(fact.at / MINUTE_MS);
    const totals = totalsOf(counts, dayOf(fact.at));
    const kind = fact.workflow ? WORKFLOW : 0;
    const count = (column: number): void => {
      counts.minutes.add(minute, column, times);
      totals[column]! += times;
    };
    if (fact.kind === 'created') count(kind + CREATED);
    else if (fact.kind === 'canceled') count(kind + CANCELED);
    else count(kind + ATTEMPT_COLUMNS[fact.outcome]);
    if (fact.kind === 'attempt' && (fact.paid ?? plans?.paysByMessage(accountId)) !== false) {
      totals[fact.workflow ? PAID_WORKFLOW : PAID]! += times;
    }
    if (fact.kind === 'created' && fact.run) count(RUNS);
    if (fact.kind !== 'canceled' && fact.bytes > 0) {
      counts.minutes.addBytes(minute, fact.bytes * times);
      totals[BYTES]! += fact.bytes * times;
    }
  }

  function messagesMicroUsd(accountId: string, day: number): number {
    const totals = accounts.get(accountId)?.days.get(day);
    if (totals === undefined) return 0;
    return billingMicroUsd({ messages: totals[PAID]!, workflowMessages: totals[PAID_WORKFLOW]! }, prices);
  }

  function billingOf(accountId: string, day: number, now: number): number {
    if (day > dayOf(now)) return 0;
    return messagesMicroUsd(accountId, day) + (plans?.reservedMicroUsd(accountId, day) ?? 0);
  }

  function monthBillingMicroUsd(accountId: string, now: number): number {
    return daysOfMonth(now).reduce((sum, day) => sum + billingOf(accountId, day, now), 0);
  }

  function monthSpendMicroUsd(accountId: string, now: number): number {
    return daysOfMonth(now).reduce((sum, day) => sum + messagesMicroUsd(accountId, day), 0);
  }

  function accountStats(
    accountId: string,
    period: StatsPeriodName,
    now: number,
    dlqMessageCount: number,
  ): AccountStatsJson {
    const digits = fractionDigits();
    const counts = accounts.get(accountId);
    const { stepMinutes, starts } = pointGrid(period, now);
    const times = starts.map((start) => formatPointTime(start * MINUTE_MS, digits));
    const points = (value: (minutes: MinuteRing, from: number, to: number) => number): WirePoint[] =>
      starts.map((start, index) => ({
        x: times[index]!,
        y: counts === undefined ? 0 : value(counts.minutes, start, start + stepMinutes),
      }));
    const columns = (...list: readonly number[]): WirePoint[] =>
      points((minutes, from, to) => list.reduce((sum, column) => sum + minutes.sum(column, from, to), 0));
    const series = (kind: number): WireSeries[] =>
      SERIES.map(({ id, columns: list }) => ({ id, data_points: columns(...list.map((column) => kind + column)) }));

    const days = daysOfMonth(now);
    const daily = <T extends object>(value: (totals: Float64Array | undefined) => T): (T & { x: string })[] =>
      days.map((day) => ({ x: formatPointTime(day * DAY_MS, digits), ...value(counts?.days.get(day)) }));
    return {
      days: days.map(formatDay),
      daily_billings: days.map((day) => ({
        x: formatPointTime(day * DAY_MS, digits),
        y: microUsdToUsd(billingOf(accountId, day, now)),
      })),
      daily_bandwidths: daily((totals) => ({ y: totals?.[BYTES] ?? 0 })),
      daily_used: columns(...ATTEMPTS),
      daily_used_workflow: columns(...ATTEMPTS.map((column) => WORKFLOW + column)),
      daily_bandwidth_used: points((minutes, from, to) => minutes.sumBytes(from, to)),
      daily_requests: daily((totals) => ({
        y: attemptsOf(totals, 0) + attemptsOf(totals, WORKFLOW),
        workflow_message: attemptsOf(totals, WORKFLOW),
        workflow_run: totals?.[RUNS] ?? 0,
      })),
      daily_msgsvc_messages: series(0),
      daily_workflow_messages: series(WORKFLOW),
      dlq_message_count: dlqMessageCount,
      total_monthly_billing: microUsdToUsd(monthBillingMicroUsd(accountId, now)),
    };
  }

  return { record, accountStats, monthBillingMicroUsd, monthSpendMicroUsd };
}

function totalsOf(counts: AccountCounts, day: number): Float64Array {
  const known = counts.days.get(day);
  if (known !== undefined) return known;
  const totals = new Float64Array(COLUMNS + 3);
  counts.days.set(day, totals);
  if (counts.days.size > DAYS_KEPT) counts.days.delete(Math.min(...counts.days.keys()));
  return totals;
}

function attemptsOf(totals: Float64Array | undefined, kind: number): number {
  return ATTEMPTS.reduce((sum, column) => sum + (totals?.[kind + column] ?? 0), 0);
}

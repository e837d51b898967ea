/**
 * Projects the spend of the month: the amount billed so far, plus the pace of the last complete days for the rest of
 * the month. Days of the previous month count, so that the first days have a pace. The highest and the lowest day are
 * excluded, so that a single fee or holiday does not change the pace.
 */
import type { AccountStats, DataPoint, Spend } from '#foundation/domain/statistics.ts';
import { monthOf, startOfMonth } from '#foundation/domain/utc-month.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Billing lag: a day is complete one hour after its end. */
const LAG_MS = HOUR_MS;
const PACE_DAYS = 7;
/** Number of whole days kept. They define a usual day. */
const DAYS = 14;
const LEAST_DAYS = 3;
/** Minimum number of days for excluding the highest and the lowest. */
const DAYS_TO_TRIM = 5;
/** Minimum part of today that must have passed before today counts. Applies if no whole day is known. */
const LEAST_OF_TODAY_MS = 6 * HOUR_MS;
/** Time after a turn during which the total may still be the previous month's. */
const TURNS_WITHIN_MS = 36 * HOUR_MS;

/** Billing of whole days, by day since the epoch. */
export type BilledDays = ReadonlyMap<number, number>;

/** Returns the last whole days. Days in the response replace known ones. */
export function billedDays(known: BilledDays, stats: AccountStats, at: number): BilledDays {
  const end = Math.floor((at - LAG_MS) / DAY_MS);
  const days = new Map(known);
  for (const { at: begins, value } of stats.dailyBillings ?? []) {
    if (Number.isFinite(value) && value >= 0) days.set(Math.floor(begins / DAY_MS), value);
  }
  return new Map([...days].filter(([day]) => day < end && day >= end - DAYS).sort(([a], [b]) => a - b));
}

/** @param budgetUsd monthly limit of the spend; Infinity or undefined if there is no limit, or none is known */
export function spendOf(
  stats: AccountStats,
  days: BilledDays,
  options: { readonly at: number; readonly budgetUsd?: number | undefined },
): Spend {
  const { at, budgetUsd = Infinity } = options;
  const begins = startOfMonth(monthOf(at));
  const ends = startOfMonth(monthOf(at) + 1);
  const daily = (stats.dailyBillings ?? []).filter((point) => point.at >= begins && point.at <= at && point.value >= 0);
  const ofDays = daily.reduce((sum, { value }) => sum + value, 0);
  const spent = stats.monthBillingUsd ?? (daily.length > 0 ? ofDays : undefined);
  if (spent === undefined || !(spent >= 0)) return {};
  // Soon after the turn, the total exceeds the sum of this month's days. It has not been reset yet.
  if (at < begins + TURNS_WITHIN_MS && spent > ofDays * 1.5) return {};
  const pace = paceOf(days, daily, at);
  const last24hUsd = lastDay(stats.dailyBillings, days, at);
  const dayBeforeUsd = lastDay(stats.dailyBillings, days, at, 1);
  const medianDayUsd = medianOf(days);
  const requestsLastDay = lastDay(stats.dailyRequests, new Map(), at);
  const exhaustedAt =
    spent >= budgetUsd
      ? momentOf(budgetUsd, daily, at)
      : pace !== undefined && pace > 0
        ? at + ((budgetUsd - spent) / pace) * DAY_MS
        : Infinity;
  return {
    monthUsd: spent,
    ...(last24hUsd !== undefined && { last24hUsd }),
    ...(dayBeforeUsd !== undefined && { dayBeforeUsd }),
    ...(medianDayUsd !== undefined && { medianDayUsd }),
    ...(requestsLastDay !== undefined && { requestsLastDay }),
    ...(pace !== undefined && { paceUsd: pace, forecastUsd: spent + (pace * (ends - at)) / DAY_MS }),
    ...(exhaustedAt < ends && { exhaustedAt }),
  };
}

/**
 * Returns today's value plus the part of yesterday's that lies within 24 hours. Undefined if one of the two days is
 * missing.
 *
 * @param back number of days by which the 24 hours ended earlier
 */
function lastDay(
  daily: readonly DataPoint[] | undefined,
  before: BilledDays,
  at: number,
  back = 0,
): number | undefined {
  const passed = (at % DAY_MS) / DAY_MS;
  const day = Math.floor(at / DAY_MS) - back;
  const of = (wanted: number): number | undefined =>
    daily?.find((point) => Math.floor(point.at / DAY_MS) === wanted && point.value >= 0)?.value;
  // On the first day of a month, the response no longer has the previous day.
  const [today, yesterday] = [of(day), of(day - 1) ?? before.get(day - 1)];
  if (today === undefined || yesterday === undefined) return undefined;
  // The value of today is that of the passed part already.
  return today * (back === 0 ? 1 : passed) + yesterday * (1 - passed);
}

function medianOf(days: BilledDays): number | undefined {
  const values = [...days.values()].sort((a, b) => a - b);
  if (values.length < LEAST_DAYS) return undefined;
  const middle = Math.floor(values.length / 2);
  return values.length % 2 === 1 ? values[middle]! : (values[middle - 1]! + values[middle]!) / 2;
}

/** Returns dollars per day; undefined if too little is known. */
function paceOf(days: BilledDays, daily: readonly DataPoint[], at: number): number | undefined {
  const first = Math.floor((at - LAG_MS) / DAY_MS) - PACE_DAYS;
  const recent = [...days].filter(([day]) => day >= first);
  const known = recent.map(([, value]) => value).sort((a, b) => a - b);
  if (known.length > 0) {
    const typical = known.length >= DAYS_TO_TRIM ? known.slice(1, -1) : known;
    return typical.reduce((sum, value) => sum + value, 0) / typical.length;
  }
  const midnight = Math.floor(at / DAY_MS) * DAY_MS;
  const today = daily.find((point) => Math.floor(point.at / DAY_MS) * DAY_MS === midnight);
  if (today === undefined || at - midnight < LEAST_OF_TODAY_MS) return undefined;
  return (today.value * DAY_MS) / (at - midnight);
}

/** Returns when the sum of the month's days passed an amount. Each day's billing is treated as evenly distributed. */
function momentOf(amount: number, daily: readonly DataPoint[], at: number): number {
  let sum = 0;
  for (const { at: begins, value } of daily.toSorted((a, b) => a.at - b.at)) {
    const ends = Math.min(begins + DAY_MS, at);
    if (sum + value >= amount && value > 0) return begins + ((amount - sum) / value) * (ends - begins);
    sum += value;
  }
  return at;
}

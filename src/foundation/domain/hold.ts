/**
 * Objection of a guard to a run, a group or a request. The guard itself says what it measured, what it needs, and what
 * helps. Every view shows the text of `holdText`.
 */

export const TRENDS = ['improving', 'steady', 'worsening'] as const;

type Trend = (typeof TRENDS)[number];

export interface Hold {
  /** Measured value, as a clause: `billing.example delivered 0 of 279 attempts in the last 15 minutes`. */
  readonly measured: string;
  /** Needed value, as a clause: `repairs begin at 90 %`. */
  readonly needed: string;
  /** Operator's next step, as a clause: `repair the destination`. */
  readonly remedy: string;
  /** Milliseconds that were measured; absent for a state. */
  readonly windowMs?: number;
  /** Direction of the measured value, from values that the daemon keeps; absent without them. */
  readonly trend?: Trend;
  /** Epoch milliseconds since when the reason exists; absent if the guard does not know. */
  readonly since?: number;
  /** Earliest end in epoch milliseconds; absent if unknown. */
  readonly until?: number;
}

/** Returns the text of a hold, without its guard. */
export function holdText({ measured, needed, remedy, trend, until }: Hold): string {
  const found = trend === undefined ? measured : `${measured}, ${trend}`;
  const end = until === undefined || !Number.isFinite(until) ? [] : [`earliest end ${isoTime(until)}`];
  return [found, needed, ...end, remedy].join('; ');
}

/** Good cases among all. */
interface Sample {
  readonly good: number;
  readonly all: number;
}

/** Minimum number of cases, and minimum difference of the shares, of the trend of a share. */
const LEAST_SAMPLE = 5;
const LEAST_SHARE = 0.05;
/** Minimum difference of two amounts as a part of their sum. */
const LEAST_PART = 0.2;

/** Compares the share of good cases with an earlier one. Undefined if one of the samples is too small. */
export function trendOfShares(older: Sample, newer: Sample): Trend | undefined {
  if (!(newer.all >= LEAST_SAMPLE && older.all >= LEAST_SAMPLE)) return undefined;
  return trendOf(older.good / older.all - newer.good / newer.all, LEAST_SHARE);
}

/** Compares an amount with that of an earlier period of the same length. Less is better. */
export function trendOfAmounts(older: number, newer: number): Trend | undefined {
  return older + newer > 0 ? trendOf((newer - older) / (older + newer), LEAST_PART) : undefined;
}

/** @param worse change for the worse */
function trendOf(worse: number, least: number): Trend {
  if (Math.abs(worse) < least) return 'steady';
  return worse < 0 ? 'improving' : 'worsening';
}

/** Returns a time without empty milliseconds. */
export function isoTime(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z');
}

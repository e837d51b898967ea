/** Times in the format of statistics: UTC in any time zone of the machine. */
import type { FractionDigits } from '../state/switches.ts';

export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** Formats epoch milliseconds as `YYYY-MM-DD hh:mm:ss.fffffffff +0000 UTC`. Zero digits omit the decimal point. */
export function formatPointTime(ms: number, digits: FractionDigits = 9): string {
  const iso = new Date(ms).toISOString();
  const fraction = `${iso.slice(20, 23)}000000`.slice(0, digits);
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}${digits === 0 ? '' : `.${fraction}`} +0000 UTC`;
}

/** Formats a day, counted from the epoch, as `YYYY-MM-DD`. */
export function formatDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the weekday of a day, counted from the epoch, such as `Monday`. */
export function nameOfDay(day: number): string {
  // The epoch was a Thursday.
  return DAY_NAMES[(((day + 4) % 7) + 7) % 7]!;
}

const DAY_NAMES = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** Returns the UTC day of a time, counted from the epoch. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** Returns every day of the time's UTC month, future ones included, counted from the epoch. */
export function daysOfMonth(ms: number): readonly number[] {
  const date = new Date(ms);
  const first = dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1));
  const end = dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1));
  return Array.from({ length: end - first }, (_, index) => first + index);
}

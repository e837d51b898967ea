/** Times as statistics write them: UTC whatever the machine's time zone is. */
import type { FractionDigits } from '../state/switches.ts';

export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** Epoch milliseconds as `YYYY-MM-DD hh:mm:ss.fffffffff +0000 UTC`; no point when there are no digits. */
export function formatPointTime(ms: number, digits: FractionDigits = 9): string {
  const iso = new Date(ms).toISOString();
  const fraction = `${iso.slice(20, 23)}000000`.slice(0, digits);
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}${digits === 0 ? '' : `.${fraction}`} +0000 UTC`;
}

/** `YYYY-MM-DD` of a day counted from the epoch. */
export function formatDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** `Monday` … of a day counted from the epoch. */
export function nameOfDay(day: number): string {
  // The epoch was a Thursday.
  return DAY_NAMES[(((day + 4) % 7) + 7) % 7]!;
}

const DAY_NAMES = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** The UTC day of a moment, counted from the epoch. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** Every day of the moment's UTC month, future ones included, counted from the epoch. */
export function daysOfMonth(ms: number): readonly number[] {
  const date = new Date(ms);
  const first = dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1));
  const end = dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1));
  return Array.from({ length: end - first }, (_, index) => first + index);
}

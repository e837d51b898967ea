/** Months as numbers in UTC, the service's billing periods. */

/** Returns the UTC month of a time in epoch milliseconds, counted from the year 0. */
export function monthOf(at: number): number {
  const date = new Date(at);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** Returns the epoch milliseconds of the start of a month. */
export function startOfMonth(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, 1);
}

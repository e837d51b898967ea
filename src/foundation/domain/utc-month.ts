/** Months as numbers, in UTC: the service bills by them. */

/** The UTC month of a moment in epoch milliseconds, counted from the year 0. */
export function monthOf(at: number): number {
  const date = new Date(at);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** Epoch milliseconds at which a month begins. */
export function startOfMonth(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, 1);
}

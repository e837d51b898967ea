/** Longest wait that a peer can request, in milliseconds. */
export const LONGEST_RETRY_AFTER_MS = 600_000;

/**
 * Returns the wait that `Retry-After` requests, in milliseconds, at most ten minutes. Undefined for anything but whole
 * seconds above zero or a later HTTP date. A caller waits for the longer of this and its own back-off.
 *
 * @param now epoch milliseconds of the response, on the peer's clock if it sent a `Date`
 */
export function retryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : httpDate(text) - now;
  return ms > 0 ? Math.min(ms, LONGEST_RETRY_AFTER_MS) : undefined;
}

/** Returns epoch milliseconds; NaN for other text. `Date.parse` alone accepts `-1` and `0.5` as dates. */
export function httpDate(text: string): number {
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return NaN;
  // One of the three formats of HTTP has no zone.
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}

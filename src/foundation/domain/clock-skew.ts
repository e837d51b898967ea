/** Maximum offset of the local clock from the service's clock, and its effect on limits in time. */

const MINUTE_MS = 60_000;

/** Largest offset of the local clock at which the daemon acts, in milliseconds. */
export const MAX_CLOCK_SKEW_MS = MINUTE_MS;

/**
 * Milliseconds added to a window if the clock was set within it. The dates of two actions may then have errors of
 * MAX_CLOCK_SKEW_MS in opposite directions. Each error is measured with a request of up to 30 seconds.
 */
export const CLOCK_MARGIN_MS = 3 * MINUTE_MS;

/** Returns why a clock with this offset is unusable; undefined if it is usable. */
export function clockFault(skewMs: number): string | undefined {
  if (Math.abs(skewMs) <= MAX_CLOCK_SKEW_MS) return undefined;
  const seconds = Math.ceil(Math.abs(skewMs) / 1_000);
  return `the local clock is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the service's`;
}

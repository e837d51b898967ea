/** How far the local clock may be from the service's, and what follows from it for limits in time. */

const MINUTE_MS = 60_000;

/** Largest difference between the local clock and the service's at which the daemon acts, in milliseconds. */
const MAX_CLOCK_SKEW_MS = MINUTE_MS;

/**
 * Milliseconds that a window is counted longer when the time was set within it. Two acts may then be dated with errors
 * of MAX_CLOCK_SKEW_MS in opposite directions, each measured with a request that took up to 30 seconds.
 */
export const CLOCK_MARGIN_MS = 3 * MINUTE_MS;

/** Returns why a clock that differs so much from the service's cannot be used; undefined when it can. */
export function clockFault(skewMs: number): string | undefined {
  if (Math.abs(skewMs) <= MAX_CLOCK_SKEW_MS) return undefined;
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  return `the local clock is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the service's`;
}

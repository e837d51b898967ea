/**
 * Reads the limits of a response: `Retry-After`, and remaining and reset of two windows. The windows are
 * `Burst-RateLimit-*` (per second) and `RateLimit-*` (per day). Unreadable values count as absent.
 */
import { retryAfter } from '#foundation/platform/retry-after.ts';

/** Response headers by lower-case name. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface RateLimits {
  /** Wait that the service requests, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Remaining requests, by window. */
  readonly remaining: readonly { readonly window: 'burst' | 'day'; readonly remaining: number }[];
}

const WINDOWS = [
  { window: 'burst', prefix: 'burst-ratelimit' },
  { window: 'day', prefix: 'ratelimit' },
] as const;

/**
 * Thresholds of the reset value: seconds from now below the first, Unix seconds between them, Unix milliseconds from
 * the second on.
 */
const UNIX_SECONDS_FROM = 1e8;
const UNIX_MILLISECONDS_FROM = 1e11;

/** @param now epoch milliseconds of the response, on the service's clock if it sent a `Date`, else on ours */
export function readRateLimits(headers: AnswerHeaders, now: number): RateLimits {
  const windows = WINDOWS.map(({ window, prefix }) => ({
    window,
    remaining: numberOf(headers[`${prefix}-remaining`]),
    resetMs: resetIn(numberOf(headers[`${prefix}-reset`]), now),
  }));
  const retryAfterMs = retryAfter(first(headers['retry-after']), now) ?? longestReset(windows);
  return {
    remaining: windows.flatMap(({ window, remaining }) => (remaining === undefined ? [] : { window, remaining })),
    retryAfterMs,
  };
}

interface LimitWindow {
  readonly remaining: number | undefined;
  readonly resetMs: number | undefined;
}

/**
 * Returns the wait until the reset. A window with remaining requests did not cause the rejection, so its reset is
 * ignored. Among exhausted windows the longest reset counts; if no window reports its remaining requests, the soonest.
 */
function longestReset(windows: readonly LimitWindow[]): number | undefined {
  const resets = (remaining: number | undefined): number[] =>
    windows.flatMap((window) => (window.remaining === remaining && window.resetMs !== undefined ? window.resetMs : []));
  const exhausted = resets(0);
  if (exhausted.length > 0) return Math.max(...exhausted);
  const unclear = resets(undefined);
  return unclear.length > 0 ? Math.min(...unclear) : undefined;
}

function resetIn(value: number | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (value < UNIX_SECONDS_FROM) return Math.ceil(value * 1_000);
  const at = value < UNIX_MILLISECONDS_FROM ? value * 1_000 : value;
  return Math.max(0, Math.ceil(at - now));
}

function numberOf(value: AnswerHeaders[string]): number | undefined {
  const text = first(value);
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

export function first(value: AnswerHeaders[string]): string | undefined {
  const text = typeof value === 'string' ? value : value?.[0];
  return text?.trim();
}

/** When a failed delivery is tried again. */

const DAY_MS = 86_400_000;
/** Nothing that an expression yields waits longer than this. */
const LONGEST_MS = 30 * DAY_MS;

export interface RetryQuestion {
  /** Retries made so far: 0 when the first retry is asked for. */
  readonly retried: number;
  /** Yields milliseconds. */
  readonly expression?: ((retried: number) => number) | undefined;
  /** `Retry-After` of the destination's answer, as it came. */
  readonly retryAfter?: string | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Milliseconds until the next attempt, at least 1, so that no two attempts of a message share a moment. The
 * destination's `Retry-After` comes first (up to a day), then the message's expression, then the default.
 */
export function retryDelay(question: RetryQuestion): number {
  const asked = question.retryAfter === undefined ? undefined : parseRetryAfter(question.retryAfter, question.now);
  if (asked !== undefined) return clamp(asked, DAY_MS);
  const own = question.expression?.(question.retried);
  if (own !== undefined && !Number.isNaN(own)) return clamp(own, LONGEST_MS);
  return defaultBackoff(question.retried + 1);
}

/**
 * `min(86400, e^(2.5 n))` seconds, in milliseconds: 12 s, 2 m 28 s, 30 m, 6 h, 24 h.
 *
 * @param n 1 for the first retry
 */
export function defaultBackoff(n: number): number {
  return Math.round(Math.min(86_400, Math.exp(2.5 * n)) * 1_000);
}

/** Seconds or an HTTP date; milliseconds from `now`, undefined when it is neither. */
function parseRetryAfter(value: string, now: number): number | undefined {
  const text = value.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  // Date.parse would take "1.5" and "-1" for dates: an HTTP date begins with the name of a day.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  // All three forms of an HTTP date are in UTC, and one of them does not say so.
  const at = Date.parse(/ GMT$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function clamp(ms: number, most: number): number {
  return Math.round(Math.min(most, Math.max(1, ms)));
}

/** Delay of the next attempt after a failed delivery. */

const DAY_MS = 86_400_000;
/** Maximum delay that an expression can produce. */
const LONGEST_MS = 30 * DAY_MS;

export interface RetryQuestion {
  /** Number of earlier retries: 0 for the first retry. */
  readonly retried: number;
  /** Returns milliseconds. */
  readonly expression?: ((retried: number) => number) | undefined;
  /** `Retry-After` of the destination's response, as received. */
  readonly retryAfter?: string | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Returns milliseconds until the next attempt, at least 1, so that attempts of a message differ in time. The
 * destination's `Retry-After` takes precedence (up to a day), then the message's expression, then the default.
 */
export function retryDelay(question: RetryQuestion): number {
  const asked = question.retryAfter === undefined ? undefined : parseRetryAfter(question.retryAfter, question.now);
  if (asked !== undefined) return clamp(asked, DAY_MS);
  const own = question.expression?.(question.retried);
  if (own !== undefined && !Number.isNaN(own)) return clamp(own, LONGEST_MS);
  return defaultBackoff(question.retried + 1);
}

/**
 * Returns `min(86400, e^(2.5 n))` seconds, in milliseconds: 12 s, 2 m 28 s, 30 m, 6 h, 24 h.
 *
 * @param n 1 for the first retry
 */
export function defaultBackoff(n: number): number {
  return Math.round(Math.min(86_400, Math.exp(2.5 * n)) * 1_000);
}

/** Parses seconds or an HTTP date. Returns milliseconds from `now`, or undefined for other values. */
function parseRetryAfter(value: string, now: number): number | undefined {
  const text = value.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  // Date.parse would accept "1.5" and "-1" as dates: an HTTP date begins with the name of a day.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  // All three forms of an HTTP date are in UTC. One of them does not name the zone.
  const at = Date.parse(/ GMT$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function clamp(ms: number, most: number): number {
  return Math.round(Math.min(most, Math.max(1, ms)));
}

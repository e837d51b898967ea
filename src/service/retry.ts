/**
 * Retries requests; no other code does. Only reads pass here. The HTTP layer never repeats a write, because a lost
 * response does not show if the write took effect.
 */
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { ServiceError } from './service-error.ts';

const MAX_REPEATS = 2;
const BASE_MS = 200;
const CAP_MS = 5_000;
/** Maximum wait. For a longer one, the caller gets the error with the wait that the service requested. */
const PATIENCE_MS = 30_000;

const PASSING: ReadonlySet<ServiceErrorCode> = new Set(['dns', 'connection', 'timeout', 'rate_limited']);
const REPEATED_STATUSES: ReadonlySet<number | undefined> = new Set([500, 502, 503, 504]);

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Returns true if another request may be sent. */
  readonly mayRepeat: () => boolean;
  readonly onRepeat: (delayMs: number) => void;
}

/**
 * Runs `attempt`. If its failure may be temporary, runs it up to two more times after a wait. Rejects with the last
 * failure.
 */
export async function withRetries<T>(options: RetryOptions, attempt: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (repeats === MAX_REPEATS || !isPassing(error) || !options.mayRepeat()) throw error;
      const delayMs = waitBeforeRepeat(error, repeats, options.random);
      if (delayMs === undefined) throw error;
      options.onRepeat(delayMs);
      await sleep(options.clock, delayMs, options.signal);
    }
  }
}

/**
 * Returns a wait with full jitter, but at least the one that the service requested. Undefined if that exceeds the
 * maximum.
 */
export function waitBeforeRepeat(error: ServiceError, repeats: number, random: Random): number | undefined {
  const asked = error.retryAfterMs ?? 0;
  if (asked > PATIENCE_MS) return undefined;
  return Math.max(asked, random() * Math.min(CAP_MS, BASE_MS * 2 ** repeats));
}

function isPassing(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  if (error.code === 'server_error') return REPEATED_STATUSES.has(error.status);
  return PASSING.has(error.code);
}

/**
 * Waits that the service requests with 429 or 503, by account and API, for the whole process: until one is over, no
 * request starts, whoever sends it. The wait outlives the connection, which a reload replaces.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { LONGEST_RETRY_AFTER_MS } from '#foundation/platform/retry-after.ts';

/** Requests that wait. A quota of messages rejects writes only, and the readings must go on then. */
type Held = 'all' | 'writes';

interface Hold {
  /** End on the monotonic clock. */
  readonly until: number;
  /** Status of the response that requested the wait. */
  readonly status: number;
}

export class Holds {
  readonly #clock: Clock;
  readonly #holds = new Map<string, Hold>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param api account and API, as one text */
  note(api: string, isWrite: boolean, status: number, ms: number): void {
    if (status !== 429 && status !== 503) return;
    const held: Held = isWrite && status === 429 ? 'writes' : 'all';
    const until = this.#clock.monotonic() + Math.min(ms, LONGEST_RETRY_AFTER_MS);
    const key = `${held} ${api}`;
    // Responses to requests that were sent together may disagree.
    if (until > (this.#holds.get(key)?.until ?? 0)) this.#holds.set(key, { until, status });
  }

  /** Returns the rest of a wait; undefined if a request may start. */
  left(api: string, isWrite: boolean): { readonly ms: number; readonly status: number } | undefined {
    const kinds: readonly Held[] = isWrite ? ['all', 'writes'] : ['all'];
    const holds = kinds.flatMap((held) => this.#holds.get(`${held} ${api}`) ?? []);
    const last = holds.toSorted((a, b) => b.until - a.until)[0];
    const ms = last === undefined ? 0 : last.until - this.#clock.monotonic();
    // A timer may fire a millisecond early.
    return last !== undefined && ms >= 1 ? { ms, status: last.status } : undefined;
  }
}

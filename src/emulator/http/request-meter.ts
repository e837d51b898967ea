/**
 * What one account has used of its seconds and days. Both windows are fixed: a second counts from the last whole second
 * of the monotonic clock, so that no step of the wall clock opens it anew, and a day is a UTC day, whose count is kept
 * when the wall clock leaves it and comes back.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { DAY_MS, dayOf } from '../statistics/point-time.ts';

const SECOND_MS = 1_000;
/** Days whose counts are kept: a wall clock that is set right comes back from no further. */
const DAYS_KEPT = 400;

export interface WindowFigures {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the window has ended; above 0. */
  readonly resetMs: number;
}

export class RequestMeter {
  readonly #clock: Clock;
  #second = -Infinity;
  #requests = 0;
  readonly #messages = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a request unless the present second has had as many as the limit. */
  takeRequest(limit: number): boolean {
    this.#roll();
    if (this.#requests >= limit) return false;
    this.#requests++;
    return true;
  }

  /** Counts all of the messages, or none of them when the present day would have more than the limit. */
  takeMessages(count: number, limit: number): boolean {
    const day = dayOf(this.#clock.now());
    const used = this.#messages.get(day) ?? 0;
    if (used + count > limit) return false;
    this.#messages.set(day, used + count);
    if (this.#messages.size > DAYS_KEPT) this.#messages.delete(Math.min(...this.#messages.keys()));
    return true;
  }

  /** Messages by day, counted from the epoch: what `restore` takes. */
  get days(): readonly (readonly [day: number, messages: number])[] {
    return [...this.#messages];
  }

  /** Of an earlier process. */
  restore(days: Iterable<readonly [day: number, messages: number]>): void {
    for (const [day, messages] of days) this.#messages.set(day, messages);
  }

  second(limit: number): WindowFigures {
    this.#roll();
    const resetMs = (this.#second + 1) * SECOND_MS - this.#clock.monotonic();
    return { limit, remaining: Math.max(0, limit - this.#requests), resetMs };
  }

  day(limit: number): WindowFigures {
    const now = this.#clock.now();
    const day = dayOf(now);
    const used = this.#messages.get(day) ?? 0;
    return { limit, remaining: Math.max(0, limit - used), resetMs: (day + 1) * DAY_MS - now };
  }

  #roll(): void {
    const second = Math.floor(this.#clock.monotonic() / SECOND_MS);
    if (second === this.#second) return;
    this.#second = second;
    this.#requests = 0;
  }
}

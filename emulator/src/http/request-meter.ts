/**
 * Usage of one account, by second and by day. Both windows are fixed. A second starts at a whole second of the
 * monotonic clock, so a step of the wall clock does not reset it. A day is a UTC day. Its count survives if the wall
 * clock leaves the day and returns.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { DAY_MS, dayOf } from '../statistics/point-time.ts';

const SECOND_MS = 1_000;
/** Number of days kept. A corrected wall clock returns from at most this far. */
const DAYS_KEPT = 400;

export interface WindowFigures {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the window ends; above 0. */
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

  /** Counts a request. Returns false if the present second already has `limit` requests. */
  takeRequest(limit: number): boolean {
    this.#roll();
    if (this.#requests >= limit) return false;
    this.#requests++;
    return true;
  }

  /** Counts all messages, or none if the present day would exceed the limit. */
  takeMessages(count: number, limit: number): boolean {
    const day = dayOf(this.#clock.now());
    const used = this.#messages.get(day) ?? 0;
    if (used + count > limit) return false;
    this.#messages.set(day, used + count);
    if (this.#messages.size > DAYS_KEPT) this.#messages.delete(Math.min(...this.#messages.keys()));
    return true;
  }

  /** Messages by day, counted from the epoch. This is the input of `restore`. */
  get days(): readonly (readonly [day: number, messages: number])[] {
    return [...this.#messages];
  }

  /** Loads the counts of an earlier process. */
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

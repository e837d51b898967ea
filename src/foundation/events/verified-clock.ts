/**
 * Clock for decisions. It starts with the local clock and continues on the monotonic clock, so that a jump of the local
 * clock has no effect. It is set again only to a local time that the `Date` of a response confirms. Before the first
 * response it is the local clock: a replica without accounts gets none, and a suspended machine stops its monotonic clock.
 */
import { clockFault } from '../domain/clock-skew.ts';
import type { Clock, Timer } from '../platform/clock.ts';
import type { Api, EventBus } from './events.ts';

/** Minimum difference from the local clock for setting the time, in milliseconds. */
const WORTH_SETTING_MS = 1_000;

/** Last response of an API with the service's time. */
interface Reading {
  readonly account: string;
  readonly skewMs: number;
  readonly wall: number;
  readonly monotonic: number;
}

export class VerifiedClock implements Clock, Disposable {
  readonly #local: Clock;
  readonly #subscription: Disposable;
  readonly #readings = new Map<string, Reading>();
  /** Accounts that have responded, with or without the service's time. */
  readonly #heard = new Set<string>();
  /** Time when the clock was last set. */
  #wall: number;
  #monotonic: number;

  constructor(local: Clock, events: EventBus) {
    this.#local = local;
    this.#wall = local.now();
    this.#monotonic = local.monotonic();
    this.#subscription = events.subscribe((event) => {
      // A request without a response says nothing about time.
      if (event.type !== 'api.request' || event.code === 'error') return;
      this.#heard.add(event.account);
      if (event.clockSkewMs !== undefined) this.#take(event.account, event.api, event.clockSkewMs);
    });
  }

  now(): number {
    if (this.#heard.size === 0) return this.#local.now();
    return Math.round(this.#wall + this.#local.monotonic() - this.#monotonic);
  }

  /** Returns when the clock was last set. Earlier recorded times may have an additional error of MAX_CLOCK_SKEW_MS. */
  get steadySince(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#local.monotonic();
  }

  after(ms: number, run: () => void): Timer {
    return this.#local.after(ms, run);
  }

  /**
   * Returns how far the local clock is ahead of an account's service, in milliseconds. If its two APIs disagree, or
   * this clock and the local one, returns the larger difference. If the service sends no `Date`, returns how far the
   * local clock was set since the start. Undefined before the first response.
   */
  skewMs(account: string): number | undefined {
    if (!this.#heard.has(account)) return undefined;
    const [wall, monotonic] = [this.#local.now(), this.#local.monotonic()];
    const corrected = this.now() - wall;
    const skews = [...this.#readings.values()]
      .filter((reading) => reading.account === account)
      .map((reading) => reading.skewMs + (wall - reading.wall) - (monotonic - reading.monotonic))
      .flatMap((skew) => [skew, skew + corrected]);
    if (skews.length === 0) return -corrected;
    return skews.reduce((worst, skew) => (Math.abs(skew) > Math.abs(worst) ? skew : worst));
  }

  /** Returns true if a response of the service currently confirms the local clock. */
  isVerified(): boolean {
    return [...this.#heard].some((account) => clockFault(this.skewMs(account)!) === undefined);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #take(account: string, api: Api, skewMs: number): void {
    const [wall, monotonic] = [this.#local.now(), this.#local.monotonic()];
    this.#readings.set(`${api}/${account}`, { account, skewMs, wall, monotonic });
    if (clockFault(skewMs) !== undefined || Math.abs(wall - this.now()) < WORTH_SETTING_MS) return;
    this.#wall = wall;
    this.#monotonic = monotonic;
  }
}

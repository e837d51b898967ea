/** What a web configuration file says of one listener, as it is at the moment: another may take its place at any time. */
import type { Clock } from '#foundation/platform/clock.ts';
import type { WebTls } from './tls-settings.ts';
import { listenerShape, type WebConfig } from './web-settings.ts';

/**
 * Nobody is asked who they are, and none is told to come later: these say nothing but yes or no, to those who would end
 * the daemon if they got no answer.
 */
export const UNGUARDED: readonly string[] = ['/-/healthy', '/-/ready'];

export class Door {
  readonly #clock: Clock;
  #web: WebConfig;
  readonly #onTls = new Set<(tls: WebTls) => void>();
  /** Requests that may come at once now, and when that was so, on the monotonic clock. */
  #left: number;
  #leftAt: number;

  constructor(web: WebConfig, clock: Clock) {
    this.#web = web;
    this.#clock = clock;
    this.#left = web.rateLimit?.burst ?? 0;
    this.#leftAt = clock.monotonic();
  }

  get web(): WebConfig {
    return this.#web;
  }

  /**
   * From now on the other holds: for new connections its certificates, for every request the rest of it.
   *
   * @throws {Error} when the listener would have to be opened anew; nothing has changed then
   */
  take(next: WebConfig): void {
    const [before, after] = [listenerShape(this.#web), listenerShape(next)];
    if (before !== after) throw new Error(`a listener of ${before} cannot become one of ${after}`);
    if (next.tls !== undefined) for (const listener of this.#onTls) listener(next.tls);
    if (JSON.stringify(next.rateLimit) !== JSON.stringify(this.#web.rateLimit)) this.#left = next.rateLimit?.burst ?? 0;
    this.#web = next;
  }

  /** @param listener called with each TLS that takes the place of another, before it does */
  onTls(listener: (tls: WebTls) => void): void {
    this.#onTls.add(listener);
  }

  /** Whether the rate limit leaves room for a request; it then has less. */
  admits(path: string): boolean {
    const limit = this.#web.rateLimit;
    if (limit === undefined || UNGUARDED.includes(path)) return true;
    const now = this.#clock.monotonic();
    this.#left = Math.min(limit.burst, this.#left + (now - this.#leftAt) / limit.intervalMs);
    this.#leftAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}

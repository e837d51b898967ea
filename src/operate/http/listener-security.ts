/** Current web configuration of one listener. It can be replaced at any time. */
import type { Clock } from '#foundation/platform/clock.ts';
import type { WebTls } from './tls-settings.ts';
import { listenerShape, type WebConfig } from './web-settings.ts';

/**
 * Paths without authentication and rate limit. They only return a state, to orchestrators that would kill the daemon
 * without a response.
 */
export const UNGUARDED: readonly string[] = ['/-/healthy', '/-/ready'];

export class ListenerSecurity {
  readonly #clock: Clock;
  #web: WebConfig;
  readonly #onTls = new Set<(tls: WebTls) => void>();
  /** Number of requests that may come at once, and its time on the monotonic clock. */
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
   * Replaces the web configuration: new connections get the new certificates, and every request the other settings.
   *
   * @throws {Error} if the listener would have to be reopened; nothing has changed then
   */
  take(next: WebConfig): void {
    const [before, after] = [listenerShape(this.#web), listenerShape(next)];
    if (before !== after) throw new Error(`a listener of ${before} cannot become one of ${after}`);
    if (next.tls !== undefined) for (const listener of this.#onTls) listener(next.tls);
    if (JSON.stringify(next.rateLimit) !== JSON.stringify(this.#web.rateLimit)) this.#left = next.rateLimit?.burst ?? 0;
    this.#web = next;
  }

  /** @param listener called with each new TLS configuration, before it replaces the previous one */
  onTls(listener: (tls: WebTls) => void): void {
    this.#onTls.add(listener);
  }

  /** Returns true if the rate limit admits a request, which it then counts. */
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

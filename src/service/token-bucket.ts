/**
 * The daemon's own rate limit for one API: a token bucket on the monotonic clock. Waiters are served first come, first
 * served, urgent ones before the others. A 429 halves the rate; good answers bring it back by a twentieth of the configured rate each.
 */
import type { Clock, Timer } from '#foundation/platform/clock.ts';

/** However often the service says 429, this share of the configured rate remains. */
const LOWEST_SHARE = 1 / 32;
const RECOVERY_SHARE = 1 / 20;
/** A timer that fires exactly when a token is whole may find 0.9999…: count that as whole. */
const ROUNDING = 1e-6;

interface Waiter {
  readonly urgent: boolean;
  readonly serve: () => void;
}

export class TokenBucket {
  readonly #configured: number;
  readonly #clock: Clock;
  readonly #waiters: Waiter[] = [];
  #rate: number;
  #tokens: number;
  #refilledAt: number;
  #slowedAt = -Infinity;
  #timer: Timer | undefined;

  /** @param rate tokens a second; the bucket holds that many, at least one, and begins full */
  constructor(rate: number, clock: Clock) {
    this.#configured = rate;
    this.#rate = rate;
    this.#clock = clock;
    this.#tokens = this.#capacity;
    this.#refilledAt = clock.monotonic();
  }

  /** Tokens a second at present. */
  get rate(): number {
    return this.#rate;
  }

  /**
   * Takes one token, waiting for it in order of arrival; an urgent one only waits for its like.
   *
   * @returns milliseconds waited
   * @throws the signal's reason; a waiter that leaves takes no token
   */
  take(signal: AbortSignal, urgent = false): Promise<number> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      this.#refill();
      if (this.#waiters.length === 0 && this.#spend()) {
        resolve(0);
        return;
      }
      const since = this.#clock.monotonic();
      const onAbort = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        this.#arm();
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        urgent,
        serve: () => {
          signal.removeEventListener('abort', onAbort);
          resolve(this.#clock.monotonic() - since);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const patient = urgent ? this.#waiters.findIndex((other) => !other.urgent) : -1;
      this.#waiters.splice(patient === -1 ? this.#waiters.length : patient, 0, waiter);
      this.#arm();
    });
  }

  /**
   * Halves the rate. Requests that were under way when it was last halved say nothing new and do not count.
   *
   * @param sentAt monotonic time at which the request that was refused was sent
   */
  slowDown(sentAt: number): void {
    if (sentAt < this.#slowedAt) return;
    this.#slowedAt = this.#clock.monotonic();
    this.#setRate(Math.max(this.#configured * LOWEST_SHARE, this.#rate / 2));
  }

  /** A step back towards the configured rate. */
  recover(): void {
    if (this.#rate < this.#configured) {
      this.#setRate(Math.min(this.#configured, this.#rate + this.#configured * RECOVERY_SHARE));
    }
  }

  get #capacity(): number {
    return Math.max(1, this.#rate);
  }

  #setRate(rate: number): void {
    this.#refill();
    this.#rate = rate;
    this.#tokens = Math.min(this.#tokens, this.#capacity);
    this.#arm();
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#capacity, this.#tokens + ((now - this.#refilledAt) / 1_000) * this.#rate);
    this.#refilledAt = now;
  }

  #spend(): boolean {
    if (this.#tokens < 1 - ROUNDING) return false;
    this.#tokens = Math.max(0, this.#tokens - 1);
    return true;
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#waiters.length === 0) return;
    this.#refill();
    const waitMs = (Math.max(0, 1 - this.#tokens) / this.#rate) * 1_000;
    this.#timer = this.#clock.after(waitMs, () => {
      this.#timer = undefined;
      this.#refill();
      while (this.#waiters.length > 0 && this.#spend()) this.#waiters.shift()!.serve();
      this.#arm();
    });
  }
}

/**
 * Rate limit of the daemon for one API: a token bucket on the monotonic clock. Waiters are served in order of arrival,
 * urgent ones first. A 429 halves the rate. Each successful response restores a twentieth of the configured rate.
 */
import type { Clock, Timer } from '#foundation/platform/clock.ts';

/** Minimum share of the configured rate, regardless of the number of 429s. */
const LOWEST_SHARE = 1 / 32;
const RECOVERY_SHARE = 1 / 20;
/** Tolerance for rounding: a timer that fires exactly when a token is complete may find 0.9999… */
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

  /** @param rate tokens per second; the bucket holds this many, at least one, and starts full */
  constructor(rate: number, clock: Clock) {
    this.#configured = rate;
    this.#rate = rate;
    this.#clock = clock;
    this.#tokens = this.#capacity;
    this.#refilledAt = clock.monotonic();
  }

  /** Returns the current number of tokens per second. */
  get rate(): number {
    return this.#rate;
  }

  /**
   * Takes one token, waiting in order of arrival. An urgent waiter waits only for other urgent ones.
   *
   * @returns milliseconds waited
   * @throws the signal's reason; an aborted waiter takes no token
   */
  take(signal: AbortSignal, urgent = false): Promise<number> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
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
   * Halves the rate. Responses to requests that were sent before the last halving do not count.
   *
   * @param sentAt monotonic time when the rejected request was sent
   */
  slowDown(sentAt: number): void {
    if (sentAt < this.#slowedAt) return;
    this.#slowedAt = this.#clock.monotonic();
    this.#setRate(Math.max(this.#configured * LOWEST_SHARE, this.#rate / 2));
  }

  /** Raises the rate by one step toward the configured rate. */
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

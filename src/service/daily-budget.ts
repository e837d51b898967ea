/**
 * Limits the daemon's own requests per UTC day, for one API. If the count is stored, a restart continues it. It is
 * stored some requests in advance. A crash therefore never loses requests, and costs at most the rest of the advance.
 */
import type { RequestUse } from '#foundation/domain/request-use.ts';
import type { Clock } from '#foundation/platform/clock.ts';

const DAY_MS = 86_400_000;
/** Advance of the stored count: a share of the daily maximum, with an upper limit. Each write waits for the disk. */
const AHEAD_SHARE = 1 / 1_000;
const MOST_AHEAD = 100;

/** Stored count, and its store. The store reports its own failures, which block no request. */
export interface KeptUse {
  readonly before?: RequestUse | undefined;
  /** Never rejects. */
  save(use: RequestUse): Promise<void>;
}

export class DailyBudget {
  readonly allowedPerDay: number;
  readonly #clock: Clock;
  readonly #kept: KeptUse | undefined;
  #day: number;
  #used = 0;
  /** Stored count, when `#saved` resolves. */
  #written = 0;
  /** Resolves when all writes so far have ended. */
  #saved = Promise.resolve();

  constructor(allowedPerDay: number, clock: Clock, kept?: KeptUse) {
    this.allowedPerDay = allowedPerDay;
    this.#clock = clock;
    this.#kept = kept;
    this.#day = this.#today();
    const before = kept?.before;
    // A later day was stored while the clock was wrong. It counts as today, so that tomorrow starts at 0.
    if (before !== undefined && before.day >= this.#day) this.#written = this.#used = before.used;
  }

  get usedToday(): number {
    this.#turn();
    return this.#used;
  }

  /** Returns milliseconds until the count restarts. */
  get resetsInMs(): number {
    return DAY_MS - (this.#clock.now() % DAY_MS);
  }

  get isLeft(): boolean {
    return this.usedToday < this.allowedPerDay;
  }

  /**
   * Counts one request. The count is stored when the promise resolves.
   *
   * @returns false if none is left; nothing was counted then
   */
  async take(): Promise<boolean> {
    if (!this.isLeft) return false;
    this.#used += 1;
    if (this.#kept !== undefined && this.#used > this.#written) {
      const ahead = Math.min(MOST_AHEAD, Math.max(1, Math.floor(this.allowedPerDay * AHEAD_SHARE)));
      this.#write(Math.min(this.#used + ahead - 1, this.allowedPerDay));
    }
    // The write of an earlier request, which covers this one, may still be in progress.
    await this.#saved;
    return true;
  }

  /** Returns the unused part of the advance. */
  async close(): Promise<void> {
    if (this.#written > this.usedToday) this.#write(this.#used);
    await this.#saved;
  }

  #write(used: number): void {
    this.#written = used;
    const use = { day: this.#day, used };
    this.#saved = this.#saved.then(() => this.#kept?.save(use));
  }

  /** Starts a new count only for a later day: a clock that is set back must not grant a day twice. */
  #turn(): void {
    const today = this.#today();
    if (today <= this.#day) return;
    this.#day = today;
    this.#used = 0;
    this.#written = 0;
  }

  #today(): number {
    return Math.floor(this.#clock.now() / DAY_MS);
  }
}

/** Share of the daily requests that reads of operators leave to collectors and policies. */
const KEPT_SHARE = 0.1;

/** Returns true if the rest of the daily requests is for collectors and policies. */
export function isOperatorShareUsed(use: { readonly usedToday: number; readonly allowedPerDay: number }): boolean {
  return use.usedToday >= use.allowedPerDay * (1 - KEPT_SHARE);
}

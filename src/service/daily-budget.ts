/**
 * How many requests the daemon allows itself in a UTC day, for one API. Where the count is kept, a restart goes on with
 * it: it is written ahead, some requests at once, so that a crash forgets none and costs the rest of those at most.
 */
import type { RequestUse } from '#foundation/domain/request-use.ts';
import type { Clock } from '#foundation/platform/clock.ts';

const DAY_MS = 86_400_000;
/** Of what is allowed, this part is written ahead, and so many requests at most: each writing waits for the disk. */
const AHEAD_SHARE = 1 / 1_000;
const MOST_AHEAD = 100;

/** Where the count outlives the process; what fails there is its own to tell, and stops no request. */
export interface KeptUse {
  load(): RequestUse | undefined;
  save(use: RequestUse): void;
}

export class DailyBudget {
  readonly allowedPerDay: number;
  readonly #clock: Clock;
  readonly #kept: KeptUse | undefined;
  #day: number;
  #used = 0;
  /** What is written down as used. */
  #written = 0;

  constructor(allowedPerDay: number, clock: Clock, kept?: KeptUse) {
    this.allowedPerDay = allowedPerDay;
    this.#clock = clock;
    this.#kept = kept;
    this.#day = this.#today();
    const before = kept?.load();
    // A day to come was written under a clock that was wrong: it counts as today, so that tomorrow starts anew.
    if (before !== undefined && before.day >= this.#day) this.#written = this.#used = before.used;
  }

  get usedToday(): number {
    this.#turn();
    return this.#used;
  }

  /** Milliseconds until the count starts again. */
  get resetsInMs(): number {
    return DAY_MS - (this.#clock.now() % DAY_MS);
  }

  get isLeft(): boolean {
    return this.usedToday < this.allowedPerDay;
  }

  /** Counts one request; false, and nothing counted, when none is left. */
  take(): boolean {
    if (!this.isLeft) return false;
    this.#used += 1;
    if (this.#kept !== undefined && this.#used > this.#written) {
      const ahead = Math.min(MOST_AHEAD, Math.max(1, Math.floor(this.allowedPerDay * AHEAD_SHARE)));
      this.#write(Math.min(this.#used + ahead - 1, this.allowedPerDay));
    }
    return true;
  }

  /** Gives back what was written ahead and not used. */
  close(): void {
    if (this.#written > this.usedToday) this.#write(this.#used);
  }

  #write(used: number): void {
    this.#written = used;
    this.#kept?.save({ day: this.#day, used });
  }

  /** Only a later day starts anew: a clock that is set back must not hand out a day twice. */
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

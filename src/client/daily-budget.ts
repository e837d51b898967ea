/** How many requests the daemon allows itself in a UTC day, for one API. The count begins anew with the process. */
import type { Clock } from '../platform/clock.ts';

const DAY_MS = 86_400_000;

export class DailyBudget {
  readonly allowedPerDay: number;
  readonly #clock: Clock;
  #day: number;
  #used = 0;

  constructor(allowedPerDay: number, clock: Clock) {
    this.allowedPerDay = allowedPerDay;
    this.#clock = clock;
    this.#day = this.#today();
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
    return true;
  }

  /** Only a later day starts anew: a clock that is set back must not hand out a day twice. */
  #turn(): void {
    const today = this.#today();
    if (today <= this.#day) return;
    this.#day = today;
    this.#used = 0;
  }

  #today(): number {
    return Math.floor(this.#clock.now() / DAY_MS);
  }
}

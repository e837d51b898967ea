/**
 * Counters and histograms that appeared recently. Scrapers see them as 0 for a while, because Prometheus does not count
 * the first sample of a series as an increase.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { release, type Child } from './series.ts';

export class HeldCounters {
  readonly #clock: Clock;
  readonly #holdMs: number;
  /** Monotonic start of each hold, oldest first. All are held for the same time. */
  readonly #since = new Map<Child, number>();
  #hasStarted = false;

  constructor(clock: Clock, holdMs: number) {
    this.#clock = clock;
    this.#holdMs = holdMs;
  }

  get size(): number {
    return this.#since.size;
  }

  /** True if a counter that appears now must be held. */
  get holdsNew(): boolean {
    return this.#hasStarted && this.#holdMs > 0;
  }

  /** Ends the start phase of the process, when new counters are not held. */
  start(): void {
    this.#hasStarted = true;
  }

  add(child: Child): void {
    this.#since.set(child, this.#clock.monotonic());
  }

  /** Forgets a counter that is removed or released. */
  delete(child: Child): void {
    this.#since.delete(child);
  }

  /** Releases the counters that were held long enough. */
  releaseDue(): void {
    const now = this.#clock.monotonic();
    for (const [child, since] of this.#since) {
      if (now - since < this.#holdMs) return;
      release(child);
      this.#since.delete(child);
    }
  }
}

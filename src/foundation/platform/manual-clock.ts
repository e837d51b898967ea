/** Clock that only moves on command, for tests and for the embedded service's virtual time. */
import type { Clock, Timer } from './clock.ts';

interface Waiting {
  readonly due: number;
  readonly order: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  #wall: number;
  #monotonic = 0;
  #order = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(wall: number) {
    this.#wall = wall;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, run: () => void): Timer {
    const waiting: Waiting = { due: this.#monotonic + Math.max(0, ms), order: this.#order++, run };
    this.#waiting.add(waiting);
    const cancel = (): void => void this.#waiting.delete(waiting);
    return { cancel, [Symbol.dispose]: cancel };
  }

  /** Returns the number of pending timers. */
  get timers(): number {
    return this.#waiting.size;
  }

  /** Returns milliseconds until the next timer is due; undefined if none is pending. */
  get nextIn(): number | undefined {
    const next = this.#next(Infinity);
    return next === undefined ? undefined : next.due - this.#monotonic;
  }

  /** Moves only the wall clock, as NTP or an operator would. Timers are not affected. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** Advances time, fires each timer at its own moment, and lets promises settle in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#moveTo(next.due);
      this.#waiting.delete(next);
      next.run();
      await settle();
    }
    this.#moveTo(end);
    await settle();
  }

  #moveTo(monotonic: number): void {
    const by = Math.max(0, monotonic - this.#monotonic);
    this.#monotonic += by;
    this.#wall += by;
  }

  #next(end: number): Waiting | undefined {
    let next: Waiting | undefined;
    for (const waiting of this.#waiting) {
      if (waiting.due > end) continue;
      if (next === undefined || waiting.due < next.due || (waiting.due === next.due && waiting.order < next.order)) {
        next = waiting;
      }
    }
    return next;
  }
}

/** Waits one turn of the event loop: promises that were ready have run their continuations. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

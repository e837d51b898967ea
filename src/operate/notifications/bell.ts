import type { Clock } from '#foundation/platform/clock.ts';
import { sleep } from '#foundation/platform/sleep.ts';

/** Wait that a ring ends. A ring before the wait ends it at once. */
export class Bell {
  readonly #clock: Clock;
  #isRung = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /** Waits for a ring, `ms` at most; rejects with the signal's reason. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#isRung) {
      const over = new AbortController();
      const rung = new Promise<void>((resolve) => (this.#wake = resolve));
      try {
        await Promise.race([rung, sleep(this.#clock, ms, AbortSignal.any([signal, over.signal]))]);
      } finally {
        this.#wake = undefined;
        over.abort(new Error('the wait is over'));
      }
    }
    this.#isRung = false;
  }
}

/** Attempts that a scripted destination holds: until the service's clock moves, or without a response. */
import type { Clock, Timer } from '#foundation/platform/clock.ts';

export class HeldAttempts {
  readonly #clock: Clock;
  readonly #onHeld: () => void;
  /** Timers by attempt id. An attempt that never gets a response has no timer. */
  readonly #held = new Map<string, Timer | undefined>();

  constructor(clock: Clock, onHeld: () => void) {
    this.#clock = clock;
    this.#onHeld = onHeld;
  }

  has(attempt: string): boolean {
    return this.#held.has(attempt);
  }

  /** Waits on the service's clock. Never resolves if the attempt is released first. */
  async wait(attempt: string, ms: number): Promise<void> {
    if (ms === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(ms, () => {
        this.#held.delete(attempt);
        resolve();
      });
      this.#hold(attempt, timer);
    });
  }

  /** Holds an attempt without a response. */
  hang(attempt: string): void {
    this.#hold(attempt, undefined);
  }

  release(attempt: string): void {
    this.#held.get(attempt)?.cancel();
    this.#held.delete(attempt);
  }

  /** Cancels all timers. */
  stop(): void {
    for (const timer of this.#held.values()) timer?.cancel();
  }

  #hold(attempt: string, timer: Timer | undefined): void {
    this.#held.set(attempt, timer);
    this.#onHeld();
  }
}

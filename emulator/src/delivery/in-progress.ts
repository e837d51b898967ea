/** Attempts in progress, for callers that wait until only time or a request can cause more work. */

export class InProgress {
  readonly #attempts = new Set<string>();
  #whenChanged: (() => void)[] = [];

  /** Iterates over ids of the form of `attemptId`. */
  [Symbol.iterator](): SetIterator<string> {
    return this.#attempts.values();
  }

  begin(attempt: string): void {
    this.#attempts.add(attempt);
  }

  end(attempt: string): void {
    this.#attempts.delete(attempt);
    this.lookAgain();
  }

  /**
   * Resolves when every delivery in progress waits for the clock. More work then needs time or a request. `lookAgain`
   * repeats the check, because a delivery may have begun to wait.
   */
  async idleBut(waits: (attempt: string) => boolean): Promise<void> {
    while (![...this.#attempts].every(waits)) {
      await new Promise<void>((resolve) => this.#whenChanged.push(resolve));
    }
  }

  lookAgain(): void {
    for (const resolve of this.#whenChanged.splice(0)) resolve();
  }
}

/** The attempts in progress, for those who wait until nothing moves but what time or a request moves. */

export class InProgress {
  readonly #attempts = new Set<string>();
  #whenChanged: (() => void)[] = [];

  /** Ids, as `attemptId` makes them. */
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
   * Resolves when no delivery is in progress but those that wait for the clock: what happens next waits for it or for
   * a request. After `lookAgain` a delivery may have begun to wait.
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

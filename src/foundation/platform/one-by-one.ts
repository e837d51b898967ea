/** Runs work one after the other, in the order of the calls. A failure does not affect later work. */
export class OneByOne {
  #last: Promise<unknown> = Promise.resolve();
  #left = 0;

  /** Returns true if work would run at once. */
  get isFree(): boolean {
    return this.#left === 0;
  }

  /** Runs `work` after everything before it has ended. @returns its result */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    this.#left += 1;
    const result = this.#last.then(async () => {
      try {
        return await work();
      } finally {
        this.#left -= 1;
      }
    });
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves when everything before has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

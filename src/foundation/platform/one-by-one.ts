/** Runs work one after the other, in the order of the calls. A failure does not affect later work. */
export class OneByOne {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after everything before it has ended. @returns its result */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves when everything before has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** One run of a policy at a time. Who comes while one goes on waits; of those that only want it to run, one waits. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, number>();

  /** Runs of one name follow each other in the order in which they came. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    this.#waiting.set(name, this.waiting(name) + 1);
    const turn = (async () => {
      await before?.catch(() => undefined);
      this.#waiting.set(name, this.waiting(name) - 1);
      return work();
    })();
    this.#last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
  }

  /** How many wait that have not begun. */
  waiting(name: string): number {
    return this.#waiting.get(name) ?? 0;
  }
}

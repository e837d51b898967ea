/** Queue that runs each name one at a time. Callers that only want a run share one waiting run. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, number>();

  /** Runs the work of one name in the order of the calls. */
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

  /** Number of calls that have not started. */
  waiting(name: string): number {
    return this.#waiting.get(name) ?? 0;
  }
}

/** Limits the work that runs at the same time. Further work waits for its turn, in the order of the calls. */
export class Slots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  /** @param most maximum number of works at the same time */
  constructor(most: number) {
    this.#free = most;
  }

  /** @param signal ends the wait: the promise then rejects with its reason */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      // The next work takes this slot over, so that no other one can come in between.
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#waiting.delete(begin);
        signal?.removeEventListener('abort', abort);
      };
      const begin = (): void => (end(), resolve());
      const abort = (): void => (end(), reject(signal!.reason as Error));
      this.#waiting.add(begin);
      signal?.addEventListener('abort', abort);
    });
  }
}

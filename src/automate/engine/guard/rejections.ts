/** Entries whose requests the service rejected since this process started. They use no attempt, but they wait. */

export interface Rejection {
  readonly count: number;
  /** Epoch milliseconds of the last rejection. */
  readonly at: number;
}

const REMEMBERED = 10_000;

export class Rejections {
  readonly #known = new Map<string, Rejection>();

  of(account: string, dlqId: string): Rejection | undefined {
    return this.#known.get(`${account}\0${dlqId}`);
  }

  add(account: string, dlqId: string, at: number): void {
    const key = `${account}\0${dlqId}`;
    const count = (this.#known.get(key)?.count ?? 0) + 1;
    // Deleted first, so that the map stays ordered from the oldest.
    this.#known.delete(key);
    this.#known.set(key, { count, at });
    const [oldest] = this.#known.keys();
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
  }
}

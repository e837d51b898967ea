/** Remembers the last logged state of each ongoing condition, so that only its start, changes and end are logged. */
export class Lasting {
  readonly #logged = new Map<string, string>();

  /** Returns true if the state differs from the last logged one, and remembers it as logged. */
  isNews(thing: string, state: string): boolean {
    if (this.#logged.get(thing) === state) return false;
    this.#logged.set(thing, state);
    return true;
  }

  /** Ends a condition. Returns true if its start was logged. */
  end(thing: string): boolean {
    return this.#logged.delete(thing);
  }
}

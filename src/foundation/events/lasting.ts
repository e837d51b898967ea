/** Remembers what was last logged of each thing that lasts, so that only its begin, its changes and its end are logged. */
export class Lasting {
  readonly #logged = new Map<string, string>();

  /** Returns whether the state of a thing differs from the one that was logged last; it counts as logged from now on. */
  isNews(thing: string, state: string): boolean {
    if (this.#logged.get(thing) === state) return false;
    this.#logged.set(thing, state);
    return true;
  }

  /** Ends a thing. Returns whether its begin was logged. */
  end(thing: string): boolean {
    return this.#logged.delete(thing);
  }
}

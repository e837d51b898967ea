/** Which publishes of the last ten minutes carried which de-duplication id. */

const DEDUPLICATION_WINDOW_MS = 600_000;

export interface PublishedMessage {
  readonly messageId: string;
  readonly url: string;
}

export interface Remembered {
  readonly messages: readonly PublishedMessage[];
  readonly at: number;
}

interface DeduplicationOptions {
  readonly onRemembered?: ((id: string, remembered: Remembered) => void) | undefined;
  readonly onForgotten?: ((id: string) => void) | undefined;
}

export class Deduplication {
  readonly #options: DeduplicationOptions;
  /** In order of publishing, so that what is too old stands first. */
  readonly #known = new Map<string, Remembered>();

  constructor(options: DeduplicationOptions = {}) {
    this.#options = options;
  }

  /** Of an earlier process; oldest first. */
  restore(id: string, remembered: Remembered): void {
    this.#known.set(id, remembered);
  }

  /** What the id was first published as, when that was within the window. */
  find(id: string, now: number): readonly PublishedMessage[] | undefined {
    this.#trim(now);
    return this.#known.get(id)?.messages;
  }

  remember(id: string, messages: readonly PublishedMessage[], now: number): void {
    this.#known.delete(id);
    const remembered = { messages, at: now };
    this.#known.set(id, remembered);
    this.#options.onRemembered?.(id, remembered);
  }

  #trim(now: number): void {
    for (const [id, remembered] of this.#known) {
      if (now - remembered.at < DEDUPLICATION_WINDOW_MS) break;
      this.#known.delete(id);
      this.#options.onForgotten?.(id);
    }
  }
}

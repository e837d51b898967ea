/** De-duplication ids of the publishes within the last ten minutes. */
import type { AccountJournal } from './journal.ts';

const DEDUPLICATION_WINDOW_MS = 600_000;

export interface PublishedMessage {
  readonly messageId: string;
  readonly url: string;
}

export interface Remembered {
  readonly messages: readonly PublishedMessage[];
  readonly at: number;
}

export class Deduplication {
  readonly #journal: AccountJournal | undefined;
  /** In order of publishing, so that expired ones are first. */
  readonly #known = new Map<string, Remembered>();

  constructor(journal?: AccountJournal) {
    this.#journal = journal;
  }

  /** Loads an id of an earlier process; oldest first. */
  restore(id: string, remembered: Remembered): void {
    this.#known.set(id, remembered);
  }

  /** Returns the messages of the first publish with this id, if it was within the window. */
  find(id: string, now: number): readonly PublishedMessage[] | undefined {
    this.#trim(now);
    return this.#known.get(id)?.messages;
  }

  remember(id: string, messages: readonly PublishedMessage[], now: number): void {
    this.#known.delete(id);
    const remembered = { messages, at: now };
    this.#known.set(id, remembered);
    this.#journal?.put('deduplication', id, remembered);
  }

  #trim(now: number): void {
    for (const [id, remembered] of this.#known) {
      if (now - remembered.at < DEDUPLICATION_WINDOW_MS) break;
      this.#known.delete(id);
      this.#journal?.removed('deduplication', id);
    }
  }
}

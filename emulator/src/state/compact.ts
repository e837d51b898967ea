/**
 * Reduces the memory of long-lived data. Equal texts and equal small bodies are shared. Bodies of responses are packed
 * into slabs, because a slice of Node's buffer pool would keep eight kilobytes of other data alive. The data of an
 * ended message is moved to a shelf. Data that is removed in the order of its arrival frees whole slabs.
 */
import { KeptMessage } from './kept-message.ts';
import type { Message } from './message.ts';
import { Shelf } from './shelf.ts';

/** Smaller than the slabs of messages, because a waiting body can keep one alive. */
const ANSWER_SLAB_BYTES = 65_536;
/** Maximum size of a packed body; larger bodies are unchanged. */
const MAX_KEPT_IN_SLAB = 4_096;
const MAX_SHARED_BYTES = 64;
const MAX_SHARED = 2_000;

const EMPTY = new Uint8Array();

export class Compact {
  #texts = new Map<string, string>();
  #bodies = new Map<string, Uint8Array>();
  readonly #answers = new Shelf(ANSWER_SLAB_BYTES);
  readonly #shelves = { ended: new Shelf(), dead: new Shelf() };

  /** Returns the same text, shared with earlier equal ones. */
  text(value: string): string {
    const known = this.#texts.get(value);
    if (known !== undefined) return known;
    if (this.#texts.size >= MAX_SHARED) this.#texts.clear();
    this.#texts.set(value, value);
    return value;
  }

  /** Returns the same bytes, for the time that the log keeps them. They must not be written to. */
  bytes(value: Uint8Array): Uint8Array {
    if (value.length <= MAX_SHARED_BYTES) return this.#shared(value);
    return value.length > MAX_KEPT_IN_SLAB ? value : this.#answers.bytes(value);
  }

  /**
   * Returns the same bytes for a message that is not yet delivered. They keep nothing else alive, however long the
   * message waits.
   */
  body(value: Uint8Array): Uint8Array {
    return value.length <= MAX_SHARED_BYTES ? this.#shared(value) : new Uint8Array(value);
  }

  /** Keeps the message as long as a dead letter, because one refers to it. */
  keepWithDead(message: Message): void {
    if (message instanceof KeptMessage) message.keepWithDead();
  }

  /** Moves the data of an ended message to a shelf. */
  shelve(message: Message): void {
    if (message instanceof KeptMessage) message.shelve(this.#shelves);
  }

  #shared(value: Uint8Array): Uint8Array {
    if (value.length === 0) return EMPTY;
    const key = Buffer.from(value.buffer, value.byteOffset, value.length).toString('latin1');
    const known = this.#bodies.get(key);
    if (known !== undefined) return known;
    if (this.#bodies.size >= MAX_SHARED) this.#bodies.clear();
    const copy = this.#answers.bytes(value);
    this.#bodies.set(key, copy);
    return copy;
  }
}

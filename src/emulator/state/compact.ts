/**
 * Keeps what is remembered for long small: equal texts and equal small bodies are kept once, bodies of answers lie side
 * by side in slabs of their own (a slice of Node's buffer pool would keep eight kilobytes of strangers alive), and what
 * a message that has ended was goes on a shelf. What is forgotten in the order of its coming frees whole slabs.
 */
import { KeptMessage } from './kept-message.ts';
import type { Message } from './message.ts';
import { Shelf } from './shelf.ts';

/** Smaller than those of messages: a body that waits can keep one alive. */
const ANSWER_SLAB_BYTES = 65_536;
/** Larger bodies stay what they are. */
const MAX_KEPT_IN_SLAB = 4_096;
const MAX_SHARED_BYTES = 64;
const MAX_SHARED = 2_000;

const EMPTY = new Uint8Array();

export class Compact {
  #texts = new Map<string, string>();
  #bodies = new Map<string, Uint8Array>();
  readonly #answers = new Shelf(ANSWER_SLAB_BYTES);
  readonly #shelves = { ended: new Shelf(), dead: new Shelf() };

  /** The same text, shared with earlier equal ones. */
  text(value: string): string {
    const known = this.#texts.get(value);
    if (known !== undefined) return known;
    if (this.#texts.size >= MAX_SHARED) this.#texts.clear();
    this.#texts.set(value, value);
    return value;
  }

  /** The same bytes, for as long as the log remembers; never to be written to. */
  bytes(value: Uint8Array): Uint8Array {
    if (value.length <= MAX_SHARED_BYTES) return this.#shared(value);
    return value.length > MAX_KEPT_IN_SLAB ? value : this.#answers.bytes(value);
  }

  /** The same bytes, for a message that is to be delivered: nothing else is kept alive, however long it waits. */
  body(value: Uint8Array): Uint8Array {
    return value.length <= MAX_SHARED_BYTES ? this.#shared(value) : new Uint8Array(value);
  }

  /** The message stays as long as a dead letter, because one refers to it. */
  keepWithDead(message: Message): void {
    if (message instanceof KeptMessage) message.keepWithDead();
  }

  /** What a message was goes on a shelf, once it has ended. */
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

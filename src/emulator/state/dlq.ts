/**
 * A dead letter queue: messages that failed for good, in that order, until they are deleted, resumed, or older than the
 * retention, or too many: the oldest leave. An account has one for plain messages and one for workflow runs.
 */
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { STRETCH } from './column-scan.ts';
import { DeadLetterChunk } from './dead-letter-chunk.ts';
import type { Message } from './message.ts';
import { pageOf, searchFor, type Filter, type Page, type Window } from './search.ts';
import type { Codes } from './stretch.ts';

export interface DeadLetter {
  /** When it failed and its position: no other letter of the account has it, in either queue. */
  readonly dlqId: string;
  /** Position that a cursor names. */
  readonly sequence: number;
  readonly message: Message;
  /** Epoch milliseconds: when the message failed for good. */
  readonly failedAt: number;
}

/** Asked whenever it matters: they are the plan's, which may change. */
export interface DeadLetterLimits {
  readonly dlqRetentionMs: number;
  readonly dlqSize: number;
}

interface DeadLetterOptions {
  /** Stands in the ids of this queue before the position: no digits. */
  readonly mark: string;
  /** Those of the account's log. */
  readonly codes: Codes;
  readonly onAdded?: ((letter: DeadLetter) => void) | undefined;
  readonly onRemoved?: ((letter: DeadLetter) => void) | undefined;
}

export class DeadLetterQueue {
  readonly #limits: () => DeadLetterLimits;
  readonly #options: DeadLetterOptions;
  /** By position divided by their length, in order of failure; one that all letters left is not there. */
  readonly #chunks = new Map<number, DeadLetterChunk>();
  #sequence = 0;
  #size = 0;

  constructor(limits: () => DeadLetterLimits, options: DeadLetterOptions) {
    this.#limits = limits;
    this.#options = options;
  }

  /** Position of the next letter. */
  get nextSequence(): number {
    return this.#sequence;
  }

  /** Letters of an earlier process, oldest first. */
  restore(letters: Iterable<Omit<DeadLetter, 'dlqId'>>, nextSequence: number): void {
    for (const letter of letters) {
      this.#keep(letter);
      letter.message.dlqId = this.#idOf(letter);
    }
    this.#sequence = nextSequence;
  }

  add(message: Message, now: number): DeadLetter {
    const sequence = this.#sequence++;
    const letter = { dlqId: this.#idOf({ failedAt: now, sequence }), sequence, message, failedAt: now };
    this.#keep(letter);
    this.#options.onAdded?.(letter);
    this.trim(now);
    return letter;
  }

  get size(): number {
    return this.#size;
  }

  get(dlqId: string): DeadLetter | undefined {
    const sequence = Number(/\d+$/.exec(dlqId)?.[0]);
    const chunk = this.#chunks.get(Math.floor(sequence / STRETCH));
    const letter = chunk && this.#letterAt(chunk, sequence % STRETCH);
    return letter?.dlqId === dlqId ? letter : undefined;
  }

  remove(dlqId: string): boolean {
    const letter = this.get(dlqId);
    if (letter === undefined) return false;
    this.#remove(letter);
    return true;
  }

  /** After a change of a message's schedule or queue: its letter, if it has one here, is found by them. */
  rename(message: Message): void {
    this.#at(message, (chunk, at) => chunk.rename(at));
  }

  /** After the failure function of a message has got its call: its letter is found by the state of that from now on. */
  noticed(message: Message): void {
    this.#at(message, (chunk, at) => chunk.notice(at));
  }

  /** Oldest first; a letter that is removed while somebody reads is not met again. */
  *letters(): Generator<DeadLetter> {
    for (const chunk of this.#chunks.values()) {
      for (let at = 0; at < chunk.messages.length; at++) {
        const letter = this.#letterAt(chunk, at);
        if (letter !== undefined) yield letter;
      }
    }
  }

  /** Returns the first `count` letters that failed within the window and match the filter. */
  page(window: Window, filter: Filter, count: number): Page<DeadLetter> {
    const chunks = [...this.#chunks.values()];
    if (filter.state !== undefined) for (const chunk of chunks) chunk.noticeEnded();
    const search = searchFor(filter, this.#options.codes);
    return pageOf(chunks, { window, search, count, read: (chunk, at) => this.#letterAt(chunk, at)! });
  }

  /** Expiry is silent. */
  trim(now: number): void {
    const { dlqRetentionMs, dlqSize } = this.#limits();
    for (const letter of this.letters()) {
      if (letter.failedAt >= now - dlqRetentionMs && this.#size <= dlqSize) break;
      this.#remove(letter);
    }
  }

  #keep({ sequence, message, failedAt }: Omit<DeadLetter, 'dlqId'>): void {
    const index = Math.floor(sequence / STRETCH);
    const { codes } = this.#options;
    const chunk = getOrAdd(this.#chunks, index, () => new DeadLetterChunk(index * STRETCH, { codes }));
    chunk.add(sequence % STRETCH, { message, failedAt });
    this.#size++;
  }

  #remove(letter: DeadLetter): void {
    const index = Math.floor(letter.sequence / STRETCH);
    const chunk = this.#chunks.get(index)!;
    chunk.remove(letter.sequence % STRETCH);
    if (chunk.size === 0) this.#chunks.delete(index);
    this.#size--;
    this.#options.onRemoved?.(letter);
  }

  /** Does it where a message's letter is, if it has one here. */
  #at(message: Message, change: (chunk: DeadLetterChunk, at: number) => void): void {
    const letter = this.get(message.dlqId ?? '');
    if (letter?.message !== message) return;
    change(this.#chunks.get(Math.floor(letter.sequence / STRETCH))!, letter.sequence % STRETCH);
  }

  #letterAt(chunk: DeadLetterChunk, at: number): DeadLetter | undefined {
    const message = chunk.messages[at];
    if (message === undefined) return undefined;
    const sequence = chunk.first + at;
    const failedAt = chunk.times[at]!;
    return { dlqId: this.#idOf({ failedAt, sequence }), sequence, message, failedAt };
  }

  #idOf({ failedAt, sequence }: Pick<DeadLetter, 'failedAt' | 'sequence'>): string {
    return `${failedAt}-${this.#options.mark}${sequence}`;
  }
}

/**
 * A dead letter queue: messages that failed for good, in that order, until they are deleted, resumed, or older than the
 * retention, or too many: the oldest leave. An account has one for plain messages and one for workflow runs.
 */
import { places } from './column-scan.ts';
import {
  LetterChunk,
  LetterCodes,
  letterConditions,
  LETTERS,
  scanLetters,
  type LetterLookup,
} from './letter-columns.ts';
import type { LogCodes } from './log-chunk.ts';
import type { Message } from './message.ts';

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

/** Failed within [from, to], epoch milliseconds, and met by every lookup. */
export interface DeadLetterFilter {
  readonly lookups: readonly LetterLookup[];
  readonly from: number;
  readonly to: number;
}

export interface DeadLetterListing {
  readonly filter: DeadLetterFilter;
  readonly order: 'oldest' | 'newest';
  /** Only letters beyond this position, in the order of the listing. */
  readonly after: number | undefined;
  readonly count: number;
}

export interface DeadLetterPage {
  readonly rows: readonly DeadLetter[];
  /** The last row when more would follow. */
  readonly last?: DeadLetter;
}

interface DeadLetterOptions {
  /** Stands in the ids of this queue before the position: no digits. */
  readonly mark: string;
  /** Of the account's log. */
  readonly codes: LogCodes;
  readonly onAdded?: ((letter: DeadLetter) => void) | undefined;
  readonly onRemoved?: ((letter: DeadLetter) => void) | undefined;
}

export class DeadLetterQueue {
  readonly #limits: () => DeadLetterLimits;
  readonly #options: DeadLetterOptions;
  readonly #codes: LetterCodes;
  /** By position divided by their length, in order of failure; one that all letters left is not there. */
  readonly #chunks = new Map<number, LetterChunk>();
  #sequence = 0;
  #size = 0;

  constructor(limits: () => DeadLetterLimits, options: DeadLetterOptions) {
    this.#limits = limits;
    this.#options = options;
    this.#codes = new LetterCodes(options.codes);
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
    const chunk = this.#chunks.get(Math.floor(sequence / LETTERS));
    const letter = chunk && this.#letterAt(chunk, sequence);
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
    this.#at(message, (chunk, at) => chunk.rename(at, this.#codes));
  }

  /** After the failure function of a message has got its call: its letter is found by the state of that from now on. */
  noticed(message: Message): void {
    this.#at(message, (chunk, at) => chunk.notice(at));
  }

  /** Oldest first; a letter that is removed while somebody reads is not met again. */
  *letters(): Generator<DeadLetter> {
    for (const [index, chunk] of this.#chunks) {
      for (let at = 0; at < chunk.messages.length; at++) {
        const letter = this.#letterAt(chunk, index * LETTERS + at);
        if (letter !== undefined) yield letter;
      }
    }
  }

  /** The first `count` letters that the filter leaves, and the last of them when more would follow. */
  page({ filter, order, after, count }: DeadLetterListing): DeadLetterPage {
    const { from, to } = filter;
    const rows: DeadLetter[] = [];
    const conditions = letterConditions(filter.lookups, this.#codes);
    if (conditions === undefined) return { rows };
    const newest = order === 'newest';
    const begin = newest || after === undefined ? 0 : after + 1;
    const end = newest && after !== undefined ? after : Infinity;
    const indexes = [...this.#chunks.keys()];
    if (newest) indexes.reverse();
    for (const index of indexes) {
      const first = index * LETTERS;
      if (first + LETTERS <= begin || first >= end) continue;
      const chunk = this.#chunks.get(index)!;
      const found = scanLetters(chunk, conditions);
      for (let place = 0; place < found; place++) {
        const at = places[newest ? found - 1 - place : place]!;
        const failedAt = chunk.failedAt[at]!;
        if (failedAt < from || failedAt > to || first + at < begin || first + at >= end) continue;
        const letter = this.#letterAt(chunk, first + at);
        if (letter === undefined) continue;
        if (rows.length === count) return { rows, last: rows.at(-1)! };
        rows.push(letter);
      }
    }
    return { rows };
  }

  /** Expiry is silent. */
  trim(now: number): void {
    const { dlqRetentionMs, dlqSize } = this.#limits();
    for (const letter of this.letters()) {
      if (letter.failedAt >= now - dlqRetentionMs && this.#size <= dlqSize) break;
      this.#remove(letter);
    }
  }

  #keep(letter: Omit<DeadLetter, 'dlqId'>): void {
    const index = Math.floor(letter.sequence / LETTERS);
    let chunk = this.#chunks.get(index);
    if (chunk === undefined) this.#chunks.set(index, (chunk = new LetterChunk()));
    chunk.put(letter.sequence % LETTERS, letter, this.#codes);
    this.#size++;
  }

  #remove(letter: DeadLetter): void {
    const index = Math.floor(letter.sequence / LETTERS);
    const chunk = this.#chunks.get(index)!;
    chunk.remove(letter.sequence % LETTERS, this.#codes);
    if (chunk.size === 0) this.#chunks.delete(index);
    this.#size--;
    this.#options.onRemoved?.(letter);
  }

  /** Does it where a message's letter is, if it has one here. */
  #at(message: Message, change: (chunk: LetterChunk, at: number) => void): void {
    const letter = this.get(message.dlqId ?? '');
    if (letter?.message !== message) return;
    change(this.#chunks.get(Math.floor(letter.sequence / LETTERS))!, letter.sequence % LETTERS);
  }

  #letterAt(chunk: LetterChunk, sequence: number): DeadLetter | undefined {
    const at = sequence % LETTERS;
    const message = chunk.messages[at];
    if (message === undefined) return undefined;
    const failedAt = chunk.failedAt[at]!;
    return { dlqId: this.#idOf({ failedAt, sequence }), sequence, message, failedAt };
  }

  #idOf({ failedAt, sequence }: Pick<DeadLetter, 'failedAt' | 'sequence'>): string {
    return `${failedAt}-${this.#options.mark}${sequence}`;
  }
}

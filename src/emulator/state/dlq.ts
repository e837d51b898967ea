/**
 * A dead letter queue: permanently failed messages in the order of their failure. They stay until they are deleted,
 * resumed, or older than the retention. If there are too many, the oldest are removed. An account has one queue for
 * plain messages and one for workflow runs.
 */
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { STRETCH } from './column-scan.ts';
import { DeadLetterChunk } from './dead-letter-chunk.ts';
import type { Message } from './message.ts';
import { pageOf, searchFor, type Filter, type Page, type Window } from './search.ts';
import type { Codes } from './stretch.ts';

export interface DeadLetter {
  /** Time of the failure and position. It is unique in the account, across both queues. */
  readonly dlqId: string;
  /** Position that a cursor names. */
  readonly sequence: number;
  readonly message: Message;
  /** Time of the permanent failure, in epoch milliseconds. */
  readonly failedAt: number;
}

/** Limits of the plan. They are read at each use, because the plan may change. */
export interface DeadLetterLimits {
  readonly dlqRetentionMs: number;
  readonly dlqSize: number;
}

interface DeadLetterOptions {
  /** Prefix of the position in the ids of this queue. It has no digits. */
  readonly mark: string;
  /** Codes of the account's log. */
  readonly codes: Codes;
  readonly onAdded?: ((deadLetter: DeadLetter) => void) | undefined;
  readonly onRemoved?: ((deadLetter: DeadLetter) => void) | undefined;
}

export class DeadLetterQueue {
  readonly #limits: () => DeadLetterLimits;
  readonly #options: DeadLetterOptions;
  /** Chunks by position divided by their length, in order of failure. A chunk without dead letters is removed. */
  readonly #chunks = new Map<number, DeadLetterChunk>();
  #sequence = 0;
  #size = 0;

  constructor(limits: () => DeadLetterLimits, options: DeadLetterOptions) {
    this.#limits = limits;
    this.#options = options;
  }

  /** Position of the next dead letter. */
  get nextSequence(): number {
    return this.#sequence;
  }

  /** Loads dead letters of an earlier process, oldest first. */
  restore(deadLetters: Iterable<Omit<DeadLetter, 'dlqId'>>, nextSequence: number): void {
    for (const deadLetter of deadLetters) {
      this.#keep(deadLetter);
      deadLetter.message.dlqId = this.#idOf(deadLetter);
    }
    this.#sequence = nextSequence;
  }

  add(message: Message, now: number): DeadLetter {
    const sequence = this.#sequence++;
    const deadLetter = { dlqId: this.#idOf({ failedAt: now, sequence }), sequence, message, failedAt: now };
    this.#keep(deadLetter);
    this.#options.onAdded?.(deadLetter);
    this.trim(now);
    return deadLetter;
  }

  get size(): number {
    return this.#size;
  }

  get(dlqId: string): DeadLetter | undefined {
    const sequence = Number(/(?<!\d)\d+$/.exec(dlqId)?.[0]);
    const chunk = this.#chunks.get(Math.floor(sequence / STRETCH));
    const deadLetter = chunk && this.#deadLetterAt(chunk, sequence % STRETCH);
    return deadLetter?.dlqId === dlqId ? deadLetter : undefined;
  }

  remove(dlqId: string): boolean {
    const deadLetter = this.get(dlqId);
    if (deadLetter === undefined) return false;
    this.#remove(deadLetter);
    return true;
  }

  /** Updates the dead letter of a message, if any, after a change of the message's schedule or queue. */
  rename(message: Message): void {
    this.#at(message, (chunk, at) => chunk.rename(at));
  }

  /** Updates the dead letter of a message after its failure function was called. Filters then find it by that state. */
  noticed(message: Message): void {
    this.#at(message, (chunk, at) => chunk.notice(at));
  }

  /** Yields dead letters, oldest first. A dead letter that is removed during the iteration is skipped. */
  *deadLetters(): Generator<DeadLetter> {
    for (const chunk of this.#chunks.values()) {
      for (let at = 0; at < chunk.messages.length; at++) {
        const deadLetter = this.#deadLetterAt(chunk, at);
        if (deadLetter !== undefined) yield deadLetter;
      }
    }
  }

  /** Returns the first `count` dead letters that failed within the window and match the filter. */
  page(window: Window, filter: Filter, count: number): Page<DeadLetter> {
    const chunks = [...this.#chunks.values()];
    if (filter.state !== undefined) for (const chunk of chunks) chunk.noticeEnded();
    const search = searchFor(filter, this.#options.codes);
    return pageOf(chunks, { window, search, count, read: (chunk, at) => this.#deadLetterAt(chunk, at)! });
  }

  /** Removes expired dead letters silently. */
  trim(now: number): void {
    const { dlqRetentionMs, dlqSize } = this.#limits();
    for (const deadLetter of this.deadLetters()) {
      if (deadLetter.failedAt >= now - dlqRetentionMs && this.#size <= dlqSize) break;
      this.#remove(deadLetter);
    }
  }

  #keep({ sequence, message, failedAt }: Omit<DeadLetter, 'dlqId'>): void {
    const index = Math.floor(sequence / STRETCH);
    const { codes } = this.#options;
    const chunk = getOrAdd(this.#chunks, index, () => new DeadLetterChunk(index * STRETCH, { codes }));
    chunk.add(sequence % STRETCH, { message, failedAt });
    this.#size++;
  }

  #remove(deadLetter: DeadLetter): void {
    const index = Math.floor(deadLetter.sequence / STRETCH);
    const chunk = this.#chunks.get(index)!;
    chunk.remove(deadLetter.sequence % STRETCH);
    if (chunk.size === 0) this.#chunks.delete(index);
    this.#size--;
    this.#options.onRemoved?.(deadLetter);
  }

  /** Applies a change at the dead letter of a message, if this queue has it. */
  #at(message: Message, change: (chunk: DeadLetterChunk, at: number) => void): void {
    const deadLetter = this.get(message.dlqId ?? '');
    if (deadLetter?.message !== message) return;
    change(this.#chunks.get(Math.floor(deadLetter.sequence / STRETCH))!, deadLetter.sequence % STRETCH);
  }

  #deadLetterAt(chunk: DeadLetterChunk, at: number): DeadLetter | undefined {
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

/**
 * The message log of one account: an entry for each transition, in order of occurrence. Entries are in stretches with
 * known times. A window is therefore found, and old entries are dropped, without a check of each entry.
 */
import { STRETCH } from './column-scan.ts';
import { LogChunk, type LogEntry } from './log-chunk.ts';
import type { Message } from './message.ts';
import { pageOf, searchFor, type Filter, type Page, type Window } from './search.ts';
import { createCodes } from './stretch.ts';

export interface LogFilter extends Filter {
  /** Selects only the latest entry of each message. */
  readonly latest?: boolean | undefined;
  /** Selects only entries of messages that are in one of these states now. */
  readonly present?: ReadonlySet<string> | undefined;
}

export interface LogLimits {
  /** Retention of the plan. It is read at each use, because the plan may change. */
  readonly retentionMs: () => number;
  readonly maxEntries: number;
  readonly onLogged?: ((entry: LogEntry) => void) | undefined;
  /** Called for each dropped entry. */
  readonly onDropped: (entry: LogEntry) => void;
}

export class MessageLog {
  readonly #limits: LogLimits;
  /** Codes of the texts of the log and of the account's dead letters. */
  readonly codes = createCodes();
  /** All but the last chunk are full, so a sequence determines its chunk. */
  #chunks: LogChunk[] = [];
  #sequence = 0;
  #size = 0;

  constructor(limits: LogLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  append(entry: Omit<LogEntry, 'sequence'>): void {
    this.trim(entry.time);
    const whole = { ...entry, sequence: this.#sequence++ };
    this.#push(whole);
    this.#limits.onLogged?.(whole);
  }

  /** Updates the entries of a message after a change of its schedule or queue. */
  rename(message: Message): void {
    for (const chunk of this.#chunks) {
      chunk.messages.forEach((other, at) => {
        if (other === message) chunk.rename(at);
      });
    }
  }

  /** Position of the next entry. */
  get nextSequence(): number {
    return this.#sequence;
  }

  /** Loads entries of an earlier process into an empty log, oldest first and without gaps. */
  restore(entries: Iterable<LogEntry>, nextSequence: number): void {
    for (const entry of entries) this.#push(entry);
    this.#sequence = nextSequence;
  }

  /** Drops chunks whose every entry is past its retention, and the oldest ones while there are too many entries. */
  trim(now: number): void {
    let drop = 0;
    const since = this.keptSince(now);
    for (const chunk of this.#chunks) {
      const last = drop === this.#chunks.length - 1;
      const expired = chunk.latest < since;
      if (!expired && (last || this.#size <= this.#limits.maxEntries)) break;
      drop++;
      this.#size -= chunk.length;
      for (let at = 0; at < chunk.length; at++) {
        this.#limits.onDropped(chunk.entry(at));
        chunk.release(at);
      }
    }
    if (drop > 0) this.#chunks = this.#chunks.slice(drop);
  }

  /**
   * Returns the start of the retention in epoch milliseconds. Earlier entries have expired, though their chunk may
   * still be held.
   */
  keptSince(now: number): number {
    return now - this.#limits.retentionMs();
  }

  /**
   * Returns the first `count` entries of a window that match, and the last of them if more follow. Entries added
   * between two pages do not change the order: a position names the same place forever.
   */
  page(window: Window, filter: LogFilter, count: number): Page<LogEntry> {
    const { latest, present } = filter;
    const search = searchFor(filter, this.codes, [
      ...(latest === true ? [({ lastEntry }: Message, sequence: number) => lastEntry === sequence] : []),
      ...(present !== undefined ? [({ state }: Message) => present.has(state)] : []),
    ]);
    return pageOf(this.#chunks, { window, search, count, read: (chunk, at) => chunk.entry(at) });
  }

  #push(entry: LogEntry): void {
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || chunk.length === STRETCH) {
      chunk = new LogChunk(entry.sequence, this.codes);
      this.#chunks.push(chunk);
    }
    chunk.push(entry, this.#holdLabels(entry.message));
    entry.message.lastEntry = entry.sequence;
    this.#size++;
  }

  /** Uses the labels of the message's latest entry if it is here, so that an ended message need not be parsed. */
  #holdLabels(message: Message): number {
    const { lastEntry = -1 } = message;
    const chunk = this.#chunks[Math.floor((lastEntry - (this.#chunks[0]?.first ?? 0)) / STRETCH)];
    const at = lastEntry - (chunk?.first ?? 0);
    if (chunk?.messages[at] !== message) return this.codes.label.hold(message.delivery.labels);
    return this.codes.label.holdAgain(chunk.value('label', at));
  }
}

/**
 * The message log of one account: an entry for each transition, in the order in which they happened. Entries lie in
 * chunks that know their span of time, so that a window is found and old entries are dropped without looking at every
 * one. Filters are answered by looking through columns of numbers, where a chunk's sketch does not tell that it has
 * none of the values: at most a few milliseconds for a million entries whether many, few or none match.
 */
import { places } from './column-scan.ts';
import { CHUNK, COLUMN, LogChunk, type LogCodes, type LogEntry } from './log-chunk.ts';
import { conditionsOf, gather, keep, mayFit, type Condition, type LogFilter } from './log-filter.ts';
import type { Message } from './message.ts';
import { LabelCodes, ValueCodes } from './value-codes.ts';

export interface LogWindow {
  /** Epoch milliseconds, inclusive. */
  readonly from: number;
  /** Epoch milliseconds, inclusive. */
  readonly to: number;
  readonly order: 'newest' | 'oldest';
  /** Only entries beyond this position, in the order of the listing. */
  readonly after?: number | undefined;
}

export interface LogPage {
  readonly rows: readonly LogEntry[];
  /** The last row when more would follow. */
  readonly last?: LogEntry;
}

export interface LogLimits {
  /** Asked whenever it matters: it is the plan's, which may change. */
  readonly retentionMs: () => number;
  readonly maxEntries: number;
  readonly onLogged?: ((entry: LogEntry) => void) | undefined;
  /** Called for each entry that is dropped. */
  readonly onDropped: (entry: LogEntry) => void;
}

export class MessageLog {
  readonly #limits: LogLimits;
  /** Of what the log holds, and of nothing else. */
  readonly codes: LogCodes = {
    url: new ValueCodes(),
    topicName: new ValueCodes(),
    scheduleId: new ValueCodes(),
    queueName: new ValueCodes(),
    labels: new LabelCodes(),
  };
  /** All but the last are full: a sequence tells its chunk. */
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
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || chunk.length === CHUNK) {
      chunk = new LogChunk(this.#sequence);
      this.#chunks.push(chunk);
    }
    chunk.push(entry, { codes: this.codes, labels: this.#holdLabels(entry.message) });
    entry.message.lastEntry = this.#sequence;
    this.#limits.onLogged?.({ ...entry, sequence: this.#sequence });
    this.#sequence++;
    this.#size++;
  }

  /** Of what schedule or queue a message is has changed: its entries are found by that. */
  rename(message: Message): void {
    for (const chunk of this.#chunks) chunk.rename(message, this.codes);
  }

  /** Position of the next entry. */
  get nextSequence(): number {
    return this.#sequence;
  }

  /** Entries of an earlier process, oldest first and without gaps; into an empty log. */
  restore(entries: Iterable<LogEntry>, nextSequence: number): void {
    for (const entry of entries) {
      let chunk = this.#chunks.at(-1);
      if (chunk === undefined || chunk.length === CHUNK) {
        chunk = new LogChunk(entry.sequence);
        this.#chunks.push(chunk);
      }
      chunk.push(entry, { codes: this.codes, labels: this.#holdLabels(entry.message) });
      entry.message.lastEntry = entry.sequence;
      this.#size++;
    }
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
      for (let at = 0; at < chunk.length; at++) this.#limits.onDropped(chunk.entry(at));
      chunk.release(this.codes);
    }
    if (drop > 0) this.#chunks = this.#chunks.slice(drop);
  }

  /** Epoch milliseconds: entries before this moment are past their retention, though their chunk may still be held. */
  keptSince(now: number): number {
    return now - this.#limits.retentionMs();
  }

  /**
   * The first `count` entries of a window that match, and the last of them when more would follow. What is added
   * between two pages does not disturb the order: a position names the same place for ever.
   */
  page(window: LogWindow, filter: LogFilter, count: number): LogPage {
    const conditions = conditionsOf(filter, this.codes);
    const rows: LogEntry[] = [];
    if (conditions === undefined) return { rows };
    const newest = window.order === 'newest';
    const step = newest ? -1 : 1;
    for (let index = this.#firstChunk(window); ; index += step) {
      const chunk = this.#chunks[index];
      if (chunk === undefined) return { rows };
      if (chunk.latest < window.from || chunk.earliest > window.to) continue;
      if (!mayFit(conditions, chunk)) continue;
      const found = matching(chunk, window, conditions);
      for (let place = 0; place < found; place++) {
        if (rows.length === count) return { rows, last: rows.at(-1)! };
        rows.push(chunk.entry(places[newest ? found - 1 - place : place]!));
      }
    }
  }

  /** As its latest entry has them, when that is here: a message that has ended need not be read for it. */
  #holdLabels(message: Message): number {
    const { lastEntry = -1 } = message;
    const chunk = this.#chunks[Math.floor((lastEntry - (this.#chunks[0]?.first ?? 0)) / CHUNK)];
    const at = lastEntry - (chunk?.first ?? 0);
    if (chunk?.messages[at] !== message) return this.codes.labels.hold(message.delivery.labels);
    return this.codes.labels.holdAgain(chunk.code(COLUMN.labels, at));
  }

  /** Where a listing begins; no chunk is there when nothing lies beyond the cursor. */
  #firstChunk({ order, after }: LogWindow): number {
    const newest = order === 'newest';
    const last = this.#chunks.length - 1;
    if (after === undefined) return newest ? last : 0;
    const first = this.#chunks[0]?.first ?? 0;
    const index = Math.floor(((newest ? after - 1 : after + 1) - first) / CHUNK);
    return newest ? Math.min(index, last) : Math.max(index, 0);
  }
}

/** Writes the places of the entries that fit to `places`, oldest first; returns how many. */
function matching(chunk: LogChunk, window: LogWindow, conditions: readonly Condition[]): number {
  const { from, to, after, order } = window;
  const newest = order === 'newest';
  const begin = after === undefined || newest ? 0 : Math.max(0, after + 1 - chunk.first);
  const end = after === undefined || !newest ? chunk.length : Math.min(chunk.length, after - chunk.first);
  const whole = chunk.earliest >= from && chunk.latest <= to;
  const [first] = conditions;
  if (whole && begin === 0 && first !== undefined) {
    let count = gather(first, chunk, end);
    for (let index = 1; index < conditions.length && count > 0; index++) {
      count = keep(conditions[index]!, chunk, count);
    }
    return count;
  }
  let count = 0;
  for (let at = begin; at < end; at++) {
    const time = chunk.times[at]!;
    if (whole || (time >= from && time <= to)) places[count++] = at;
  }
  for (const condition of conditions) count = keep(condition, chunk, count);
  return count;
}

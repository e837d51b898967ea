/** The message log of one account: an entry for each transition, in order of occurrence. */
import type { Message, Outcome, State } from './message.ts';
import { fieldChecks, pageOf, type Filter, type Page, type Window } from './search.ts';

export interface LogEntry {
  /** Position that a cursor names. It increases by one with every entry of the account. */
  readonly sequence: number;
  /** Epoch milliseconds. */
  readonly time: number;
  readonly state: State;
  readonly message: Message;
  /** Epoch milliseconds; only on entries that wait for a delivery. */
  readonly nextDeliveryTime: number | undefined;
  /** Outcome of the attempt that this entry reports. */
  readonly outcome: Outcome | undefined;
}

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

/** Entries that are dropped together: each time, all others move. */
export const DROPPED_TOGETHER = 512;

export class MessageLog {
  readonly #limits: LogLimits;
  /** Oldest first, without gaps in their sequences. */
  readonly #entries: LogEntry[] = [];
  #sequence = 0;

  constructor(limits: LogLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.length;
  }

  append(entry: Omit<LogEntry, 'sequence'>): void {
    this.#trim(entry.time);
    const whole = { ...entry, sequence: this.#sequence++ };
    this.#push(whole);
    this.#limits.onLogged?.(whole);
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

  /**
   * Returns the start of the retention in epoch milliseconds. Earlier entries have expired, though they may still be
   * held.
   */
  keptSince(now: number): number {
    return now - this.#limits.retentionMs();
  }

  /**
   * Returns the first `count` entries of a window that match, and the last of them if more follow. Entries added
   * between two pages do not change the order: a position names the same place forever.
   */
  page(window: Window, filter: LogFilter, count: number): Page<LogEntry> {
    const { latest, present, state } = filter;
    const checks = fieldChecks(filter).map((check) => (entry: LogEntry) => check(entry.message));
    if (state !== undefined) checks.push((entry) => state.has(entry.state));
    if (latest === true) checks.push(({ message, sequence }) => message.lastEntry === sequence);
    if (present !== undefined) checks.push(({ message }) => present.has(message.state));
    return pageOf(this.#entries, { window, checks, count, timeOf: ({ time }) => time });
  }

  #push(entry: LogEntry): void {
    this.#entries.push(entry);
    entry.message.lastEntry = entry.sequence;
  }

  /** Drops entries that are past their retention, and the oldest ones if there are too many. */
  #trim(now: number): void {
    const entries = this.#entries;
    const since = this.keptSince(now);
    let drop = entries.length > this.#limits.maxEntries ? DROPPED_TOGETHER : 0;
    const isExpired = (at: number): boolean => (entries[at]?.time ?? Infinity) < since;
    if (isExpired(DROPPED_TOGETHER - 1)) while (isExpired(drop)) drop++;
    if (drop < DROPPED_TOGETHER) return;
    for (const entry of entries.splice(0, drop)) this.#limits.onDropped(entry);
  }
}

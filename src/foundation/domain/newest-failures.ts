/** Newest failed delivery of each of the messages that failed last. Bounded. */
import type { LogEntry } from './log-entry.ts';

/** Maximum number of messages. */
export const MOST_FAILURES = 100;

export class NewestFailures {
  #byMessage = new Map<string, LogEntry>();

  /** Adds an entry of a failed attempt or of the end without success. Entries arrive in any order. */
  add(entry: LogEntry): void {
    const known = this.#byMessage.get(entry.messageId);
    const isOlder = known !== undefined && (known.time > entry.time || (known.time === entry.time && isEnd(known)));
    if (isOlder) return;
    this.#byMessage.set(entry.messageId, entry);
    // Sorting is rare: each time, as many entries go as stay.
    if (this.#byMessage.size > 2 * MOST_FAILURES) {
      this.#byMessage = new Map(this.newest().map((one) => [one.messageId, one]));
    }
  }

  /** Returns the entries, newest first. */
  newest(): LogEntry[] {
    return [...this.#byMessage.values()].sort((a, b) => b.time - a.time).slice(0, MOST_FAILURES);
  }
}

function isEnd({ state }: LogEntry): boolean {
  return state === 'FAILED';
}

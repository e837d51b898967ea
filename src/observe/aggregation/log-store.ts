/**
 * Port for the state of the log aggregation. A commit is one transaction: entries read, counts added and the watermark become
 * durable together or not at all. A `kill -9` neither loses an entry nor counts one twice.
 *
 * State that every entry needs is in memory (`LogMemory`) and equals the stored state. `remember` updates it after the
 * commit.
 */
import type { KnownAttempts } from '#foundation/domain/ended-attempts.ts';
import type { MessageState } from '#foundation/domain/log-entry.ts';
import { KeySlices } from './keys.ts';
import type { MinuteSum } from './minute-sums.ts';
import type { SpansOfCommit } from './span-batch.ts';
import type { HistogramIncrement, Increment } from './totals.ts';

const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** Time that the sums of the log are kept, by their step, measured back from the watermark. */
export const SUMS_KEPT_MS: ReadonlyMap<number, number> = new Map([
  [MINUTE_MS, 25 * HOUR_MS],
  [HOUR_MS, 36 * 24 * HOUR_MS],
]);

/**
 * Entry mode of the log: `transitions` has an entry for each change of state, `present` has one entry for each message
 * with its current state. In the second mode, neither durations nor the number of messages in flight can be known.
 */
export type EntryMode = 'transitions' | 'snapshot';

export interface LogAggregationState {
  /** End of the counted log, in epoch milliseconds. Undefined before the first commit. */
  readonly watermark?: number;
  /** Epoch milliseconds. Every counted entry after this time is recognized when it is read again. */
  readonly keptFrom?: number;
  /**
   * Epoch milliseconds of a moment that the service's clock has certainly reached. A dated response or an entry proves
   * it. The watermark may be later, based on our clock alone.
   */
  readonly provenAt?: number;
  /** Epoch milliseconds of our clock when the last sweep for late entries ended, or when counting began. */
  readonly sweptAt?: number;
  /** Undefined until a delivered message has shown the mode. */
  readonly entryMode?: EntryMode;
  /** Milliseconds that the next window should cover; undefined if unknown. */
  readonly windowMs?: number;
  /** Sweep for late entries that the next run continues. */
  readonly sweep?: LogSweep;
}

/** Sweep for late entries. Times are epoch milliseconds. */
export interface LogSweep {
  /** Position where the sweep continues. */
  readonly at: number;
  readonly end: number;
  /** Start of the sweep, by our clock. */
  readonly since: number;
}

/** Message whose entries are not complete yet. */
export interface OpenMessage {
  readonly messageId: string;
  /** Epoch milliseconds. The message is abandoned when the watermark passes this time. */
  readonly expires: number;
  /** Label of the destination. It is known, together with `dueAt`, while the message is in flight. */
  readonly destination: string;
  /** Epoch milliseconds. Absent if the creation was not seen, and once the message has ended. */
  readonly createdAt?: number;
  /** Epoch milliseconds when the message became or becomes due. Absent once the message has ended. */
  readonly dueAt?: number;
  /** Known facts about the message, in the aggregation's encoding. */
  readonly record: string;
}

export interface LogCommit extends LogAggregationState {
  readonly account: string;
  readonly watermark: number;
  readonly keptFrom: number;
  readonly increments: readonly Increment[];
  readonly histograms?: readonly HistogramIncrement[];
  /** Sums of the counted entries, by the minute of their own time. */
  readonly minutes?: readonly MinuteSum[];
  /** Keys of the counted entries. The commit passes their ownership to the store. */
  readonly seen?: KeySlices;
  /** Keys of the ids of messages that ended and are complete. The commit passes their ownership to the store. */
  readonly ended?: KeySlices;
  readonly opened?: readonly OpenMessage[];
  /** Messages that can be forgotten. */
  readonly closed?: readonly string[];
  /** Spans to send. */
  readonly spans?: SpansOfCommit;
  /** Delivery events to write to the log. */
  readonly lines?: readonly string[];
  /** Ended attempts of the entries. `from` is the start of the window. */
  readonly attempts?: Pick<KnownAttempts, 'from' | 'attempts'>;
}

/** In-memory part of an open message. */
export interface InFlight {
  readonly destination: string;
  readonly createdAt: number | undefined;
  readonly dueAt: number | undefined;
}

export class LogMemory {
  readonly seen = new KeySlices(MINUTE_MS);
  readonly ended = new KeySlices(5 * MINUTE_MS);
  readonly open = new Map<string, InFlight>();
  /** Remembered messages whose root span was sent while they were open. */
  readonly leftOpen = new Set<string>();
  state: LogAggregationState = {};
  /** Watermark of the last write. If it failed, the next one may come later. */
  writtenTo = -Infinity;

  /** Applies a commit to the memory. */
  remember(commit: LogCommit): void {
    const { keptFrom, seen, ended, opened = [], closed = [], spans } = commit;
    this.state = stateAfter(this.state, commit);
    if (seen !== undefined) this.seen.absorb(seen, keptFrom);
    if (ended !== undefined) this.ended.absorb(ended, keptFrom);
    this.seen.forgetBefore(keptFrom);
    this.ended.forgetBefore(keptFrom);
    for (const { messageId, destination, createdAt, dueAt } of opened) {
      this.open.set(messageId, { destination, createdAt, dueAt });
    }
    for (const messageId of spans?.leftOpen ?? []) this.leftOpen.add(messageId);
    for (const messageId of closed) {
      this.open.delete(messageId);
      this.leftOpen.delete(messageId);
    }
  }
}

/** Returns the state after a commit. A commit may leave out the last sweep and the entry mode. */
function stateAfter(before: LogAggregationState, commit: LogCommit): LogAggregationState {
  const { watermark, keptFrom, provenAt, windowMs, sweep } = commit;
  const { sweptAt = before.sweptAt, entryMode = before.entryMode } = commit;
  return { watermark, keptFrom, provenAt, sweptAt, entryMode, windowMs, sweep };
}

/** Returns the end of the certainly counted part of the log, regardless of our clock. */
export function surelyCounted({ watermark, provenAt = watermark }: Pick<LogCommit, 'watermark' | 'provenAt'>): number {
  return Math.min(watermark, provenAt);
}

export interface LogAggregationStore {
  loadLogState(account: string): Promise<LogAggregationState>;
  /** Returns the state in memory of an account. The store owns it. */
  memory(account: string): Promise<LogMemory>;
  /** Returns the records of the given messages that are open. */
  openRecords(account: string, messageIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Returns open messages that expire before `before` (epoch milliseconds), the first to expire first. */
  expired(account: string, before: number, limit: number): Promise<readonly ExpiredMessage[]>;
  /** Rejects if the write fails; nothing is written then. */
  commitLog(commit: LogCommit): Promise<void>;
  /**
   * Returns the entries counted so far, by hour and state. The counts of an hour are final once the watermark has passed
   * the hour by the maximum lateness of entries. Only the newest hours with entries are in the map.
   */
  hourCounts(account: string): Promise<HourCounts>;
  /** Returns the ended attempts of the last hours. Undefined if none were counted. */
  attempts(account: string): Promise<KnownAttempts | undefined>;
}

export type ExpiredMessage = Pick<OpenMessage, 'messageId' | 'record'>;

/** Counts of entries by the start of their hour, in epoch milliseconds, and by state. */
export type HourCounts = ReadonlyMap<number, ReadonlyMap<MessageState, number>>;

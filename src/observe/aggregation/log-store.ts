/**
 * The port through which the fold of the log keeps its state. A commit is one transaction: what was read, what it added
 * and how far reading has come are true together or not at all, so a `kill -9` neither loses nor doubles an entry.
 *
 * What must be asked for every entry is held in memory (`LogMemory`) and is the same as what the store has: it changes
 * after the commit, by `remember`.
 */
import type { MessageState } from '#foundation/domain/log-entry.ts';
import { KeySlices } from './keys.ts';
import type { SpansOfCommit } from './span-batch.ts';
import type { HistogramIncrement, Increment } from './totals.ts';

const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** How long the entries of an hour stay counted apart, behind the watermark. */
export const HOURS_KEPT_MS = 72 * HOUR_MS;

/**
 * What the log tells: an entry for each change of state, or one for each message with its present state. Of the second
 * kind no duration and no number in flight can be known.
 */
export type LogForm = 'transitions' | 'present';

export interface LogFoldState {
  /** Epoch milliseconds: the log is counted up to here. Undefined before the first commit. */
  readonly watermark?: number;
  /** Epoch milliseconds: from here on every counted entry is recognised when it is read again. */
  readonly keptFrom?: number;
  /**
   * Epoch milliseconds: the service surely reached this moment. A dated answer or an entry proved it. The watermark may
   * be later, where only our clock says so.
   */
  readonly provenAt?: number;
  /** Epoch milliseconds of our clock when the last sweep for late entries ended, or counting began. */
  readonly sweptAt?: number;
  /** Undefined until a delivered message has shown it. */
  readonly form?: LogForm;
  /** Milliseconds that the next window should cover; undefined while that is not known. */
  readonly windowMs?: number;
  /** A search for late entries that the next run continues. */
  readonly sweep?: LogSweep;
}

/** A search for late entries; epoch milliseconds. */
export interface LogSweep {
  /** Where it continues. */
  readonly at: number;
  readonly end: number;
  /** When it began, by our clock. */
  readonly since: number;
}

/** A message of which something is still to come. */
export interface OpenMessage {
  readonly messageId: string;
  /** Epoch milliseconds: given up on when the watermark has passed this. */
  readonly expires: number;
  /** Its label; with `dueAt` known while it is in flight. */
  readonly destination: string;
  /** Epoch milliseconds; absent when its creation was not seen, and once the message has ended. */
  readonly createdAt?: number;
  /** Epoch milliseconds when it became or becomes due; absent once the message has ended. */
  readonly dueAt?: number;
  /** What is known of it, as the fold writes it. */
  readonly record: string;
}

/** Entries that were counted, by the hour of their own time. */
export interface HourCount {
  /** Epoch milliseconds at which the hour begins. */
  readonly hour: number;
  readonly state: MessageState;
  readonly count: number;
}

export interface LogCommit extends LogFoldState {
  readonly account: string;
  readonly watermark: number;
  readonly keptFrom: number;
  readonly increments: readonly Increment[];
  readonly histograms?: readonly HistogramIncrement[];
  readonly hours?: readonly HourCount[];
  /** Keys of the entries that were counted; with the commit they are the store's. */
  readonly seen?: KeySlices;
  /** Keys of the ids of messages that ended and of which nothing is missing; likewise. */
  readonly ended?: KeySlices;
  readonly opened?: readonly OpenMessage[];
  /** Messages that need no longer be remembered. */
  readonly closed?: readonly string[];
  /** What is to be sent of it. */
  readonly spans?: SpansOfCommit;
  /** What log pipelines are to be told of it. */
  readonly lines?: readonly string[];
}

/** What of an open message is held in memory. */
export interface InFlight {
  readonly destination: string;
  readonly createdAt: number | undefined;
  readonly dueAt: number | undefined;
}

export class LogMemory {
  readonly seen = new KeySlices(MINUTE_MS);
  readonly ended = new KeySlices(5 * MINUTE_MS);
  readonly open = new Map<string, InFlight>();

  /** Takes over what was committed. */
  remember({ keptFrom, seen, ended, opened = [], closed = [] }: LogCommit): void {
    if (seen !== undefined) this.seen.absorb(seen, keptFrom);
    if (ended !== undefined) this.ended.absorb(ended, keptFrom);
    this.seen.forgetBefore(keptFrom);
    this.ended.forgetBefore(keptFrom);
    for (const { messageId, destination, createdAt, dueAt } of opened) {
      this.open.set(messageId, { destination, createdAt, dueAt });
    }
    for (const messageId of closed) this.open.delete(messageId);
  }
}

/** Returns the moment up to which the log is surely counted, whatever our clock said. */
export function surelyCounted({ watermark, provenAt = watermark }: Pick<LogCommit, 'watermark' | 'provenAt'>): number {
  return Math.min(watermark, provenAt);
}

export interface LogFoldStore {
  loadLogState(account: string): LogFoldState;
  /** What is remembered for an account; its owner is the store. */
  memory(account: string): LogMemory;
  /** The records of those messages that are open. */
  openRecords(account: string, messageIds: readonly string[]): ReadonlyMap<string, string>;
  /** Open messages that expire before `before` (epoch milliseconds), the first to expire first. */
  expired(account: string, before: number, limit: number): readonly Pick<OpenMessage, 'messageId' | 'record'>[];
  commitLog(commit: LogCommit): void;
  /**
   * Entries of an hour that are counted so far, by state: all there will be once the watermark has passed the hour by
   * as much as entries come late. Empty for an hour longer ago than 72 hours.
   *
   * @param hour epoch milliseconds at which it begins
   */
  hourCounts(account: string, hour: number): ReadonlyMap<MessageState, number>;
}

/**
 * Port for delivery spans, kept until their receiver has acknowledged them. The transaction of the aggregation stores them as
 * the bytes to send. They are removed after the acknowledgement. After a crash in between, the same bytes are sent
 * again, and no committed span is lost.
 *
 * The absence of a batch records its acknowledgement. No list of sent spans is needed: the aggregation recognizes entries that
 * it has seen, so no span is made twice.
 */
import type { EntryMode, LogMemory, OpenMessage } from './log-store.ts';
import type { MessageProgress } from './message-trace.ts';
import type { SpanBatch, SpansOfCommit } from './span-batch.ts';

interface StoredBatch extends SpanBatch {
  readonly id: number;
  readonly account: string;
}

export interface SpanOutbox {
  /** Returns the remembered messages whose root span was sent while they were open. The store owns the set. */
  leftOpen(account: string): ReadonlySet<string>;
  /** Returns the oldest batch after `after`, or the oldest of all. */
  next(after?: number): StoredBatch | undefined;
  /** Removes batches durably, in one transaction. They were acknowledged, or never will be. */
  settle(ids: readonly number[]): void;
  /** Returns the number of stored spans, and when their oldest batch was made. */
  queued(): { readonly spans: number; readonly oldestAt?: number };
  /** Registers a listener that is called after each commit that added batches. */
  onStored(listener: () => void): Disposable;
}

/** Facts of one commit that spans are made from. */
export interface CommitFacts {
  readonly account: string;
  /** Epoch milliseconds: the log was counted up to `from`, and is counted up to `watermark` with this commit. */
  readonly from: number;
  readonly watermark: number;
  readonly entryMode: EntryMode | undefined;
  /** News about each message that the commit touches. */
  readonly progress: readonly MessageProgress[];
  /** Messages in flight before this commit. */
  readonly open: LogMemory['open'];
  /** Messages in flight after this commit, and messages that are forgotten. */
  readonly opened: readonly OpenMessage[];
  readonly closed: readonly string[];
  /** Returns the known facts about messages in flight, including this commit. */
  readonly progressOf: (messageIds: readonly string[]) => readonly MessageProgress[];
}

/** Makes the spans of a commit. It never throws, and its result must be committed. */
export type SpanSource = (facts: CommitFacts) => SpansOfCommit;

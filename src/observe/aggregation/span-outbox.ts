/**
 * The port through which spans of deliveries are kept until their receiver has acknowledged them. They are written in
 * the transaction of the fold that learnt what they tell, as the bytes that go out, and taken out after the
 * acknowledgement: a crash in between sends the same bytes again, and nothing that was committed is lost on the way.
 *
 * That a batch is no longer here is the record of its acknowledgement. No list of what was sent is needed beside it: the
 * fold recognises entries it has seen, so no span is made twice.
 */
import type { LogForm, LogMemory, OpenMessage } from './log-store.ts';
import type { MessageProgress } from './message-trace.ts';
import type { SpanBatch, SpansOfCommit } from './span-batch.ts';

interface StoredBatch extends SpanBatch {
  readonly id: number;
  readonly account: string;
}

export interface SpanOutbox {
  /** Messages still remembered whose root went out while they were open; its owner is the store. */
  leftOpen(account: string): ReadonlySet<string>;
  /** The oldest batch behind `after`, or of all. */
  next(after?: number): StoredBatch | undefined;
  /** The batches were acknowledged, or will never be: durably gone, in one transaction. */
  settle(ids: readonly number[]): void;
  /** Spans that are kept, and when the oldest batch of them was made. */
  waiting(): { readonly spans: number; readonly oldestAt?: number };
  /** Told after each commit that brought batches. */
  onStored(listener: () => void): Disposable;
}

/** What spans are made of: what one commit made known. */
export interface CommitFacts {
  readonly account: string;
  /** Epoch milliseconds: the log was counted up to `from`, and is up to `watermark` with this commit. */
  readonly from: number;
  readonly watermark: number;
  readonly form: LogForm | undefined;
  /** What became known of each message that the commit touches. */
  readonly progress: readonly MessageProgress[];
  /** The messages in flight before this commit. */
  readonly open: LogMemory['open'];
  /** Messages that are in flight after this commit, and those that are no longer remembered. */
  readonly opened: readonly OpenMessage[];
  readonly closed: readonly string[];
  /** What is known of messages in flight, this commit included. */
  readonly progressOf: (messageIds: readonly string[]) => readonly MessageProgress[];
}

/** Makes the spans of a commit; it never throws, and what it gives must be committed. */
export type SpanSource = (facts: CommitFacts) => SpansOfCommit;

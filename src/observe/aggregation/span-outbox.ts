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

export interface StoredBatch extends SpanBatch {
  readonly id: number;
  readonly account: string;
}

export interface SpanOutbox {
  /** Returns the oldest batch after `after`, or the oldest of all. */
  next(after?: number): Promise<StoredBatch | undefined>;
  /** Removes batches durably, in one transaction. They were acknowledged, or never will be. */
  settle(ids: readonly number[]): Promise<void>;
  /** Returns the number of spans that are stored or being stored, and when their oldest batch was made. */
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
  /** Messages in flight before this commit, and those whose root span was sent while they were open. */
  readonly open: LogMemory['open'];
  readonly leftOpen: LogMemory['leftOpen'];
  /** Messages in flight after this commit, and messages that are forgotten. */
  readonly opened: readonly OpenMessage[];
  readonly closed: readonly string[];
}

/** News about the messages of a commit. */
interface CommitNews {
  /** News about each message that the commit touches. */
  readonly progress: readonly MessageProgress[];
  /** Known facts about the messages that `due` returned, including this commit. */
  readonly due: readonly MessageProgress[];
  /** Failed runs that were resumed as runs of these messages, by the id of the new run. */
  readonly failedRuns: ReadonlyMap<string, string>;
}

/**
 * Makes the spans of a commit. It never throws. `make` counts on the present queue, so its result must be committed at
 * once, without a wait.
 */
export interface SpanSource {
  /** Returns the messages that have been open for too long as of this commit. */
  due(facts: CommitFacts): readonly string[];
  /** Reads `failedRuns`. It never rejects. */
  failedRuns(account: string, messages: readonly MessageProgress[]): Promise<ReadonlyMap<string, string>>;
  make(facts: CommitFacts, news: CommitNews): SpansOfCommit;
}

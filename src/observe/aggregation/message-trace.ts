/**
 * What the log tells of one message, and what of it became known in one commit: which spans and lines are made of.
 * Times are epoch milliseconds.
 */
import type { Postponement } from '#foundation/domain/log-entry.ts';
import type { FailureReason } from '#foundation/domain/reason.ts';

export interface AttemptTrace {
  /** When it was to begin: the message's own due time, or the delivery time that the failure before it announced. */
  readonly dueAt?: number;
  /** When a worker took the message; absent when that entry was never seen. */
  readonly startedAt?: number;
  /** When the attempt's outcome was logged. */
  readonly endedAt: number;
  readonly responseStatus?: number;
  /** Absent for the attempt that delivered. */
  readonly failure?: FailureReason;
}

export type MessageOutcome = 'delivered' | 'failed' | 'cancelled';

/** What describes a message: the same in all its entries, though not every entry says all of it. */
export interface MessageDescription {
  readonly url?: string;
  readonly topicName?: string;
  readonly queueName?: string;
  readonly method?: string;
  readonly workflowRunId?: string;
  /** As the producer sent it; the exporter parses it strictly. */
  readonly traceparent?: string;
  readonly postponedBy?: Postponement;
}

/**
 * A message that a commit touched: all that is known of it then, and which part of that was not known before. What is
 * known may be a part: entries from before the first commit were never read, and those of a message that ended are
 * remembered only as long as something may be missing.
 */
export interface MessageProgress extends MessageDescription {
  readonly account: string;
  readonly messageId: string;
  /** Absent when that entry was not seen, or not yet. */
  readonly createdAt?: number;
  /** When it was first to be delivered: `createdAt`, or later when it was delayed. Absent as `createdAt` is. */
  readonly dueAt?: number;
  /** Attempts whose outcome is known, in order. */
  readonly attempts: readonly AttemptTrace[];
  /** When the attempt that is under way began. */
  readonly activeSince?: number;
  readonly end?: { readonly at: number; readonly outcome: MessageOutcome };
  readonly news: {
    readonly created: boolean;
    /** Positions in `attempts` of those whose outcome, or whose beginning, was not known before. */
    readonly attempts: readonly number[];
    /** Positions in `attempts` of those whose outcome was not known before. */
    readonly outcomes: readonly number[];
    readonly ended: boolean;
    /** It had ended before, and is not remembered: what stands here is a part, and nothing of it is new. */
    readonly isPast?: true;
  };
}

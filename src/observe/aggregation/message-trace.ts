/**
 * Facts that the log has about one message, and those that one commit added. Spans and delivery events are made from
 * them. Times are epoch milliseconds.
 */
import type { Postponement } from '#foundation/domain/log-entry.ts';
import type { FailureReason } from '#foundation/domain/reason.ts';

export interface AttemptTrace {
  /** Scheduled start: the message's own due time, or the delivery time that the previous failure announced. */
  readonly dueAt?: number;
  /** Time when a worker took the message. Absent if that entry was never seen. */
  readonly startedAt?: number;
  /** Time when the outcome of the attempt was logged. */
  readonly endedAt: number;
  readonly responseStatus?: number;
  /** Absent for the attempt that delivered. */
  readonly failure?: FailureReason;
}

export type MessageOutcome = 'delivered' | 'failed' | 'cancelled';

/** Description of a message. It is the same in all entries, but not every entry has all fields. */
export interface MessageDescription {
  readonly url?: string;
  readonly topicName?: string;
  readonly queueName?: string;
  readonly method?: string;
  readonly workflowRunId?: string;
  /** Traceparent as sent by the producer. The exporter validates it strictly. */
  readonly traceparent?: string;
  readonly postponedBy?: Postponement;
}

/**
 * Message that a commit touched: all facts known at the commit, and which of them are new. The facts may be incomplete.
 * Entries from before the first commit were never read, and an ended message is remembered only while entries may be
 * missing.
 */
export interface MessageProgress extends MessageDescription {
  readonly account: string;
  readonly messageId: string;
  /** Absent if that entry was not seen, or not yet. */
  readonly createdAt?: number;
  /**
   * Time of the first scheduled delivery: `createdAt`, or later if the message was delayed. Absent if `createdAt` is.
   */
  readonly dueAt?: number;
  /** Attempts whose outcome is known, in order. */
  readonly attempts: readonly AttemptTrace[];
  /** Start of the current attempt. */
  readonly activeSince?: number;
  readonly end?: { readonly at: number; readonly outcome: MessageOutcome };
  readonly news: {
    readonly created: boolean;
    /** Positions in `attempts` whose outcome or start is new. */
    readonly attempts: readonly number[];
    /** Positions in `attempts` whose outcome is new. */
    readonly outcomes: readonly number[];
    readonly ended: boolean;
    /** True if the message had ended and was forgotten. The facts here are incomplete, and none of them is new. */
    readonly isPast?: true;
  };
}

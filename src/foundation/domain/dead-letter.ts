/** A message in the DLQ, as a failure callback told of it: no operation lists them. Bodies stay at the parser. */

export interface DeadLetter {
  readonly account: string;
  readonly dlqId: string;
  readonly messageId: string;
  /** Epoch milliseconds: when the callback came. */
  readonly learnedAt: number;
  /** Epoch milliseconds: when the message was created. */
  readonly createdAt?: number;
  readonly url?: string;
  readonly topicName?: string;
  readonly scheduleId?: string;
  readonly retried?: number;
  /** Status of the last attempt; absent when there was no answer. */
  readonly status?: number;
  readonly labels: readonly string[];
}

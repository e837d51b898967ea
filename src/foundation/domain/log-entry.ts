/** One entry of the service's message log (interface 2.3): a message at one moment of its life. */

export const MESSAGE_STATES = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'ERROR',
  'DELIVERED',
  'FAILED',
  'CANCEL_REQUESTED',
  'CANCELLED',
] as const;

export type MessageState = (typeof MESSAGE_STATES)[number];

export type Postponement = 'delay' | 'not_before';

export interface LogEntry {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly messageId: string;
  /** Absent where the service does not send it; then only the filter of the query knows. */
  readonly state?: MessageState;
  readonly url?: string;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly queueName?: string;
  readonly scheduleId?: string;
  readonly method?: string;
  readonly error?: string;
  /** HTTP status of the attempt this entry tells of. */
  readonly responseStatus?: number;
  /** Epoch milliseconds. */
  readonly nextDeliveryTime?: number;
  readonly maxRetries?: number;
  /** Union of `label` and `labels`. */
  readonly labels: readonly string[];
  /** W3C traceparent of the producer, from the forwarded headers, as it was sent (not validated). */
  readonly traceparent?: string;
  readonly flowControlKey?: string;
  readonly workflowRunId?: string;
  /** By what the publisher put off the first attempt; absent when the entry does not carry that header. */
  readonly postponedBy?: Postponement;
}

/** A row of the log that could not be parsed, as far as it can be recognized when it is listed again. */
export interface InvalidLogRow {
  /** Epoch milliseconds; absent if that is what could not be parsed. */
  readonly time?: number;
  /** The same text for the same row, and for no other. */
  readonly identity: string;
}

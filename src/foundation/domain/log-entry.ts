/** Entry of the service's message log (interface 2.3): a message at one moment of its life. */

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

/** Order of the states that a message can pass through within one millisecond. */
export const STATE_ORDER = [
  'CREATED',
  'ACTIVE',
  'ERROR',
  'RETRY',
  'CANCEL_REQUESTED',
  'DELIVERED',
  'FAILED',
  'CANCELLED',
] as const satisfies readonly MessageState[];

export type Postponement = 'delay' | 'not_before';

/** Values of the log's filter `state`. */
export const LOG_STATES = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'ERROR',
  'IN_PROGRESS',
  'DELIVERED',
  'CANCEL_REQUESTED',
  'CANCELLED',
] as const satisfies readonly (Exclude<MessageState, 'FAILED'> | 'IN_PROGRESS')[];

export interface LogEntry {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly messageId: string;
  /** Absent if the service does not send it. The state then follows from the filter of the query. */
  readonly state?: MessageState;
  readonly url?: string;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly queueName?: string;
  readonly scheduleId?: string;
  readonly method?: string;
  readonly error?: string;
  /** HTTP status of the attempt that this entry reports. */
  readonly responseStatus?: number;
  /** True if the entry has headers of the response: the destination, or a proxy in front of it, sent one. */
  readonly hasResponse?: true;
  /** Epoch milliseconds. */
  readonly nextDeliveryTime?: number;
  readonly maxRetries?: number;
  /** Union of `label` and `labels`. */
  readonly labels: readonly string[];
  /** W3C traceparent of the producer from the forwarded headers, as sent (not validated). */
  readonly traceparent?: string;
  readonly flowControlKey?: string;
  readonly workflowRunId?: string;
  /** Setting that postponed the first attempt. Absent if the entry does not have that header. */
  readonly postponedBy?: Postponement;
}

/** Invalid row of the log, with the facts that identify it when it is listed again. */
export interface InvalidLogRow {
  /** Epoch milliseconds; absent if the time is the invalid part. */
  readonly time?: number;
  /** Text that is the same for the same row, and unique to it. */
  readonly identity: string;
}

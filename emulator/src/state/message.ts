/**
 * A message of the embedded service: its request (shared by all messages of one publish) and its results. Log and DLQ
 * entries refer to the record. JSON is built at each read.
 */

export const STATES = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'ERROR',
  'DELIVERED',
  'FAILED',
  'CANCEL_REQUESTED',
  'CANCELLED',
] as const;
export type State = (typeof STATES)[number];

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

export type HeaderPair = readonly [name: string, value: string];

export interface RetryDelayExpression {
  readonly source: string;
  /** Returns milliseconds. */
  readonly evaluate: (retried: number) => number;
}

export interface FlowControlSetting {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Milliseconds; set when a rate is set. */
  readonly periodMs?: number;
}

export interface CallbackSetting {
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  readonly method: Method;
  readonly timeoutMs?: number;
  readonly retries?: number;
  readonly retryDelay?: RetryDelayExpression;
  readonly delayMs: number;
}

export interface Redaction {
  readonly body: boolean;
  /** True for all headers, else lower-case names. */
  readonly headers: true | ReadonlySet<string>;
}

/** Delivery settings of a message. */
export interface Delivery {
  readonly method: Method;
  readonly body: Uint8Array;
  /** Headers for the destination: the content type and the forwarded headers. */
  readonly headers: readonly HeaderPair[];
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly retryDelay?: RetryDelayExpression;
  readonly labels: readonly string[];
  readonly flowControl?: FlowControlSetting;
  readonly callback?: CallbackSetting;
  readonly failureCallback?: CallbackSetting;
  readonly redaction?: Redaction;
  readonly callerIp: string;
}

/** Outcome of one delivery attempt. */
export interface Outcome {
  readonly delivered: boolean;
  /** Absent when there was no response. */
  readonly status?: number;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Body of the response. The record keeps at most the first 64 kB; a callback contains as much as the plan allows. */
  readonly body: Uint8Array;
  /** Absent when delivered. */
  readonly error?: string;
  /** True if nothing was sent, and nothing will be: the account's quota is exhausted. */
  readonly unsent?: true;
}

export interface WorkflowRunRef {
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

export interface Message {
  readonly id: string;
  readonly accountId: string;
  readonly url: string;
  readonly delivery: Delivery;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Earliest delivery, in epoch milliseconds. */
  readonly notBefore: number;
  readonly topicName?: string | undefined;
  readonly endpointName?: string | undefined;
  scheduleId?: string | undefined;
  queueName?: string | undefined;
  readonly workflow?: WorkflowRunRef | undefined;
  state: State;
  /** Number of delivery attempts begun. */
  attempts: number;
  cancelRequested: boolean;
  /** Sequence of its latest log entry. */
  lastEntry?: number | undefined;
  lastOutcome?: Outcome | undefined;
  /** Set when the message entered a DLQ, and kept after its removal. */
  dlqId?: string | undefined;
  /** The message that reports this message's permanent failure. */
  failureNotice?: Message | undefined;
}

/** A permanently failed message in a dead letter queue. */
export interface DeadMessage {
  /** Time of the failure and position. It is unique in the account, across both queues. */
  readonly dlqId: string;
  /** Position that a cursor names. */
  readonly sequence: number;
  readonly message: Message;
  /** Time of the permanent failure, in epoch milliseconds. */
  readonly failedAt: number;
}

/** @param attempt 1 for the first */
export function attemptId(messageId: string, attempt: number): string {
  return `${messageId}.${attempt}`;
}

/** Returns true for final states, which a message never leaves. */
export function isTerminal(state: State): boolean {
  return state === 'DELIVERED' || state === 'FAILED' || state === 'CANCELLED';
}

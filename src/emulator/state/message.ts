/**
 * A message of the embedded service: what was asked for (shared by all messages of one publish) and what became of
 * it. Log and DLQ entries refer to the record; JSON is made when somebody reads.
 */

export type State =
  | 'CREATED'
  | 'ACTIVE'
  | 'RETRY'
  | 'ERROR'
  | 'DELIVERED'
  | 'FAILED'
  | 'CANCEL_REQUESTED'
  | 'CANCELLED';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

export type HeaderPair = readonly [name: string, value: string];

export interface RetryDelayExpression {
  readonly source: string;
  /** Milliseconds. */
  readonly evaluate: (retried: number) => number;
}

export interface FlowControlSetting {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Milliseconds; given when a rate is. */
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

/** How a message is to be delivered. */
export interface Delivery {
  readonly method: Method;
  readonly body: Uint8Array;
  /** What the destination gets: the content type and the forwarded headers. */
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

/** How one delivery attempt ended. */
export interface Outcome {
  readonly delivered: boolean;
  /** Absent when there was no answer. */
  readonly status?: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** What is remembered is at most the first 64 kB; a callback is told as much as the plan allows. */
  readonly body: Uint8Array;
  /** Absent when delivered. */
  readonly error?: string;
  /** Nothing was sent, and nothing will be: the account's quota is exhausted. */
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
  /** Of a message that has ended it may be made anew each time: ask once. */
  readonly delivery: Delivery;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Epoch milliseconds: not delivered before. */
  readonly notBefore: number;
  readonly topicName?: string | undefined;
  readonly endpointName?: string | undefined;
  scheduleId?: string | undefined;
  queueName?: string | undefined;
  readonly workflow?: WorkflowRunRef | undefined;
  state: State;
  /** Delivery attempts begun. */
  attempts: number;
  cancelRequested: boolean;
  /** Sequence of its latest log entry. */
  lastEntry?: number | undefined;
  lastOutcome?: Outcome | undefined;
  /** Set when the message entered a DLQ, and kept when it left again. */
  dlqId?: string | undefined;
  /** The message that tells of this one's final failure. */
  failureNotice?: Message | undefined;
}

/** @param attempt 1 for the first */
export function attemptId(messageId: string, attempt: number): string {
  return `${messageId}.${attempt}`;
}

/** Where a message ends: it never leaves these states. */
export function isTerminal(state: State): boolean {
  return state === 'DELIVERED' || state === 'FAILED' || state === 'CANCELLED';
}

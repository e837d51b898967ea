/** Fields of entries that expressions can read, their types, and which of them may be absent. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { parseStamp } from '#foundation/domain/lineage.ts';
import {
  FAILURE_CAUSES,
  FAILURE_REASONS,
  failureCause,
  failureReason,
  type FailureCause,
  type FailureReason,
} from '#foundation/domain/reason.ts';
import { FAILURE_FUNCTION_STATES, type WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';

/** Field that an expression can read: its type, and whether it can be absent. */
export interface FactField {
  /** The type's name in the expression language. */
  readonly type: string;
  /** True if the field can be absent: an expression must check `has()` first. */
  readonly optional: boolean;
  /** All values of the text; absent if any text is possible. */
  readonly values?: readonly string[];
}

export const always = (type: string): FactField => ({ type, optional: false });
export const maybe = (type: string): FactField => ({ type, optional: true });

/** Field with one of these texts. */
export const oneOfField = (values: readonly string[]): FactField => ({ type: 'string', optional: false, values });

/**
 * Facts about an entry. Times are epoch milliseconds here and timestamps in expressions. `ageMs` and `expiresInMs` are
 * the durations `age` and `expiresIn` in expressions. `labels` are those without the daemon's own stamps.
 */
export interface WorkflowEntryFacts extends Omit<WorkflowDlqEntry, 'createdAt' | 'responseStatus'> {
  readonly failedAt: number;
  readonly ageMs: number;
  /** Milliseconds until the DLQ drops the entry; absent if the retention is unknown. */
  readonly expiresInMs?: number;
  readonly status?: number;
  /** Number of resumes of this run so far. */
  readonly attempts: number;
  readonly reason: FailureReason;
  readonly cause: FailureCause;
}

/** Fields of `entry` in expressions, in the order of their documentation. */
export const ENTRY_FIELDS: Readonly<Record<string, FactField>> = {
  cause: oneOfField(FAILURE_CAUSES),
  reason: oneOfField(FAILURE_REASONS),
  labels: always('list<string>'),
  age: always('google.protobuf.Duration'),
  attempts: always('int'),
  failedAt: always('google.protobuf.Timestamp'),
  workflowUrl: always('string'),
  workflowRunId: always('string'),
  dlqId: always('string'),
  expiresIn: maybe('google.protobuf.Duration'),
  status: maybe('int'),
  responseText: maybe('string'),
  failureFunctionState: { ...maybe('string'), values: FAILURE_FUNCTION_STATES },
  flowControlKey: maybe('string'),
  workflowCreatedAt: maybe('google.protobuf.Timestamp'),
  url: maybe('string'),
  method: maybe('string'),
  maxRetries: maybe('int'),
  callerIp: maybe('string'),
};

/**
 * @param known resumes of this run so far; the DLQ's retention in milliseconds, if known
 * @param now epoch milliseconds
 */
export function entryFacts(
  entry: WorkflowDlqEntry,
  known: { readonly attempts: number; readonly retention?: number },
  now: number,
): WorkflowEntryFacts {
  const { createdAt, responseStatus, labels, ...same } = entry;
  return {
    ...same,
    failedAt: createdAt,
    ageMs: Math.max(0, now - createdAt),
    expiresInMs: known.retention && Math.max(0, createdAt + known.retention - now),
    labels: labels.filter((label) => parseStamp(label) === undefined),
    status: responseStatus,
    attempts: known.attempts,
    reason: failureReason(responseStatus, entry.responseText),
    cause: failureCause(responseStatus, entry.responseText),
  };
}

/** Fields of a dead message for expressions. Times are epoch milliseconds. */
export interface DeadLetterFacts extends Omit<DeadLetter, 'account'> {
  readonly ageMs: number;
  readonly reason: string;
  readonly cause: string;
}

/** Fields of `entry` in expressions. `failedAt` is the time of the callback. */
export const DEAD_LETTER_FIELDS: Readonly<Record<string, FactField>> = {
  cause: oneOfField(FAILURE_CAUSES),
  reason: oneOfField(FAILURE_REASONS),
  labels: always('list<string>'),
  age: always('google.protobuf.Duration'),
  failedAt: always('google.protobuf.Timestamp'),
  messageId: always('string'),
  dlqId: always('string'),
  status: maybe('int'),
  url: maybe('string'),
  topicName: maybe('string'),
  scheduleId: maybe('string'),
  retried: maybe('int'),
  createdAt: maybe('google.protobuf.Timestamp'),
};

/** @param now epoch milliseconds */
export function deadLetterFacts(deadLetter: DeadLetter, now: number): DeadLetterFacts {
  const { account: _, ...same } = deadLetter;
  return {
    ...same,
    ageMs: Math.max(0, now - deadLetter.learnedAt),
    reason: failureReason(deadLetter.status, undefined),
    cause: failureCause(deadLetter.status, undefined),
  };
}

/** Fields of entries that expressions can read, their types, and which of them may be absent. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { withoutStamps } from '#foundation/domain/lineage.ts';
import { FAILURE_CAUSES, FAILURE_REASONS, failureCause, failureReason } from '#foundation/domain/reason.ts';
import { FAILURE_FUNCTION_STATES, type WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';

/** Value of a field. Times are epoch milliseconds, durations milliseconds. A missing field is undefined. */
export type FieldValue = string | number | boolean | readonly string[] | undefined;

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

/** Listed entry for expressions, at a time. */
export interface WorkflowEntryFacts {
  readonly entry: WorkflowDlqEntry;
  /** Number of resumes of this run so far. */
  readonly attempts: number;
  /** Retention of the DLQ in milliseconds; absent if unknown. */
  readonly retention?: number;
  /** Epoch milliseconds. */
  readonly now: number;
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

/** Returns a field of an entry. `labels` are those without the daemon's own stamps. */
export function entryField({ entry, attempts, retention, now }: WorkflowEntryFacts, field: string): FieldValue {
  switch (field) {
    case 'cause':
      return failureCause(entry.responseStatus, entry.responseText);
    case 'reason':
      return failureReason(entry.responseStatus, entry.responseText);
    case 'labels':
      return withoutStamps(entry.labels);
    case 'age':
      return Math.max(0, now - entry.createdAt);
    case 'attempts':
      return attempts;
    case 'failedAt':
      return entry.createdAt;
    case 'expiresIn':
      return retention && Math.max(0, entry.createdAt + retention - now);
    case 'status':
      return entry.responseStatus;
    default:
      return entry[field as keyof WorkflowDlqEntry];
  }
}

/** Dead message for expressions, at a time. */
export interface DeadLetterFacts {
  readonly deadLetter: DeadLetter;
  /** Epoch milliseconds. */
  readonly now: number;
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

/** Returns a field of a dead message. */
export function deadLetterField({ deadLetter, now }: DeadLetterFacts, field: string): FieldValue {
  switch (field) {
    case 'cause':
      return failureCause(deadLetter.status, undefined);
    case 'reason':
      return failureReason(deadLetter.status, undefined);
    case 'age':
      return Math.max(0, now - deadLetter.learnedAt);
    case 'failedAt':
      return deadLetter.learnedAt;
    default:
      return deadLetter[field as keyof DeadLetter];
  }
}

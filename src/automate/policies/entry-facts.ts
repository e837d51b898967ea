/** What an expression sees of a workflow DLQ entry: the fields, their types, and which of them may be missing. */
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
import { always, maybe, oneOf, type FactField } from './fact-field.ts';

/** Times are epoch milliseconds here and timestamps in the language; `ageMs` and `expiresInMs` are durations there, `age` and `expiresIn`. */
export interface EntryFacts {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly workflowCreatedAt?: number;
  readonly failedAt: number;
  readonly ageMs: number;
  /** Until the DLQ drops it; absent where its retention is not known. */
  readonly expiresInMs?: number;
  readonly url?: string;
  readonly method?: string;
  readonly maxRetries?: number;
  readonly callerIp?: string;
  /** Without the daemon's own stamps. */
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  readonly failureFunctionState?: string;
  readonly status?: number;
  readonly responseText?: string;
  /** Resumes of this run so far. */
  readonly attempts: number;
  readonly reason: FailureReason;
  readonly cause: FailureCause;
}

/** The fields of `entry` in the language, in the order in which they are explained. */
export const ENTRY_FIELDS: Readonly<Record<string, FactField>> = {
  cause: oneOf(FAILURE_CAUSES),
  reason: oneOf(FAILURE_REASONS),
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
 * @param known resumes of this run so far; how long the DLQ keeps it, in milliseconds, where that is known
 * @param now epoch milliseconds
 */
export function entryFacts(
  entry: WorkflowDlqEntry,
  known: { readonly attempts: number; readonly retention?: number | undefined },
  now: number,
): EntryFacts {
  const { createdAt, responseStatus, labels, ...same } = entry;
  return {
    ...same,
    failedAt: createdAt,
    ageMs: Math.max(0, now - createdAt),
    ...(known.retention !== undefined && { expiresInMs: Math.max(0, createdAt + known.retention - now) }),
    labels: labels.filter((label) => parseStamp(label) === undefined),
    ...(responseStatus !== undefined && { status: responseStatus }),
    attempts: known.attempts,
    reason: failureReason(responseStatus, entry.responseText),
    cause: failureCause(responseStatus, entry.responseText),
  };
}

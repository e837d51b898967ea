/** Fields of a workflow DLQ entry that expressions can read, their types, and which of them may be absent. */
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

/**
 * Facts about an entry. Times are epoch milliseconds here and timestamps in expressions. `ageMs` and `expiresInMs` are
 * the durations `age` and `expiresIn` in expressions.
 */
export interface EntryFacts {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly workflowCreatedAt?: number;
  readonly failedAt: number;
  readonly ageMs: number;
  /** Milliseconds until the DLQ drops the entry; absent if the retention is unknown. */
  readonly expiresInMs?: number;
  readonly url?: string;
  readonly method?: string;
  readonly maxRetries?: number;
  readonly callerIp?: string;
  /** Labels without the daemon's own stamps. */
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  readonly failureFunctionState?: string;
  readonly status?: number;
  readonly responseText?: string;
  /** Number of resumes of this run so far. */
  readonly attempts: number;
  readonly reason: FailureReason;
  readonly cause: FailureCause;
}

/** Fields of `entry` in expressions, in the order of their documentation. */
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
 * @param known resumes of this run so far; the DLQ's retention in milliseconds, if known
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

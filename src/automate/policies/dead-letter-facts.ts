/** Fields of a dead message, reported by a failure callback, that expressions can read. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { FAILURE_CAUSES, FAILURE_REASONS, failureCause, failureReason } from '#foundation/domain/reason.ts';
import { always, maybe, oneOf, type FactField } from './fact-field.ts';
import type { DeadLetterFacts } from './policy.ts';

/** Fields of `entry` in expressions. `failedAt` is the time of the callback. */
export const DEAD_LETTER_FIELDS: Readonly<Record<string, FactField>> = {
  cause: oneOf(FAILURE_CAUSES),
  reason: oneOf(FAILURE_REASONS),
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

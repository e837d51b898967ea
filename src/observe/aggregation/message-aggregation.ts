/**
 * Aggregates one message in one commit: the counts that its new entries add, and the record to store.
 *
 * A measurement is a pair of steps: ACTIVE and its due time, ACTIVE and its outcome, or creation and delivery. Each
 * pair is measured once, as soon as both steps are known, in any order and across any number of commits. A pair with a
 * step that never arrives is counted when the message is forgotten. A late step may show that an ACTIVE was paired
 * wrongly. The added duration cannot be removed, so the wrong pair is counted, too.
 */
import type { MessageState } from '#foundation/domain/log-entry.ts';
import { destinationOf } from './destination.ts';
import type { DestinationCounts, LogCounts } from './log-counts.ts';
import type { MessageDescription, MessageOutcome } from './message-trace.ts';
import { AttemptPairs, type Pairs } from './attempt-pairs.ts';
import { dueAfter, inOrder, isOutcome, type MessageRecord, type MessageStep } from './open-message.ts';

const UNKNOWN_DESTINATION = 'unknown';

export interface MessageWindow {
  readonly messageId: string;
  /** Stored record of the message. */
  readonly before: MessageRecord | undefined;
  /** True if the message ended, was complete, and its record was deleted. */
  readonly isPast: boolean;
  /** Entries not counted before; at least one. */
  readonly fresh: readonly MessageStep[];
  /** Destination fields of the entries. */
  readonly described: MessageDescription;
  readonly counts: LogCounts;
  /** True if durations can be measured. */
  readonly measures: boolean;
}

export interface MessageAggregate {
  readonly record: MessageRecord;
  readonly endedNow: boolean;
  /** True if the message had ended and was complete: its new entries are not news. */
  readonly isPast: boolean;
  readonly destination: string;
  /** True if the message ended and all its pairs are measured. */
  readonly isComplete: boolean;
}

/** States after an ERROR that show that the ERROR was not final. */
const GOES_ON: ReadonlySet<MessageState> = new Set(['ACTIVE', 'RETRY', 'ERROR', 'DELIVERED']);

export function aggregateMessage(window: MessageWindow): MessageAggregate {
  const { messageId, before, isPast, fresh, counts, measures } = window;
  const shared = destinationOf(before?.described ?? {}) ?? destinationOf(window.described) ?? UNKNOWN_DESTINATION;
  const of = counts.of(shared);
  const ordered = inOrder([...fresh]);
  const steps = before === undefined ? ordered : inOrder([...before.steps, ...fresh]);
  let end = before?.end;
  let endedNow = false;
  for (const step of ordered) {
    countStep(counts, of, step);
    if (measures) observeRetryDelay(counts, messageId, step);
    if (isPast || end !== undefined) continue;
    end = outcomeOf(step, steps);
    if (end === undefined) continue;
    endedNow = true;
    of.add('msgsvc_messages_finished_total');
    if (end !== 'failed') continue;
    of.addFailure('msgsvc_message_failures_total', ...lastFailure(steps, step));
    counts.minutes.addFailed(step.time);
  }
  // Entries after the end report the same end again.
  const known = end === undefined ? steps : upToEnd(steps, end);
  let measured = before?.measured ?? false;
  const created = known.find(({ state }) => state === 'CREATED');
  const pairs = measures
    ? new AttemptPairs({ messageId, of, counts, isPast }).measure(known)
    : { areComplete: true, outcomes: 0, unjoined: 0 };
  if (measures && isPast) countLate(counts, fresh, pairs);
  const isComplete = end !== undefined && created !== undefined && pairs.areComplete;
  const delivered = end === 'delivered' ? known.find(({ state }) => state === 'DELIVERED') : undefined;
  if (measures && delivered !== undefined && created !== undefined) {
    const observed = { messageId, at: delivered.time };
    const ms = Math.max(0, delivered.time - dueAfter(created));
    if (!measured) {
      of.observe('msgsvc_message_delivery_duration_seconds', ms, observed);
      counts.minutes.addDuration(delivered.time, ms);
    }
    measured = true;
    if (isComplete) counts.observe('msgsvc_message_delivery_attempts', pairs.outcomes, observed);
  }
  return {
    record: { steps: known, described: before?.described ?? {}, end, measured },
    endedNow,
    isPast,
    destination: shared,
    isComplete: isPast || isComplete || (end !== undefined && !measures),
  };
}

/** Counts the new entries of a message that was complete: the durations measured without them were wrong. */
function countLate(counts: LogCounts, fresh: readonly MessageStep[], { unjoined }: Pairs): void {
  counts.add('opsd_log_unjoined_attempts_total', unjoined);
  if (fresh.some(({ state }) => state === 'ACTIVE' || isOutcome(state))) {
    counts.add('opsd_log_revised_durations_total', 1);
  }
}

function outcomeOf(step: MessageStep, steps: readonly MessageStep[]): MessageOutcome | undefined {
  switch (step.state) {
    case 'DELIVERED':
      return 'delivered';
    case 'CANCELLED':
      return 'cancelled';
    case 'FAILED':
      return 'failed';
    case 'ERROR':
      return step.nextDeliveryTime === undefined && isLast(step, steps) ? 'failed' : undefined;
    case 'CREATED':
    case 'ACTIVE':
    case 'RETRY':
    case 'CANCEL_REQUESTED':
      return undefined;
  }
}

/** Returns true if no step continues after the error and no one requested a cancellation. */
function isLast(error: MessageStep, steps: readonly MessageStep[]): boolean {
  const at = steps.indexOf(error);
  return !steps.some(
    ({ state }, other) => (other > at && (GOES_ON.has(state) || state === 'CANCELLED')) || state === 'CANCEL_REQUESTED',
  );
}

/** States that may follow an end. They report the end again, or the steps that led to it. */
const AFTER_END: ReadonlySet<MessageState> = new Set(['FAILED', 'CANCELLED', 'CANCEL_REQUESTED', 'RETRY']);

/** Returns the steps up to the first one that reports the end. */
function upToEnd(steps: readonly MessageStep[], end: MessageOutcome): readonly MessageStep[] {
  let at = steps.length - 1;
  while (at > 0 && AFTER_END.has(steps[at]!.state) && tellsOf(end, steps[at - 1]!)) at -= 1;
  return at === steps.length - 1 ? steps : steps.slice(0, at + 1);
}

function tellsOf(end: MessageOutcome, { state, nextDeliveryTime }: MessageStep): boolean {
  if (end === 'delivered') return state === 'DELIVERED';
  if (end === 'cancelled') return state === 'CANCELLED';
  return state === 'FAILED' || (state === 'ERROR' && nextDeliveryTime === undefined);
}

/** Counts the pairs of a record that can no longer be completed. */
export function unjoinedOf({ steps, end, measured }: MessageRecord): {
  readonly deliveries: number;
  readonly attempts: number;
} {
  let active = false;
  let attempts = 0;
  for (const { state } of steps) {
    if (state === 'ACTIVE') active = true;
    if (!isOutcome(state)) continue;
    if (!active) attempts += 1;
    active = false;
  }
  return { deliveries: end === 'delivered' && !measured ? 1 : 0, attempts };
}

function countStep(counts: LogCounts, of: DestinationCounts, step: MessageStep): void {
  const { time, state, reason, responseStatus, nextDeliveryTime } = step;
  counts.addState(state);
  counts.minutes.addEntry(time, state);
  if (state === 'ERROR' && nextDeliveryTime !== undefined) counts.minutes.addRetried(time);
  if (state === 'CREATED') of.add('msgsvc_messages_created_total');
  if (state === 'CANCELLED') of.add('msgsvc_message_cancellations_total');
  if (isOutcome(state)) of.add('msgsvc_message_attempts_total');
  if (state === 'ERROR') of.addFailure('msgsvc_message_attempt_failures_total', reason!, codeOf(responseStatus));
}

function observeRetryDelay(counts: LogCounts, messageId: string, { state, time, nextDeliveryTime }: MessageStep): void {
  if (state !== 'ERROR' || nextDeliveryTime === undefined) return;
  counts.observe('msgsvc_message_retry_delay_seconds', Math.max(0, nextDeliveryTime - time), { messageId, at: time });
}

/** Returns the reason and code of a failure. A FAILED without its own takes those of the last ERROR. */
function lastFailure(steps: readonly MessageStep[], end: MessageStep): [reason: string, code: string] {
  const isSilent = end.state === 'FAILED' && end.reason === 'no_response';
  const told = (isSilent ? steps.findLast(({ state }) => state === 'ERROR') : undefined) ?? end;
  return [told.reason!, codeOf(told.responseStatus)];
}

/** Returns the status as text, or an empty text if there was no response. */
function codeOf(status: number | undefined): string {
  return status === undefined || status < 100 ? '' : String(status);
}

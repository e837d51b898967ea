/**
 * One message in one commit: what its new entries add, and what must be remembered of it.
 *
 * What is measured is a pair of steps: an ACTIVE and when it was due, an ACTIVE and its outcome, the creation and the
 * delivery. Each pair is measured once, as soon as both are known, in whatever order and in however many commits they
 * came; a pair of which one never comes is counted when the message is forgotten. A late step may show that an ACTIVE
 * was paired wrongly: that is counted too, since what was added cannot be taken back.
 */
import type { MessageState } from '#foundation/domain/log-entry.ts';
import { destinationOf } from './destination.ts';
import type { DestinationCounts, LogCounts } from './log-counts.ts';
import type { MessageDescription, MessageOutcome } from './message-trace.ts';
import { inOrder, isOutcome, type MessageRecord, type Step } from './open-message.ts';

const UNKNOWN_DESTINATION = 'unknown';

export interface MessageWindow {
  readonly messageId: string;
  /** What was remembered of it. */
  readonly before: MessageRecord | undefined;
  /** It ended, nothing of it was missing, and no more is remembered of it. */
  readonly isPast: boolean;
  /** Entries not counted before; at least one. */
  readonly fresh: readonly Step[];
  /** What the entries say of where it goes. */
  readonly described: MessageDescription;
  readonly counts: LogCounts;
  /** Whether durations can be known. */
  readonly measures: boolean;
}

export interface MessageFolded {
  readonly record: MessageRecord;
  readonly endedNow: boolean;
  /** It had ended and nothing of it was missing: what it tells now is no news. */
  readonly isPast: boolean;
  readonly destination: string;
  /** Nothing of it is missing: it ended and all its pairs were measured. */
  readonly isComplete: boolean;
}

/** States that show of an ERROR before them that it was not the last. */
const GOES_ON: ReadonlySet<MessageState> = new Set(['ACTIVE', 'RETRY', 'ERROR', 'DELIVERED']);

export function foldMessage(window: MessageWindow): MessageFolded {
  const { messageId, before, isPast, fresh, counts, measures } = window;
  const shared = destinationOf(before?.described ?? {}) ?? destinationOf(window.described) ?? UNKNOWN_DESTINATION;
  const of = counts.of(shared);
  const ordered = inOrder([...fresh]);
  const steps = before === undefined ? ordered : inOrder([...before.steps, ...fresh]);
  let end = before?.end;
  let endedNow = false;
  for (const step of ordered) {
    countStep(counts, of, step);
    if (measures && step.state === 'ERROR' && step.nextDeliveryTime !== undefined) {
      const delay = Math.max(0, step.nextDeliveryTime - step.time);
      counts.observe('msgsvc_message_retry_delay_seconds', delay, { messageId, at: step.time });
    }
    if (isPast || end !== undefined) continue;
    end = outcomeOf(step, steps);
    if (end === undefined) continue;
    endedNow = true;
    of.add('msgsvc_messages_finished_total');
    if (end === 'failed') of.addFailure('msgsvc_message_failures_total', ...lastFailure(steps, step));
  }
  // What comes after the end tells of it a second time.
  const known = end === undefined ? steps : upToEnd(steps, end);
  let measured = before?.measured ?? false;
  const created = known.find(({ state }) => state === 'CREATED');
  const pairs = measures
    ? measureAttempts(known, { messageId, of, counts, isPast })
    : { areComplete: true, outcomes: 0, unjoined: 0 };
  if (measures && isPast) {
    counts.add('opsd_logs_unjoined_attempts_total', pairs.unjoined);
    // What was measured without these steps was measured wrongly.
    if (fresh.some(({ state }) => state === 'ACTIVE' || isOutcome(state))) {
      counts.add('opsd_logs_revised_durations_total', 1);
    }
  }
  const isComplete = end !== undefined && created !== undefined && pairs.areComplete;
  const delivered = end === 'delivered' ? known.find(({ state }) => state === 'DELIVERED') : undefined;
  if (measures && delivered !== undefined && created !== undefined) {
    const observed = { messageId, at: delivered.time };
    const ms = Math.max(0, delivered.time - dueAfter(created));
    if (!measured) of.observe('msgsvc_message_delivery_duration_seconds', ms, observed);
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

export function dueAfter({ time, nextDeliveryTime = 0 }: Step): number {
  return Math.max(time, nextDeliveryTime);
}

function outcomeOf(step: Step, steps: readonly Step[]): MessageOutcome | undefined {
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

/** Nothing goes on after the error, and nobody asked for the end that a cancellation is. */
function isLast(error: Step, steps: readonly Step[]): boolean {
  const at = steps.indexOf(error);
  return !steps.some(
    ({ state }, other) => (other > at && (GOES_ON.has(state) || state === 'CANCELLED')) || state === 'CANCEL_REQUESTED',
  );
}

/** States that may follow an end: they tell of it once more, or of what led to it. */
const AFTER_END: ReadonlySet<MessageState> = new Set(['FAILED', 'CANCELLED', 'CANCEL_REQUESTED', 'RETRY']);

/** The steps up to the one that tells of the end first. */
function upToEnd(steps: readonly Step[], end: MessageOutcome): readonly Step[] {
  let at = steps.length - 1;
  while (at > 0 && AFTER_END.has(steps[at]!.state) && tellsOf(end, steps[at - 1]!)) at -= 1;
  return at === steps.length - 1 ? steps : steps.slice(0, at + 1);
}

function tellsOf(end: MessageOutcome, { state, nextDeliveryTime }: Step): boolean {
  if (end === 'delivered') return state === 'DELIVERED';
  if (end === 'cancelled') return state === 'CANCELLED';
  return state === 'FAILED' || (state === 'ERROR' && nextDeliveryTime === undefined);
}

interface Measuring {
  readonly messageId: string;
  readonly of: DestinationCounts;
  readonly counts: LogCounts;
  readonly isPast: boolean;
}

/** Measures the waits and attempts that have not been measured yet. */
function measureAttempts(
  steps: readonly Step[],
  { messageId, of, counts, isPast }: Measuring,
): { readonly areComplete: boolean; readonly outcomes: number; readonly unjoined: number } {
  let due: number | undefined;
  let active: Step | undefined;
  /** A failure was told of, and no later attempt. */
  let isTold = false;
  /** When the attempt is due that the last RETRY told of; until anything is told of it. */
  let again: number | undefined;
  let outcomes = 0;
  let unjoined = 0;
  let areComplete = true;
  /** What made a RETRY necessary is missing; the two may stand in either order. */
  const isUntold = (): boolean => again !== undefined && !isTold;
  for (const step of steps) {
    const { state, time } = step;
    if (state === 'CREATED') {
      due = dueAfter(step);
    } else if (state === 'ACTIVE') {
      if (active !== undefined) areComplete = false;
      if (isUntold()) areComplete &&= isPast;
      active = step;
      isTold = false;
      again = undefined;
      if (due === undefined) areComplete &&= isPast;
      else if (step.waitedFrom === undefined) {
        of.observe('msgsvc_message_queue_wait_seconds', Math.max(0, time - due), { messageId, at: time });
        step.waitedFrom = due;
      } else if (step.waitedFrom !== due) {
        counts.add('opsd_logs_revised_durations_total', 1);
        step.waitedFrom = due;
      }
      due = undefined;
    } else if (isOutcome(state)) {
      outcomes += 1;
      // The attempt before has no outcome yet, and this one's ACTIVE has not come.
      if (again !== undefined && time >= again) active = undefined;
      if (active === undefined) {
        unjoined += 1;
        areComplete = false;
      } else if (active.measuredTo === undefined) {
        of.observe('msgsvc_message_attempt_duration_seconds', time - active.time, { messageId, at: time });
        active.measuredTo = time;
      } else if (active.measuredTo !== time) {
        counts.add('opsd_logs_revised_durations_total', 1);
        active.measuredTo = time;
      }
      active = undefined;
      again = undefined;
      isTold = true;
      due = step.nextDeliveryTime;
    } else if (state === 'RETRY') {
      // There was an attempt since the RETRY before.
      if (again !== undefined && time > again) areComplete &&= isPast;
      due = step.nextDeliveryTime ?? due;
      again = step.nextDeliveryTime ?? time;
    } else if ((state === 'FAILED' && (!isTold || again !== undefined)) || (state === 'CANCELLED' && isUntold())) {
      areComplete &&= isPast;
    }
  }
  return { areComplete: areComplete && active === undefined, outcomes, unjoined };
}

/** Pairs of a record that can no longer come together. */
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

function countStep(counts: LogCounts, of: DestinationCounts, { state, reason, responseStatus }: Step): void {
  counts.addState(state);
  if (state === 'CREATED') of.add('msgsvc_messages_created_total');
  if (state === 'CANCELLED') of.add('msgsvc_message_cancellations_total');
  if (isOutcome(state)) of.add('msgsvc_message_attempts_total');
  if (state === 'ERROR') of.addFailure('msgsvc_message_attempt_failures_total', reason!, codeOf(responseStatus));
}

/** Reason and code of a failure; a FAILED that has none of its own failed as the last ERROR did. */
function lastFailure(steps: readonly Step[], end: Step): [reason: string, code: string] {
  const isSilent = end.state === 'FAILED' && end.reason === 'no_response';
  const told = (isSilent ? steps.findLast(({ state }) => state === 'ERROR') : undefined) ?? end;
  return [told.reason!, codeOf(told.responseStatus)];
}

/** The status as text, or nothing when there was no answer. */
function codeOf(status: number | undefined): string {
  return status === undefined || status < 100 ? '' : String(status);
}

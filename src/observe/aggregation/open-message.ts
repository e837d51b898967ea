/**
 * Record of a message, kept until the message is complete: its steps and its description. It contains no headers, no
 * error texts, and no secrets from URLs.
 */
import { STATE_ORDER, type LogEntry, type MessageState } from '#foundation/domain/log-entry.ts';
import { failureReason, type FailureReason } from '#foundation/domain/reason.ts';
import { storableUrl } from './destination.ts';
import { compareEntries, rankOf, type StatedEntry } from './log-entry.ts';
import { memoByText } from '#foundation/platform/memo.ts';
import type { MessageDescription, MessageOutcome } from './message-trace.ts';

/** Entry of a message. */
export interface MessageStep {
  readonly time: number;
  readonly state: MessageState;
  readonly nextDeliveryTime: number | undefined;
  readonly responseStatus: number | undefined;
  /** Reason of an ERROR or FAILED entry. */
  readonly reason: FailureReason | undefined;
  /** Due time at the start of the measured wait of an ACTIVE entry. */
  waitedFrom: number | undefined;
  /** Time of the outcome at the end of the measured duration of an ACTIVE entry. */
  measuredTo: number | undefined;
}

export interface MessageRecord {
  /** Steps in order of time. */
  readonly steps: readonly MessageStep[];
  readonly described: MessageDescription;
  readonly end: MessageOutcome | undefined;
  /** True if the histograms have the message's delivery and its number of attempts. */
  readonly measured: boolean;
}

/** Returns the reason for an error text. The caller checks the status first. */
const reasonOfText = memoByText(2_000, (error) => failureReason(undefined, error));

function reasonOf({ responseStatus, error }: Pick<LogEntry, 'responseStatus' | 'error'>): FailureReason {
  if (responseStatus !== undefined && responseStatus >= 100) return 'http';
  return reasonOfText(error ?? '');
}

export function stepOf(entry: StatedEntry): MessageStep {
  const { state } = entry;
  return {
    time: entry.time,
    state,
    nextDeliveryTime: entry.nextDeliveryTime,
    responseStatus: entry.responseStatus,
    reason: state === 'ERROR' || state === 'FAILED' ? reasonOf(entry) : undefined,
    waitedFrom: undefined,
    measuredTo: undefined,
  };
}

/** Description under construction. */
export type Described = { -readonly [K in keyof MessageDescription]: MessageDescription[K] };

/** Adds the fields of the entry that are not known yet. The URL is added unchanged, including secrets. */
export function describeMessage(known: Described, entry: LogEntry): void {
  if (known.url === undefined && entry.url !== undefined) known.url = entry.url;
  if (known.topicName === undefined && entry.topicName !== undefined) known.topicName = entry.topicName;
  if (known.queueName === undefined && entry.queueName !== undefined) known.queueName = entry.queueName;
  if (known.method === undefined && entry.method !== undefined) known.method = entry.method;
  if (known.workflowRunId === undefined && entry.workflowRunId !== undefined) known.workflowRunId = entry.workflowRunId;
  if (known.traceparent === undefined && entry.traceparent !== undefined) known.traceparent = entry.traceparent;
  if (known.postponedBy === undefined && entry.postponedBy !== undefined) known.postponedBy = entry.postponedBy;
}

/** Merges two descriptions of one message into one that is safe to store. The first takes precedence. */
export function storableDescription(known: MessageDescription, more: MessageDescription): MessageDescription {
  const { url, ...rest } = more;
  const kept = known.url ?? (url === undefined ? undefined : storableUrl(url));
  return { ...rest, ...known, ...(kept !== undefined && { url: kept }) };
}

/**
 * Sorts steps in the order of a message's life. Attempts within one millisecond follow each other: an attempt does not
 * start while another one is under way.
 */
export function inOrder(steps: MessageStep[]): readonly MessageStep[] {
  sort(steps);
  let isActive = false;
  for (let at = 0; at < steps.length; at += 1) {
    if (isActive && steps[at]!.state === 'ACTIVE') {
      const time = steps[at]!.time;
      const outcome = steps.findIndex((step, later) => later > at && step.time === time && isOutcome(step.state));
      if (outcome !== -1) steps.splice(at, 0, ...steps.splice(outcome, 1));
    }
    const { state } = steps[at]!;
    if (state === 'ACTIVE') isActive = true;
    else if (isOutcome(state)) isActive = false;
  }
  return steps;
}

/**
 * Limit for sorting in place. Up to this number of steps it is faster than the engine's sort, which copies. Nearly all
 * messages have no more.
 */
const FEW = 16;

function sort(steps: MessageStep[]): void {
  if (steps.length > FEW) {
    steps.sort(compareEntries);
    return;
  }
  for (let next = 1; next < steps.length; next += 1) {
    const step = steps[next]!;
    let at = next;
    for (; at > 0 && compareEntries(steps[at - 1]!, step) > 0; at -= 1) steps[at] = steps[at - 1]!;
    steps[at] = step;
  }
}

export function dueAfter({ time, nextDeliveryTime = 0 }: MessageStep): number {
  return Math.max(time, nextDeliveryTime);
}

export function isOutcome(state: MessageState): boolean {
  return state === 'ERROR' || state === 'DELIVERED';
}

/** Step as stored. Positions replace names, because most of the store's size for open messages is steps. */
type Row = readonly [
  time: number,
  state: number,
  nextDeliveryTime?: number | null,
  responseStatus?: number | null,
  reason?: FailureReason | null,
  waitedFrom?: number | null,
  measuredTo?: number | null,
];

interface Stored {
  readonly steps: readonly Row[];
  readonly described: MessageDescription;
  readonly end?: MessageOutcome;
  readonly measured?: true;
}

export function formatRecord({ steps, described, end, measured }: MessageRecord): string {
  const stored: Stored = {
    steps: steps.map((step) => {
      const row = [
        step.time,
        rankOf(step.state),
        step.nextDeliveryTime,
        step.responseStatus,
        step.reason,
        step.waitedFrom,
        step.measuredTo,
      ];
      while (row.at(-1) === undefined) row.pop();
      return row as unknown as Row;
    }),
    described,
    ...(end !== undefined && { end }),
    ...(measured && { measured }),
  };
  return JSON.stringify(stored);
}

export function parseRecord(text: string): MessageRecord {
  const { steps, described, end, measured = false } = JSON.parse(text) as Stored;
  return {
    steps: steps.map(([time, state, nextDeliveryTime, responseStatus, reason, waitedFrom, measuredTo]) => ({
      time,
      state: STATE_ORDER[state]!,
      nextDeliveryTime: nextDeliveryTime ?? undefined,
      responseStatus: responseStatus ?? undefined,
      reason: reason ?? undefined,
      waitedFrom: waitedFrom ?? undefined,
      measuredTo: measuredTo ?? undefined,
    })),
    described,
    end,
    measured,
  };
}

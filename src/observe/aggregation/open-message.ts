/**
 * What is remembered of a message until nothing more of it is missing: its steps, and what describes it. No headers, no
 * error texts, no secrets of URLs.
 */
import type { LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import { failureReason, type FailureReason } from '#foundation/domain/reason.ts';
import { storableUrl } from './destination.ts';
import { compareEntries, rankOf, STATE_ORDER, type StatedEntry } from './log-entry.ts';
import { memoByText } from '#foundation/platform/memo.ts';
import type { MessageDescription, MessageOutcome } from './message-trace.ts';

/** One entry of a message. */
export interface Step {
  readonly time: number;
  readonly state: MessageState;
  readonly nextDeliveryTime: number | undefined;
  readonly responseStatus: number | undefined;
  /** Of an ERROR or FAILED entry. */
  readonly reason: FailureReason | undefined;
  /** Of an ACTIVE entry: the due time its wait was measured from. */
  waitedFrom: number | undefined;
  /** Of an ACTIVE entry: the time of the outcome its duration was measured to. */
  measuredTo: number | undefined;
}

export interface MessageRecord {
  /** In order of time. */
  readonly steps: readonly Step[];
  readonly described: MessageDescription;
  readonly end: MessageOutcome | undefined;
  /** Whether its delivery, and how many attempts it took, went into the histograms. */
  readonly measured: boolean;
}

/** The reason of an error text; status decides before it. */
const reasonOfText = memoByText(2_000, (error) => failureReason(undefined, error));

function reasonOf({ responseStatus, error }: Pick<LogEntry, 'responseStatus' | 'error'>): FailureReason {
  if (responseStatus !== undefined && responseStatus >= 100) return 'http';
  return reasonOfText(error ?? '');
}

export function stepOf(entry: StatedEntry): Step {
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

/** A description that is being put together. */
export type Described = { -readonly [K in keyof MessageDescription]: MessageDescription[K] };

/** Adds what the entry says and was not known; the URL as it came, secrets included. */
export function describe(known: Described, entry: LogEntry): void {
  if (known.url === undefined && entry.url !== undefined) known.url = entry.url;
  if (known.topicName === undefined && entry.topicName !== undefined) known.topicName = entry.topicName;
  if (known.queueName === undefined && entry.queueName !== undefined) known.queueName = entry.queueName;
  if (known.method === undefined && entry.method !== undefined) known.method = entry.method;
  if (known.workflowRunId === undefined && entry.workflowRunId !== undefined) known.workflowRunId = entry.workflowRunId;
  if (known.traceparent === undefined && entry.traceparent !== undefined) known.traceparent = entry.traceparent;
  if (known.postponedBy === undefined && entry.postponedBy !== undefined) known.postponedBy = entry.postponedBy;
}

/** Two descriptions of one message, the first before the second, fit to be stored. */
export function storableDescription(known: MessageDescription, more: MessageDescription): MessageDescription {
  const { url, ...rest } = more;
  const kept = known.url ?? (url === undefined ? undefined : storableUrl(url));
  return { ...rest, ...known, ...(kept !== undefined && { url: kept }) };
}

/**
 * In the order of a message's life. Several attempts within a millisecond come one after the other: while one is under
 * way the next does not begin.
 */
export function inOrder(steps: Step[]): readonly Step[] {
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

/** So few are sorted faster where they are than by the engine, which copies them; nearly all messages have no more. */
const FEW = 16;

function sort(steps: Step[]): void {
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

export function isOutcome(state: MessageState): boolean {
  return state === 'ERROR' || state === 'DELIVERED';
}

/** A step as it is stored: positions instead of names, since a store of open messages is mostly these. */
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

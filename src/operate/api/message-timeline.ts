/**
 * Timeline of one message: what the log says, what the ledger says, in the order of time. A time that no entry has is
 * absent, and `unknown` says so.
 */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { deployText, type Deploy } from '#foundation/domain/deploy.ts';
import type { MessageState } from '#foundation/domain/log-entry.ts';
import { redact } from '#foundation/domain/redact.ts';
import type { MessageFacts } from '#observe/tracing/log-trace.ts';
import { traceIdOf } from '#observe/tracing/trace-ids.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { AttemptView, MessageView, TimelineEvent } from '../contract/messages.ts';
import { actionView } from './run-views.ts';

export interface LedgerFacts {
  readonly deadLetter?: DeadLetter | undefined;
  /** Actions on the message, its dead letter, or its run. */
  readonly actions: readonly ActionRecord[];
  /** Deploys of what is behind its URL, since its creation. */
  readonly deploys?: readonly Deploy[];
}

/** @param facts undefined if the log has no entry of the message */
export function messageView(
  account: string,
  messageId: string,
  facts: MessageFacts | undefined,
  ledger: LedgerFacts,
): MessageView {
  const identity = { account, messageId, traceId: traceIdOf(account, messageId) };
  const events = ledgerEvents(ledger);
  if (facts === undefined) {
    const unknown = ['The log has no entry of this message: it may have expired there.'];
    return {
      ...identity,
      isOpen: false,
      labels: [...(ledger.deadLetter?.labels ?? [])],
      timeline: ordered(events),
      unknown,
    };
  }
  const { message, entryMode, entries } = facts;
  const { createdAt, end, postponedBy } = message;
  const newest = entries.reduce((a, b) => (b.time > a.time ? b : a));
  return {
    ...identity,
    state: stateOf(facts),
    isOpen: end === undefined,
    ...(createdAt !== undefined && { createdAt }),
    ...(end !== undefined && { endedAt: end.at, outcome: end.outcome }),
    ...(createdAt !== undefined && end !== undefined && { totalMs: end.at - createdAt }),
    entryMode,
    ...described(facts),
    labels: [...new Set(entries.flatMap(({ labels }) => labels))],
    ...(postponedBy !== undefined && { postponedBy }),
    timeline: ordered([...logEvents(facts), ...events]),
    unknown: unknownOf(facts, newest.time),
  };
}

const DESCRIPTION = [
  'url',
  'topicName',
  'endpointName',
  'queueName',
  'scheduleId',
  'method',
  'maxRetries',
  'flowControlKey',
  'workflowRunId',
] as const satisfies readonly (keyof MessageView)[];

function described({ entries }: MessageFacts): Partial<MessageView> {
  const values = DESCRIPTION.map((name) => [name, entries.find((entry) => entry[name] !== undefined)?.[name]]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** State of the newest entry. Of several entries with one time, the end counts. */
function stateOf({ entries, message }: MessageFacts): MessageState {
  const last = Math.max(...entries.map(({ time }) => time));
  const states = entries.filter(({ time }) => time === last).map(({ state }) => state);
  const ends: Readonly<Record<string, MessageState>> = {
    delivered: 'DELIVERED',
    cancelled: 'CANCELLED',
    failed: 'FAILED',
  };
  const end = message.end && ends[message.end.outcome];
  return states.find((state) => state === end) ?? states.at(-1)!;
}

type Event = TimelineEvent extends infer Each ? (Each extends unknown ? Omit<Each, 'sinceMs'> : never) : never;

function logEvents({ message, entries }: MessageFacts): Event[] {
  const { createdAt, dueAt, attempts, activeSince, end } = message;
  const events: Event[] = [];
  if (createdAt !== undefined) events.push({ at: createdAt, kind: 'created' });
  if (dueAt !== undefined && dueAt !== createdAt) events.push({ at: dueAt, kind: 'due' });
  for (const [index, attempt] of attempts.entries()) {
    const { startedAt, endedAt, responseStatus, failure } = attempt;
    const entry = entries.find(({ time, state }) => time === endedAt && (state === 'ERROR' || state === 'FAILED'));
    const due = attempt.dueAt;
    const view: AttemptView = {
      number: index + 1,
      ...(due !== undefined && { dueAt: due }),
      ...(startedAt !== undefined && { startedAt, durationMs: endedAt - startedAt }),
      ...(startedAt !== undefined && due !== undefined && { waitedMs: startedAt - due }),
      endedAt,
      outcome: failure === undefined ? 'delivered' : 'failed',
      ...(responseStatus !== undefined && { responseStatus }),
      ...(failure !== undefined && { failure }),
      ...(failure !== undefined && entry?.error !== undefined && { error: redact(entry.error) }),
      ...(entry?.nextDeliveryTime !== undefined && { nextDeliveryAt: entry.nextDeliveryTime }),
    };
    events.push({ at: startedAt ?? endedAt, kind: 'attempt', attempt: view });
  }
  if (activeSince !== undefined) {
    const view: AttemptView = { number: attempts.length + 1, startedAt: activeSince, outcome: 'in_progress' };
    events.push({ at: activeSince, kind: 'attempt', attempt: view });
  }
  for (const at of new Set(entries.filter(({ state }) => state === 'CANCEL_REQUESTED').map(({ time }) => time))) {
    events.push({ at, kind: 'cancel_requested' });
  }
  if (end !== undefined) events.push({ at: end.at, kind: 'ended', outcome: end.outcome });
  return events;
}

export function ledgerEvents({ deadLetter, actions, deploys = [] }: LedgerFacts): Event[] {
  const events: Event[] = actions.map((action) => ({ at: action.at, kind: 'action', action: actionView(action) }));
  for (const deploy of deploys) {
    events.push({ at: deploy.at, kind: 'deploy', version: deploy.version, text: deployText(deploy) });
  }
  if (deadLetter !== undefined) {
    const { learnedAt, status } = deadLetter;
    events.push({ at: learnedAt, kind: 'failure_callback', ...(status !== undefined && { responseStatus: status }) });
  }
  return events;
}

const KINDS: readonly TimelineEvent['kind'][] = [
  'created',
  'due',
  'attempt',
  'cancel_requested',
  'ended',
  'failure_callback',
  'deploy',
  'action',
];

/** Sorts events by time, and those of one moment in the order of a message's life. */
export function ordered(events: readonly Event[]): TimelineEvent[] {
  const sorted = events.toSorted((a, b) => a.at - b.at || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  return sorted.map((event, index) => (index === 0 ? event : { ...event, sinceMs: event.at - sorted[index - 1]!.at }));
}

function unknownOf({ message, entryMode }: MessageFacts, newestAt: number): string[] {
  const { createdAt, attempts, end } = message;
  const unseen = attempts.filter(({ startedAt }) => startedAt === undefined).length;
  return [
    ...(entryMode === 'snapshot'
      ? ['The log has one entry for this message: its earlier states and attempts are unknown.']
      : []),
    ...(createdAt === undefined ? ['The log has no entry of the creation: it may have expired there.'] : []),
    ...(unseen > 0 && entryMode !== 'snapshot'
      ? [`The log has no start of ${unseen} ${unseen === 1 ? 'attempt' : 'attempts'}.`]
      : []),
    ...(end === undefined
      ? [`The log has no end of the message; its newest entry is of ${new Date(newestAt).toISOString()}.`]
      : []),
  ];
}

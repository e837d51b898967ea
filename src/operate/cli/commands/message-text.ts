/** Timeline of a message or a workflow run as text. Pure. */
import { painter, printable, type Style, type TextStyle } from '../output.ts';
import { listTable } from '../table.ts';
import { duration } from './trace-text.ts';

/** Response of `/api/v1/messages/{id}`. Times are epoch milliseconds. */
export interface DetailData {
  readonly at: number;
  readonly message?: MessageData;
  readonly run?: RunData;
}

interface Attempt {
  readonly number: number;
  readonly waitedMs?: number;
  readonly durationMs?: number;
  readonly startedAt?: number;
  readonly outcome: string;
  readonly responseStatus?: number;
  readonly failure?: string;
  readonly error?: string;
  readonly nextDeliveryAt?: number;
}

interface EventData {
  readonly at: number;
  readonly sinceMs?: number;
  readonly kind: string;
  readonly attempt?: Attempt;
  readonly outcome?: string;
  readonly responseStatus?: number;
  readonly action?: { readonly id: number; readonly action: string; readonly policy: string; readonly outcome: string };
}

interface MessageData {
  readonly account: string;
  readonly messageId: string;
  readonly traceId: string;
  readonly state?: string;
  readonly outcome?: string;
  readonly totalMs?: number;
  readonly url?: string;
  readonly topicName?: string;
  readonly queueName?: string;
  readonly scheduleId?: string;
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  readonly workflowRunId?: string;
  readonly timeline: readonly EventData[];
  readonly unknown: readonly string[];
}

interface RunData {
  readonly account: string;
  readonly workflowRunId: string;
  readonly traceId: string;
  readonly workflowUrl?: string;
  readonly dlqId?: string;
  readonly responseStatus?: number;
  readonly labels: readonly string[];
  readonly resumedFrom?: string;
  readonly resumedAs: readonly { readonly workflowRunId: string; readonly at: number; readonly outcome: string }[];
  readonly messages: readonly MessageData[];
  readonly timeline: readonly EventData[];
  readonly unknown: readonly string[];
}

export function detailText({ message, run }: DetailData, style: Pick<TextStyle, 'color'>): string {
  const paint = painter(style.color);
  if (message !== undefined) return messageText(message, paint);
  return run === undefined ? '' : runText(run, paint);
}

type Paint = (style: Style, text: string) => string;

function messageText(message: MessageData, paint: Paint): string {
  const { messageId, account, state, traceId, totalMs } = message;
  const total = totalMs === undefined ? '' : `, ${duration(totalMs)} from creation to end`;
  return [
    paint('bold', `message ${printable(messageId)} of account ${printable(account)}`),
    `${printable(state ?? 'state unknown')}${total}`,
    ...facts({
      to: message.url,
      'URL Group': message.topicName,
      queue: message.queueName,
      schedule: message.scheduleId,
      labels: message.labels.join(', '),
      'flow-control key': message.flowControlKey,
      'workflow run': message.workflowRunId,
      trace: traceId,
    }),
    '',
    ...timelineLines(message.timeline, paint),
    ...unknownLines(message.unknown, paint),
    '',
  ].join('\n');
}

function runText(run: RunData, paint: Paint): string {
  const { workflowRunId, account, resumedAs, messages, timeline, unknown } = run;
  return [
    paint('bold', `workflow run ${printable(workflowRunId)} of account ${printable(account)}`),
    ...facts({
      workflow: run.workflowUrl,
      'DLQ entry': run.dlqId,
      status: run.responseStatus?.toString(),
      labels: run.labels.join(', '),
      'resumed from': run.resumedFrom,
      'resumed as': resumedAs.map((one) => `${one.workflowRunId} (${one.outcome})`).join(', '),
      trace: run.traceId,
    }),
    '',
    ...timelineLines(timeline, paint),
    ...unknownLines(unknown, paint),
    '',
    `its messages in the log: ${messages.length}`,
    '',
    ...messages.map((message) => messageText(message, paint)),
  ].join('\n');
}

function facts(named: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(named).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}: ${printable(value)}`],
  );
}

function timelineLines(events: readonly EventData[], paint: Paint): string[] {
  if (events.length === 0) return ['No event is known.'];
  const lines = listTable(
    [
      { title: 'TIME', text: ({ at }) => new Date(at).toISOString() },
      { title: 'SINCE', text: ({ sinceMs }) => (sinceMs === undefined ? '' : `+${duration(sinceMs)}`), align: 'right' },
      { title: 'EVENT', text: eventText },
    ],
    events,
    { at: 0 },
  );
  return lines
    .trimEnd()
    .split('\n')
    .map((line, index) => (index === 0 ? line : paint(isBad(events[index - 1]!) ? 'red' : 'green', line)));
}

function isBad({ kind, outcome, attempt }: EventData): boolean {
  return kind === 'failure_callback' || outcome === 'failed' || attempt?.outcome === 'failed';
}

function eventText({ kind, attempt, outcome, responseStatus, action }: EventData): string {
  if (attempt !== undefined) return attemptText(attempt);
  if (action !== undefined) return `opsd ${action.policy}: ${action.action}, ${action.outcome} (action ${action.id})`;
  if (kind === 'ended') return outcome ?? 'ended';
  if (kind === 'failure_callback') return ['failure callback received', ...statusOf(responseStatus)].join(', ');
  return kind.replaceAll('_', ' ');
}

function attemptText(attempt: Attempt): string {
  const { number, outcome, waitedMs, durationMs, startedAt, responseStatus, failure, error, nextDeliveryAt } = attempt;
  return [
    `attempt ${number} ${outcome.replaceAll('_', ' ')}`,
    ...statusOf(responseStatus),
    ...(responseStatus === undefined && failure !== undefined ? [failure] : []),
    ...(durationMs === undefined ? [] : [`took ${duration(durationMs)}`]),
    ...(startedAt === undefined ? ['start unknown'] : []),
    ...(waitedMs === undefined ? [] : [`waited ${duration(waitedMs)}`]),
    ...(nextDeliveryAt === undefined ? [] : [`next ${new Date(nextDeliveryAt).toISOString()}`]),
    ...(error === undefined ? [] : [error]),
  ].join(', ');
}

function statusOf(status: number | undefined): string[] {
  return status === undefined ? [] : [`HTTP ${status}`];
}

function unknownLines(unknown: readonly string[], paint: Paint): string[] {
  return unknown.map((sentence) => paint('dim', printable(sentence)));
}

/** One message or workflow run: its facts and its timeline. Pure. */
import { formatCount } from '#foundation/domain/counted.ts';
import { formatElapsed } from '#foundation/domain/time-text.ts';
import { deadLetterPath, messagePath } from '../contract/page-paths.ts';
import {
  type Cell,
  duration,
  facts,
  type GanttBar,
  type GanttRow,
  idLink,
  idText,
  lines,
  list,
  type Look,
  minor,
  moment,
  numberColumn,
  paragraph,
  type Piece,
  section,
  state,
  sub,
  type Table,
  table,
  timePiece,
  type Tone,
  wide,
} from '#foundation/markup/cell.ts';
import type { AttemptView, MessageDetail, MessageView, TimelineEvent, WorkflowRunView } from '../contract/messages.ts';

export function messageSheet(detail: MessageDetail): { readonly title: string; readonly content: Cell } {
  const { message, run } = detail;
  return message === undefined
    ? { title: `Run ${run.workflowRunId}`, content: runContent(run, detail) }
    : { title: `Message ${message.messageId}`, content: messageContent(message, detail) };
}

function messageContent(message: MessageView, { at, account }: MessageDetail): Cell {
  const { state: now, outcome, workflowRunId, maxRetries } = message;
  return [
    facts({
      State: [outcomeOf(message), now?.toLowerCase() !== outcome && outcome !== undefined && sub(now)],
      Account: account,
      Destination: message.url,
      Created: moment(message.createdAt, at),
      Ended: moment(message.endedAt, at),
      'Total time': duration(message.totalMs),
      'URL Group': message.topicName,
      Queue: message.queueName,
      Schedule: message.scheduleId,
      Labels: message.labels.length > 0 && message.labels.join(', '),
      'Flow-control key': message.flowControlKey,
      Retries: maxRetries !== undefined && `at most ${formatCount(maxRetries)}`,
      Run: workflowRunId !== undefined && idLink(messagePath(workflowRunId, account), workflowRunId),
      Trace: idText(message.traceId),
    }),
    list(message.unknown, true),
    section('timeline', 'Timeline', timelinePart([message], message.timeline, at)),
  ];
}

function runContent(run: WorkflowRunView, { at, account }: MessageDetail): Cell {
  const link = (id: string) => idLink(messagePath(id, account), id);
  const resumed = run.resumedAs.map((one) => [link(one.workflowRunId), ` ${one.outcome.replaceAll('_', ' ')}`]);
  return [
    facts({
      State: run.failedAt !== undefined && state('trouble', 'failed'),
      Account: account,
      Workflow: run.workflowUrl,
      Created: moment(run.createdAt, at),
      Failed: moment(run.failedAt, at),
      Status: run.responseStatus,
      'Dead letter': run.dlqId !== undefined && idLink(deadLetterPath({ id: run.dlqId, account }), run.dlqId),
      'Resumed from': run.resumedFrom !== undefined && link(run.resumedFrom),
      'Resumed as': lines(resumed),
      Labels: run.labels.length > 0 && run.labels.join(', '),
      'Flow-control key': run.flowControlKey,
      'Failure function': run.failureFunctionState,
      Trace: idText(run.traceId),
    }),
    list(run.unknown, true),
    section('timeline', 'Timeline', timelinePart(run.messages, run.timeline, at)),
    ...run.messages.map((message, index) =>
      section(`message-${index}`, `Message ${index + 1}`, [
        paragraph(link(message.messageId), ' ', outcomeOf(message)),
        timeline(message.timeline),
      ]),
    ),
  ];
}

function outcomeOf({ outcome, state: now }: MessageView): Piece {
  return state(toneOf(outcome), outcome ?? now ?? 'unknown');
}

function toneOf(outcome: string | undefined): Tone {
  if (outcome === 'delivered') return 'ok';
  return outcome === 'failed' ? 'trouble' : 'off';
}

/** One message has a row for each attempt; a run has one for each message. */
function timelinePart(messages: readonly MessageView[], events: readonly TimelineEvent[], now: number): Cell {
  const [only] = messages.length === 1 ? messages : [];
  const attempts =
    only === undefined ? messages.flatMap((message) => messageRow(message, now)) : attemptRows(only.timeline, now);
  const rows = [...attempts, ...events.flatMap(markRow)];
  const table = timeline(events);
  const isDrawn = rows.some(({ bars }) => bars.length > 0);
  const title = `Attempts and waits${rows.length > MOST_ROWS ? `, the first ${MOST_ROWS} rows of ${rows.length}` : ''}`;
  return isDrawn ? { piece: 'gantt', title, rows: rows.slice(0, MOST_ROWS), events: table } : table;
}

const ATTEMPT_LOOK: Readonly<Record<AttemptView['outcome'], Look>> = {
  delivered: 'ok',
  failed: 'trouble',
  in_progress: 'busy',
};

/** Rows of a page are limited; the table has all events. */
const MOST_ROWS = 40;

function attemptRows(events: readonly TimelineEvent[], now: number): GanttRow[] {
  let free = events.find(({ kind }) => kind === 'created')?.at;
  const rows: GanttRow[] = [];
  for (const event of events) {
    if (event.kind !== 'attempt') continue;
    const { number: count, startedAt, endedAt, outcome, nextDeliveryAt } = event.attempt;
    const from = startedAt ?? endedAt ?? event.at;
    const to = endedAt ?? Math.max(from, now);
    const text = `attempt ${count} ${outcome.replaceAll('_', ' ')}${attemptText(event.attempt)}`;
    const wait = waitBar(free, from, `before attempt ${count}`);
    rows.push({ name: text, bars: [...wait, { from, to, look: ATTEMPT_LOOK[outcome], text }] });
    free = to;
    const isNext = nextDeliveryAt !== undefined && nextDeliveryAt > now;
    if (isNext)
      rows.push({
        name: `attempt ${count + 1} is due`,
        bars: waitBar(to, nextDeliveryAt, `before attempt ${count + 1}`),
      });
  }
  return rows;
}

function waitBar(from: number | undefined, to: number, what: string): GanttBar[] {
  return from === undefined || to <= from
    ? []
    : [{ from, to, look: 'faint', text: `waits ${formatElapsed(to - from)} ${what}` }];
}

function attemptText({ durationMs, responseStatus, failure }: AttemptView): string {
  const reason = responseStatus === undefined ? failure : `HTTP ${responseStatus}`;
  return [durationMs === undefined ? undefined : formatElapsed(durationMs), reason]
    .filter(Boolean)
    .map((part) => `, ${part}`)
    .join('');
}

function messageRow(message: MessageView, now: number): GanttRow[] {
  const bars = attemptRows(message.timeline, now).flatMap((row) => row.bars);
  const marks = message.timeline.flatMap(markRow).flatMap((row) => row.marks ?? []);
  return bars.length + marks.length === 0 ? [] : [{ name: message.url ?? message.messageId, bars, marks }];
}

function markRow(event: TimelineEvent): GanttRow[] {
  if (event.kind === 'attempt' || event.kind === 'created' || event.kind === 'due' || event.kind === 'ended') return [];
  const text =
    event.kind === 'action'
      ? `the daemon: ${event.action.action}, ${event.action.outcome.replaceAll('_', ' ')}`
      : event.kind === 'deploy'
        ? event.text
        : event.kind.replaceAll('_', ' ');
  return [
    {
      name: text,
      bars: [],
      marks: [{ at: event.at, look: event.kind === 'failure_callback' ? 'attention' : 'busy', text }],
    },
  ];
}

function timeline(events: readonly TimelineEvent[]): Table {
  return table<TimelineEvent>({
    caption: 'Oldest first.',
    rows: events,
    empty: 'Nothing is known about it. Entries of the log and acts of the daemon appear here.',
    columns: {
      Time: (row) => timePiece(row.at),
      Event: wide(event),
      Waited: numberColumn((row) => row.kind === 'attempt' && duration(row.attempt.waitedMs)),
      Duration: numberColumn((row) => row.kind === 'attempt' && duration(row.attempt.durationMs)),
      Response: wide(response),
      'Since the event before': minor(numberColumn((row) => duration(row.sinceMs))),
    },
  });
}

const ATTEMPT_TONE: Readonly<Record<AttemptView['outcome'], Tone>> = {
  delivered: 'ok',
  failed: 'attention',
  in_progress: 'off',
};

function event(row: TimelineEvent): Cell {
  switch (row.kind) {
    case 'attempt': {
      const { number: count, outcome, nextDeliveryAt } = row.attempt;
      return [
        state(ATTEMPT_TONE[outcome], `attempt ${count} ${outcome.replaceAll('_', ' ')}`),
        nextDeliveryAt !== undefined && sub(['next one ', timePiece(nextDeliveryAt)]),
      ];
    }
    case 'ended':
      return state(toneOf(row.outcome), row.outcome);
    case 'action': {
      const { id, action, policy, outcome } = row.action;
      return [`the daemon: ${action}`, sub(`${policy}: ${outcome.replaceAll('_', ' ')}, action ${id}`)];
    }
    case 'deploy':
      return row.text;
    case 'created':
    case 'due':
    case 'cancel_requested':
    case 'failure_callback':
      return row.kind.replaceAll('_', ' ');
  }
}

function response(row: TimelineEvent): Cell {
  if (row.kind === 'failure_callback') return row.responseStatus;
  if (row.kind !== 'attempt') return undefined;
  const { responseStatus, failure, error } = row.attempt;
  const head = responseStatus === undefined ? failure : `HTTP ${responseStatus}`;
  return head === undefined && error === undefined ? undefined : [head, sub(error)];
}

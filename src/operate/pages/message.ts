/** Page of one message or workflow run: its timeline. */
import { formatCount } from '../api/format.ts';
import {
  getMessage,
  type AttemptView,
  type MessageDetail,
  type MessageView,
  type TimelineEvent,
  type WorkflowRunView,
} from '../contract/messages.ts';
import { foundMessage } from '../api/message-routes.ts';
import type { Reply } from '../http/reply.ts';
import { readFilters } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { duration, facts, idLink, idText, moment, section, state, sub, time, type Tone } from './page-parts.ts';
import { deadLetterPath, messagePath } from './paths.ts';
import { table } from './table.ts';

export async function messagePage(context: PageContext): Promise<Reply> {
  context.mayTakeLong();
  const detail = await foundMessage({ ...context, query: readFilters(context.query, getMessage) });
  const { message, run } = detail;
  return showPage(context, {
    title: message === undefined ? `Run ${run.workflowRunId}` : `Message ${message.messageId}`,
    section: '/messages',
    isStill: true,
    main: message === undefined ? runMain(run, detail) : messageMain(message, detail),
  });
}

function messageMain(message: MessageView, { at, account }: MessageDetail): Html {
  const { state: now, workflowRunId, totalMs } = message;
  return html`${facts([
    {
      name: 'State',
      value: [
        state(toneOf(message.outcome), message.outcome ?? now ?? 'unknown'),
        now?.toLowerCase() !== message.outcome && message.outcome !== undefined && sub(now),
      ],
    },
    { name: 'Account', value: account },
    { name: 'Destination', value: message.url },
    { name: 'Created', value: moment(message.createdAt, at) },
    { name: 'Ended', value: moment(message.endedAt, at) },
    { name: 'Total time', value: duration(totalMs) },
    { name: 'URL Group', value: message.topicName },
    { name: 'Queue', value: message.queueName },
    { name: 'Schedule', value: message.scheduleId },
    { name: 'Labels', value: message.labels.length > 0 && message.labels.join(', ') },
    { name: 'Flow-control key', value: message.flowControlKey },
    { name: 'Retries', value: message.maxRetries !== undefined && `at most ${formatCount(message.maxRetries)}` },
    {
      name: 'Run',
      value: workflowRunId !== undefined && idLink(messagePath(workflowRunId, account), workflowRunId),
    },
    { name: 'Trace', value: idText(message.traceId) },
  ])}
  ${unknown(message.unknown)} ${section('timeline', 'Timeline', timeline(message.timeline))}`;
}

function runMain(run: WorkflowRunView, { at, account }: MessageDetail): Html {
  const link = (id: string) => idLink(messagePath(id, account), id);
  return html`${facts([
    { name: 'State', value: run.failedAt !== undefined && state('trouble', 'failed') },
    { name: 'Account', value: account },
    { name: 'Workflow', value: run.workflowUrl },
    { name: 'Created', value: moment(run.createdAt, at) },
    { name: 'Failed', value: moment(run.failedAt, at) },
    { name: 'Status', value: run.responseStatus },
    {
      name: 'Dead letter',
      value: run.dlqId !== undefined && idLink(deadLetterPath({ id: run.dlqId, account }), run.dlqId),
    },
    { name: 'Resumed from', value: run.resumedFrom !== undefined && link(run.resumedFrom) },
    {
      name: 'Resumed as',
      value:
        run.resumedAs.length > 0 &&
        run.resumedAs.map((one) => html`<div>${link(one.workflowRunId)} ${one.outcome.replaceAll('_', ' ')}</div>`),
    },
    { name: 'Labels', value: run.labels.length > 0 && run.labels.join(', ') },
    { name: 'Flow-control key', value: run.flowControlKey },
    { name: 'Failure function', value: run.failureFunctionState },
    { name: 'Trace', value: idText(run.traceId) },
  ])}
  ${unknown(run.unknown)} ${section('timeline', 'Timeline', timeline(run.timeline))}
  ${run.messages.map((message, index) =>
    section(
      `message-${index}`,
      `Message ${index + 1}`,
      html`<p>
          ${link(message.messageId)} ${state(toneOf(message.outcome), message.outcome ?? message.state ?? 'unknown')}
        </p>
        ${timeline(message.timeline)}`,
    ),
  )}`;
}

function unknown(sentences: readonly string[]): HtmlValue {
  return (
    sentences.length > 0 &&
    html`<ul class="faint">
      ${sentences.map((text) => html`<li>${text}</li>`)}
    </ul>`
  );
}

function toneOf(outcome: string | undefined): Tone {
  if (outcome === 'delivered') return 'ok';
  return outcome === 'failed' ? 'trouble' : 'off';
}

function timeline(events: readonly TimelineEvent[]): Html {
  return table<TimelineEvent>({
    caption: 'Oldest first.',
    rows: events,
    empty: 'Nothing is known about it. Entries of the log and acts of the daemon appear here.',
    columns: [
      { title: 'Time', cell: (row) => time(row.at) },
      { title: 'Event', wide: true, cell: event },
      { title: 'Waited', align: 'number', cell: (row) => row.kind === 'attempt' && duration(row.attempt.waitedMs) },
      { title: 'Duration', align: 'number', cell: (row) => row.kind === 'attempt' && duration(row.attempt.durationMs) },
      { title: 'Response', wide: true, cell: response },
      { title: 'Since the event before', align: 'number', minor: true, cell: (row) => duration(row.sinceMs) },
    ],
  });
}

const ATTEMPT_TONE: Readonly<Record<AttemptView['outcome'], Tone>> = {
  delivered: 'ok',
  failed: 'attention',
  in_progress: 'off',
};

function event(row: TimelineEvent): HtmlValue {
  switch (row.kind) {
    case 'attempt':
      return [
        state(
          ATTEMPT_TONE[row.attempt.outcome],
          `attempt ${row.attempt.number} ${row.attempt.outcome.replaceAll('_', ' ')}`,
        ),
        row.attempt.nextDeliveryAt !== undefined &&
          html`<span class="sub">next one ${time(row.attempt.nextDeliveryAt)}</span>`,
      ];
    case 'ended':
      return state(toneOf(row.outcome), row.outcome);
    case 'action':
      return [
        `the daemon: ${row.action.action}`,
        sub(`${row.action.policy}: ${row.action.outcome.replaceAll('_', ' ')}`),
      ];
    case 'created':
    case 'due':
    case 'cancel_requested':
    case 'failure_callback':
      return row.kind.replaceAll('_', ' ');
  }
}

function response(row: TimelineEvent): HtmlValue {
  if (row.kind === 'failure_callback') return row.responseStatus;
  if (row.kind !== 'attempt') return undefined;
  const { responseStatus, failure, error } = row.attempt;
  const head = responseStatus === undefined ? failure : `HTTP ${responseStatus}`;
  return head === undefined && error === undefined ? undefined : [head, sub(error)];
}

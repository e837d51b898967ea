/** Page of one message: its request, its timeline, and its last response. */
import { formatCount } from '#foundation/domain/counted.ts';
import { formatElapsed } from '#foundation/domain/time-text.ts';
import {
  address,
  blockText,
  facts,
  idLink,
  link,
  moment,
  notice,
  section,
  sub,
  table,
  timePiece,
  wide,
  type Cell,
  type GanttRow,
  type Look,
  type Table,
} from '#foundation/markup/cell.ts';
import { logEntryJson } from '../http/message-json.ts';
import { ApiError } from '../state/api-error.ts';
import type { LogEntry } from '../state/log.ts';
import type { Message, State } from '../state/message.ts';
import { pathTo, type ShownPage, type PageRequest } from './frame.ts';
import { messageLink, stateText } from './messages.ts';
import { PAGES_PATH } from './page-names.ts';

const MOST_ENTRIES = 200;
const MOST_CHARACTERS = 20_000;

export function messagePage(request: PageRequest): ShownPage {
  const { deps, service, state, now, params } = request;
  const id = params['messageId']!;
  const message = messageOf(request, id);
  const { rows: entries } = state.log.page(
    { from: -Infinity, to: Infinity, order: 'oldest' },
    { messageId: id },
    MOST_ENTRIES,
  );
  // The API's form of the message: redacted fields stay redacted.
  const entry = { sequence: 0, time: now, state: message.state, message, outcome: message.lastOutcome };
  const json = logEntryJson(
    { ...entry, nextDeliveryTime: undefined },
    { headerNames: service.headerNames, switches: deps.switches },
  );
  const { workflow, failureNotice, delivery, dlqId } = message;
  return {
    title: `Message ${id}`,
    path: `${PAGES_PATH}/messages/${encodeURIComponent(id)}`,
    main: [
      facts({
        State: stateText(message.state),
        Destination: address(`${json.method} ${json.url}`),
        Created: moment(message.createdAt, now),
        'Not before': message.notBefore > message.createdAt && moment(message.notBefore, now),
        Attempts: `${message.attempts} of ${json.maxRetries + 1}`,
        'Retry delay': json.retryDelayExpression,
        'URL Group': json.topicName,
        Queue: json.queueName,
        Schedule: json.scheduleId,
        Labels: json.labels?.join(', '),
        'Flow-control key': delivery.flowControl?.key,
        Run: workflow && link(pathTo(request, '/', { q: workflow.runId }), workflow.runId),
        'Dead letter': dlqId !== undefined && idLink(pathTo(request, `${PAGES_PATH}/dead-letters`), dlqId),
        Callback: json.callback && address(json.callback),
        'Failure callback': json.failureCallback && address(json.failureCallback),
        'Failure report': failureNotice && messageLink(request, failureNotice.id),
      }),
      section('timeline', 'Timeline', timeline(entries, now)),
      section('request', 'Request', httpText(`${json.method} ${json.url}`, json.header, json)),
      message.lastOutcome !== undefined &&
        section(
          'response',
          'Last response',
          json.responseStatus === undefined
            ? notice('trouble', json.error)
            : httpText(String(json.responseStatus), json.responseHeaders, { body: json.responseBody }),
        ),
    ],
  };
}

/** A dead letter may outlive the log. */
function messageOf({ state }: PageRequest, id: string): Message {
  const dead = [state.dlq, state.workflowDlq].flatMap((queue) => [...queue.deadLetters()]);
  const message = state.messages.get(id) ?? dead.find((one) => one.message.id === id)?.message;
  if (message === undefined) throw new ApiError(404, `There is no message ${id.slice(0, 200)}.`);
  return message;
}

const LOOKS: Partial<Readonly<Record<State, Look>>> = { DELIVERED: 'ok', ERROR: 'trouble', FAILED: 'trouble' };

function timeline(entries: readonly LogEntry[], now: number): Cell {
  const rows = attempts(entries, now);
  const events = eventTable(entries);
  return rows.length === 0 ? events : { piece: 'gantt', title: 'Attempts and waits', rows, events };
}

/** An attempt lasts from its entry ACTIVE to the next entry. */
function attempts(entries: readonly LogEntry[], now: number): GanttRow[] {
  const rows: GanttRow[] = [];
  let free = entries[0]?.time ?? now;
  for (const [index, { state, time: from }] of entries.entries()) {
    if (state !== 'ACTIVE') continue;
    const end = entries[index + 1];
    const to = end?.time ?? now;
    const { status, error } = end?.outcome ?? {};
    const about = [end?.state.toLowerCase() ?? 'in progress', formatElapsed(to - from), status ?? error?.slice(0, 80)];
    const text = `attempt ${rows.length + 1}: ${about.filter((part) => part !== undefined).join(', ')}`;
    const wait = { from: free, to: from, look: 'faint' as const, text: `waits ${formatElapsed(from - free)}` };
    const bar = { from, to, look: (end && LOOKS[end.state]) ?? 'busy', text };
    rows.push({ name: text, bars: from > free ? [wait, bar] : [bar] });
    free = to;
  }
  return rows;
}

function eventTable(entries: readonly LogEntry[]): Table {
  return table<LogEntry>({
    caption: 'Entries of the log, oldest first.',
    rows: entries,
    empty: 'The log no longer has entries of this message.',
    columns: {
      Time: ({ time }) => timePiece(time),
      State: ({ state, nextDeliveryTime }) => [
        stateText(state),
        nextDeliveryTime !== undefined && sub(['next attempt ', timePiece(nextDeliveryTime)]),
      ],
      Response: wide(({ outcome }) => outcome && [outcome.status, sub(outcome.error)]),
    },
  });
}

interface Body {
  readonly body?: string | undefined;
  readonly bodyBase64?: string | undefined;
}

function httpText(
  start: string,
  headers: Readonly<Record<string, readonly string[]>> = {},
  { body, bodyBase64 }: Body,
): Cell {
  const text = body ?? (bodyBase64 === undefined ? '' : `base64: ${bodyBase64}`);
  const head = [start, ...Object.entries(headers).map(([name, values]) => `${name}: ${values.join(', ')}`)];
  return [
    blockText([...head, '', text.slice(0, MOST_CHARACTERS)].join('\n')),
    text.length > MOST_CHARACTERS &&
      sub(`the first ${formatCount(MOST_CHARACTERS)} of ${formatCount(text.length)} characters`),
  ];
}

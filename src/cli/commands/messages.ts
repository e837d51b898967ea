/** `opsd messages list` and `opsd messages show`: the message log, read through the daemon. */
import { formatSpan } from '#foundation/domain/time-text.ts';
import { textOption, valueOption, type Call, type Command } from '../command.ts';
import type { MessageRow, MessagesView } from '#operate/contract/messages.ts';
import type { Query } from '../daemon-exchange.ts';
import { request } from '../daemon-request.ts';
import { daemonCommand } from '../daemon-command.ts';
import { runList } from '../list.ts';
import {
  ACCOUNT_OPTION,
  filterOption,
  filtersOf,
  LIST_OPTIONS,
  SINCE_OPTION,
  periodOption,
  UNTIL_OPTION,
} from '../list-options.ts';
import { textStyle } from '../output.ts';
import { WATCH_OPTION } from '../watch.ts';
import { sheetText } from '#operate/show/text.ts';

export const messagesListCommand: Command = {
  name: 'messages list',
  summary: 'Search the message log of the service: one row a message.',
  options: {
    account: ACCOUNT_OPTION,
    state: valueOption('STATE', 'Entries in this state: CREATED, ACTIVE, ERROR, IN_PROGRESS, DELIVERED, …'),
    label: filterOption('Messages with this label.'),
    destination: valueOption('URL', 'Messages to this URL, to URLs that begin with it, or to this host.'),
    'response-status': filterOption('Entries with this status: 503, or 5xx.'),
    'topic-name': valueOption('VALUE', 'Messages of this URL Group.'),
    'queue-name': valueOption('VALUE', 'Messages of this queue.'),
    'schedule-id': valueOption('VALUE', 'Messages of this schedule.'),
    'message-id': valueOption('ID', 'This message; opsd messages show ID has its timeline.'),
    since: SINCE_OPTION,
    'from-date': { ...SINCE_OPTION, help: 'Same as --since.' },
    'to-date': UNTIL_OPTION,
    ...LIST_OPTIONS,
  },
  details:
    'The daemon reads the log within its request budget, up to 5 requests for each 100 rows. STATE, STATUS and ERROR are ' +
    'those of the newest entry that matches; AGE is its age.',
  examples: ['opsd messages list --state ERROR --since 1h', 'opsd messages list --label billing --limit 500 -o name'],
  run: (call) =>
    runList<MessageRow, MessagesView>(call, {
      path: '/api/v1/messages',
      query: queryOf(call),
      key: 'messages',
      collectors: [],
      columns: [
        { title: 'MESSAGE', text: ({ messageId }) => messageId, isWhole: true },
        { title: 'STATE', text: ({ state }) => state ?? 'unknown' },
        { title: 'AGE', text: ({ at }, now) => formatSpan(Math.max(0, now - at)), align: 'right' },
        { title: 'STATUS', text: ({ responseStatus }) => responseStatus?.toString() ?? '–', align: 'right' },
        { title: 'DESTINATION', text: ({ url, topicName, queueName }) => url ?? topicName ?? queueName ?? '–' },
        { title: 'ERROR', text: ({ error }) => error ?? '' },
        { title: 'TIME', text: ({ at }) => new Date(at).toISOString(), isWide: true },
        { title: 'NEXT', text: ({ nextDeliveryTime }) => isoOf(nextDeliveryTime), isWide: true },
        { title: 'LABELS', text: ({ labels }) => labels.join(','), isWide: true },
        { title: 'RUN', text: ({ workflowRunId }) => workflowRunId ?? '–', isWide: true },
        { title: 'TRACE', text: ({ traceId }) => traceId, isWide: true },
      ],
      id: ({ messageId }) => messageId,
      empty: 'No message in the log matches. The service keeps its log for days to weeks.',
    }),
};

function isoOf(time: number | undefined): string {
  return time === undefined ? '–' : new Date(time).toISOString();
}

function queryOf({ io, values }: Call): Query {
  const account = textOption(values, 'account');
  return { account, ...filtersOf(values), ...periodOption(values, io.clock.now()) };
}

export const messagesShowCommand = daemonCommand({
  name: 'messages show',
  summary: 'Show the timeline of one message or run: waits, attempts, actions.',
  operands: { usage: 'ID', min: 1, max: 1 },
  options: {
    account: { ...ACCOUNT_OPTION, help: 'Account of the id; default: all are searched.' },
    watch: WATCH_OPTION,
  },
  needs: { writes: false, collectors: ['workflowDlq'] },
  details:
    'ID is a message, a failed workflow run, or an entry of either DLQ. The daemon reads the log of the service, and adds ' +
    'what its own ledger knows.\nExit code: 1 if the id is unknown.',
  examples: ['opsd messages show msg_7YoJxFpwkEy5zBp378JgvD6YBDPBEqkBPje', 'opsd messages show wfr_k2f -o json'],
  async answer(call, findDaemon) {
    const asked = { id: call.positionals[0]!, query: { account: textOption(call.values, 'account') } };
    const data = await request(await findDaemon(), 'GET /api/v1/messages/{id}', asked);
    const { messageSheet } = await import('#operate/show/message.ts');
    const { title, content } = messageSheet(data);
    return { data, text: () => sheetText(title, content, textStyle(call.io)) };
  },
});

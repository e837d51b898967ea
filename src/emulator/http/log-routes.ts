/** Listing the message log: newest first by default, each entry once however much is added meanwhile. */
import type { LogEntry } from '../state/log-chunk.ts';
import type { LogFilter } from '../state/log-filter.ts';
import type { LogPage } from '../state/log.ts';
import { queryOf, stateOf, type MessageContext } from './message-context.ts';
import { logEntryJson } from './message-json.ts';
import type { State } from '../state/message.ts';
import type { LogStateFilter } from '../openapi/query-parameters.ts';
import { cursorAt, cursorField, type Query } from './query.ts';
import type { ApiRequest, ApiResponse, Route } from './route.ts';

export function logRoutes(context: MessageContext): readonly Route[] {
  return [
    {
      api: 'message',
      operation: 'list-logs',
      method: 'GET',
      pattern: '/v2/logs',
      handle: (request) => listLogs(context, request),
    },
  ];
}

/** Values of the `state` filter and the states they mean. FAILED is no value of it. */
const STATE_FILTERS: Readonly<Record<LogStateFilter, readonly State[]>> = {
  CREATED: ['CREATED'],
  ACTIVE: ['ACTIVE'],
  RETRY: ['RETRY'],
  ERROR: ['ERROR'],
  IN_PROGRESS: ['ACTIVE', 'RETRY', 'ERROR'],
  DELIVERED: ['DELIVERED'],
  CANCEL_REQUESTED: ['CANCEL_REQUESTED'],
  CANCELLED: ['CANCELLED'],
  CANCELED: ['CANCELLED'],
};

function listLogs(context: MessageContext, request: ApiRequest): ApiResponse {
  const { log, messages } = stateOf(context, request);
  const query = queryOf(context, request, 'list-logs');
  const messageId = query.one('messageId');
  const filter = logFilter(query);
  const { from, to } = query.window();
  const count = query.pageSize();
  const after = query.cursor('log');
  query.finish();
  const kept = log.keptSince(context.clock.now());
  const window = { from: Math.max(from, kept), to, order: context.switches.logOrder, after };
  // A message is known as long as the log has entries of it.
  const message = messageId === undefined ? undefined : messages.get(messageId);
  const unknown = messageId !== undefined && message === undefined;
  const { logEntries } = context.switches;
  const told = { ...filter, message, ...(logEntries !== 'transitions' && presentState(filter, logEntries)) };
  const page: LogPage = unknown ? { rows: [] } : log.page(window, told, count);
  return {
    status: 200,
    json: {
      ...cursorField(page.last && cursorAt('log', page.last), context.switches),
      logs: page.rows.map((entry) => logEntryJson(logEntries === 'at-creation' ? asItIsNow(entry) : entry, context)),
    },
  };
}

/** One entry for each message: the latest one, or the first, which tells of the present instead. */
function presentState({ states }: LogFilter, at: 'latest' | 'at-creation'): LogFilter {
  return at === 'latest' ? { latest: true } : { states: ['CREATED'], present: states };
}

function asItIsNow(entry: LogEntry): LogEntry {
  const { state, lastOutcome } = entry.message;
  return { ...entry, state, outcome: lastOutcome, nextDeliveryTime: undefined };
}

function logFilter(query: Query): LogFilter {
  const state = query.choice('state') as LogStateFilter | undefined;
  return {
    states: state && STATE_FILTERS[state],
    url: query.one('url'),
    topicName: query.one('topicName'),
    scheduleId: query.one('scheduleId'),
    queueName: query.one('queueName'),
    labels: query.many('label'),
  };
}

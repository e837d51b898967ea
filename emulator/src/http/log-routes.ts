/** Lists the message log, newest first by default. Each entry appears once, also while entries are added. */
import type { LogEntry, LogFilter } from '../state/log.ts';
import { queryOf, stateOf, type MessageContext } from './message-context.ts';
import { logEntryJson } from './message-json.ts';
import type { State } from '../state/message.ts';
import type { LogStateFilter } from './query-parameters.ts';
import { cursorAt, cursorField, type Query } from './query.ts';
import type { ReceivedRequest, ApiResponse } from './route.ts';

/** Values of the `state` filter, with the states of each. The filter has no value FAILED. */
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

export function listLogs(context: MessageContext, request: ReceivedRequest): ApiResponse {
  const { log } = stateOf(context, request);
  const query = queryOf(context, request, 'list-logs');
  const filter = logFilter(query);
  const { from, to } = query.window();
  const count = query.pageSize();
  const after = query.cursor('log');
  query.finish();
  const kept = log.keptSince(context.clock.now());
  const window = { from: Math.max(from, kept), to, order: context.switches.logOrder, after };
  const { logEntries } = context.switches;
  const told = { ...filter, ...(logEntries !== 'transitions' && presentState(filter, logEntries)) };
  const page = log.page(window, told, count);
  return {
    status: 200,
    json: {
      ...cursorField(page.last && cursorAt('log', page.last), context.switches),
      logs: page.rows.map((entry) => logEntryJson(logEntries === 'at-creation' ? asItIsNow(entry) : entry, context)),
    },
  };
}

/** Selects one entry for each message: the latest, or the first with the present state. */
function presentState({ state }: LogFilter, at: 'latest' | 'at-creation'): LogFilter {
  return at === 'latest' ? { latest: true } : { state: new Set(['CREATED']), present: state };
}

function asItIsNow(entry: LogEntry): LogEntry {
  const { state, lastOutcome } = entry.message;
  return { ...entry, state, outcome: lastOutcome, nextDeliveryTime: undefined };
}

function logFilter(query: Query): LogFilter {
  const state = query.choice('state') as LogStateFilter | undefined;
  return {
    messageId: query.one('messageId'),
    state: state && new Set(STATE_FILTERS[state]),
    url: setOf(query.one('url')),
    topicName: setOf(query.one('topicName')),
    scheduleId: setOf(query.one('scheduleId')),
    queueName: setOf(query.one('queueName')),
    label: query.many('label'),
  };
}

function setOf(value: string | undefined): ReadonlySet<string> | undefined {
  return value === undefined ? undefined : new Set([value]);
}

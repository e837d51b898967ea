/** Routes of messages: the search of the log, and the timeline of one message or run. */
import { z } from 'zod';
import { LOG_STATES } from '#foundation/domain/log-entry.ts';
import {
  boundedText,
  cursorParameter,
  limitParameter,
  pastOf,
  pastParameter,
  readQuery,
  textParameter,
} from '../http/query.ts';
import { HttpError, json, type Reply } from '../http/reply.ts';
import type { ApiContext, ApiDeps, ApiRoute } from './api-deps.ts';
import { knownAccount } from './known-account.ts';
import { readMessage, type MessageDetail } from './message-detail.ts';
import { searchMessages, type LogFilters, type MessagesView } from './messages.ts';

export const MESSAGE_ROUTES: readonly ApiRoute[] = [
  { path: '/api/v1/messages', method: 'GET', handle: messages, query: () => messagesQuery },
  { path: '/api/v1/messages/{id}', method: 'GET', handle: message, query: () => messageQuery },
];

const messagesQuery = z.strictObject({
  account: textParameter('Account; required if several accounts have a message API.'),
  messageId: textParameter('Id of the message.'),
  state: z
    .enum(LOG_STATES, `must be one of ${LOG_STATES.join(', ')}`)
    .exactOptional()
    .describe('State of the entries. `IN_PROGRESS` is ACTIVE, RETRY, or ERROR.'),
  url: textParameter('Destination.'),
  topicName: textParameter('URL Group.'),
  scheduleId: textParameter('Schedule.'),
  queueName: textParameter('Queue.'),
  label: z
    .array(boundedText(1_000))
    .max(20, 'has more than 20 values')
    .exactOptional()
    .describe('Any of these labels.'),
  fromDate: pastParameter('Only entries since this time'),
  toDate: pastParameter('Only entries until this time'),
  since: pastParameter('Same as `fromDate`'),
  limit: limitParameter({ standard: 50, max: 200 }),
  cursor: cursorParameter(),
});

const messageQuery = messagesQuery.pick({ account: true });

async function messages(context: ApiContext): Promise<Reply> {
  return json(200, await searchedMessages(context));
}

type ViewRequest = Pick<ApiContext, 'deps' | 'query' | 'signal' | 'mayTakeLong'>;

/** Searches the log with the parameters of a request. @throws {HttpError} */
export async function searchedMessages(context: ViewRequest): Promise<MessagesView> {
  const { deps, query, signal } = context;
  const { account, since, fromDate, toDate, label, limit, cursor, ...filters } = readQuery(query, messagesQuery);
  if (since !== undefined && fromDate !== undefined) {
    throw new HttpError(400, 'bad_request', 'since and fromDate name the same time; remove one of them.');
  }
  const now = deps.clock.now();
  const from = since === undefined ? fromDate : since;
  const times = {
    ...(from !== undefined && { fromDate: pastOf(from, now) }),
    ...(toDate !== undefined && { toDate: pastOf(toDate, now) }),
  };
  const [first, ...rest] = label ?? [];
  const all: LogFilters = { ...filters, ...times, ...(first !== undefined && { label: [first, ...rest] }) };
  context.mayTakeLong();
  const asked = { filters: all, limit, ...(cursor !== undefined && { cursor }) };
  return searchMessages(deps, readableAccount(deps, account), asked, signal);
}

async function message(context: ApiContext): Promise<Reply> {
  return json(200, await foundMessage(context));
}

/** Reads one message or run. @throws {HttpError} 404 if no account has the id */
export async function foundMessage(context: ViewRequest & Pick<ApiContext, 'id'>): Promise<MessageDetail> {
  const { deps, query, id, signal } = context;
  const account = knownAccount(deps, readQuery(query, messageQuery).account);
  const accounts = account === undefined ? readable(deps) : [account];
  context.mayTakeLong();
  const found = await readMessage(deps, accounts, id, signal);
  if (found !== undefined) return found;
  const where = accounts.length === 0 ? 'no account has a message API' : `accounts: ${accounts.join(', ')}`;
  throw new HttpError(
    404,
    'unknown_id',
    `The id ${id.slice(0, 200)} is in no message log and is no failed workflow run (${where}).`,
  );
}

function readable({ accounts, liveReads }: ApiDeps): string[] {
  return accounts.map(({ name }) => name).filter((name) => liveReads.canRead(name));
}

/** Account to search. @throws {HttpError} 400 if it is not named and there are several */
function readableAccount(deps: ApiDeps, name: string | undefined): string {
  const given = knownAccount(deps, name);
  if (given !== undefined) return given;
  const accounts = readable(deps);
  if (accounts.length === 1) return accounts[0]!;
  const why = accounts.length === 0 ? 'no account has a message API' : `it must be one of: ${accounts.join(', ')}`;
  throw new HttpError(400, 'bad_request', `account is required; ${why}.`);
}

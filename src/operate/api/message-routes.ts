/** Routes of messages: the search of the log, and the timeline of one message or run. */
import { getMessage, searchMessages, type MessageDetail, type MessagesView } from '../contract/messages.ts';
import { pastOf } from '../http/query.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiDeps, ApiRoute } from './api-deps.ts';
import { implement, type Given } from './implement.ts';
import { knownAccount } from './known-account.ts';
import { readMessage } from './message-detail.ts';
import { searchLog, type LogFilters } from './messages.ts';

export const MESSAGE_ROUTES: readonly ApiRoute[] = [
  implement(searchMessages, searchedMessages),
  implement(getMessage, foundMessage),
];

/** Searches the log with the parameters of a request. @throws {HttpError} */
export async function searchedMessages({
  deps,
  query,
  signal,
}: Pick<Given<typeof searchMessages>, 'deps' | 'query' | 'signal'>): Promise<MessagesView> {
  const { account, since, fromDate, toDate, label, limit, cursor, ...filters } = query;
  if (since !== undefined && fromDate !== undefined) {
    throw new HttpError(400, 'bad_request', 'since and fromDate name the same time; remove one of them.');
  }
  const now = deps.clock.now();
  const [from, to] = [since ?? fromDate, toDate].map((text) => (text === undefined ? undefined : pastOf(text, now)));
  const [first, ...rest] = label ?? [];
  const all: LogFilters = {
    ...filters,
    fromDate: from,
    toDate: to,
    label: first === undefined ? undefined : [first, ...rest],
  };
  return searchLog(deps, readableAccount(deps, account), { filters: all, limit, cursor }, signal);
}

/** Reads one message or run. @throws {HttpError} 404 if no account has the id */
export async function foundMessage({
  deps,
  query,
  id,
  signal,
}: Pick<Given<typeof getMessage>, 'deps' | 'query' | 'id' | 'signal'>): Promise<MessageDetail> {
  const account = knownAccount(deps, query.account);
  const accounts = account === undefined ? readable(deps) : [account];
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

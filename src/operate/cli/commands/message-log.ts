/** Message API of an account for a command, and the log of one message. */
import type { LogQuery, MessageApi } from '#service/api.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Account } from '#config/config.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { keepAlive } from '#foundation/platform/keep-alive.ts';
import { CommandError, type CliIo } from '../command.ts';

const PAGE_SIZE = 100;
/** Page limit, far above the entries of a message, for a listing that never ends. */
const MOST_PAGES = 50;

/**
 * Runs the work with the message API of an account.
 *
 * @throws {CommandError} if the account has no such API, or it does not respond
 */
export async function withMessageApi<T>(
  { account, io }: { readonly account: Account; readonly io: CliIo },
  work: (api: MessageApi) => Promise<T>,
): Promise<T> {
  const { messageApi } = account;
  if (messageApi === undefined) throw new CommandError(`account ${account.name} has no message API configured`);
  if (messageApi.url === 'embedded') {
    throw new CommandError(`account ${account.name} is embedded in its daemon, so a command cannot read its log`);
  }
  const { createClient } = await import('#service/create-client.ts');
  const { EventBus } = await import('#foundation/events/events.ts');
  const { systemRandom } = await import('#foundation/platform/random.ts');
  const { Secret } = await import('#foundation/platform/secret.ts');
  const { url, token, tokenFile } = messageApi;
  // Between two attempts nothing else keeps the process alive.
  using _alive = keepAlive();
  await using client = createClient(
    {
      account: account.name,
      messageApi: { url, token: token === undefined ? Secret.fromFile(tokenFile!) : Secret.of(token) },
      wire: account.wire,
      limits: account.client,
    },
    { clock: io.clock, events: new EventBus(), random: systemRandom },
  );
  const api = client.message!;
  try {
    return await work(api);
  } catch (error) {
    io.signal.throwIfAborted();
    if (error instanceof CommandError) throw error;
    throw new CommandError(`the log of account ${account.name} cannot be read: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

/** Returns a function that reads all entries of a message, or those of a state. */
export function readerOf(
  api: MessageApi,
  messageId: string,
  signal: AbortSignal,
): (state?: LogQuery['state']) => Promise<readonly LogEntry[]> {
  return (state) => entriesOf(api, { messageId, ...(state !== undefined && { state }) }, signal);
}

async function entriesOf(api: MessageApi, query: LogQuery, signal: AbortSignal): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const asked = { ...query, count: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
    const answer = await api.listLogs(asked, { signal });
    // The service may have ignored the filter.
    entries.push(...answer.value.filter(({ messageId }) => messageId === query.messageId));
    cursor = answer.cursor;
    if (cursor === undefined) return entries;
  }
  throw new Error(`it has more than ${MOST_PAGES} pages of entries for one message`);
}

/** Log of one message: all of its entries, page by page. */
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { LogQuery, MessageApi } from './api.ts';

const PAGE_SIZE = 100;
/** Page limit, far above the entries of a message, for a listing that never ends. */
const MOST_PAGES = 50;

/** Part of the message API that reads the log. */
type LogReader = Pick<MessageApi, 'listLogs'>;

/** Returns a function that reads all entries of a message, or those of a state. */
export function readerOf(
  api: LogReader,
  messageId: string,
  signal: AbortSignal,
): (state?: LogQuery['state']) => Promise<readonly LogEntry[]> {
  return (state) => entriesOf(api, { messageId, state }, signal);
}

async function entriesOf(api: LogReader, query: LogQuery, signal: AbortSignal): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const asked = { ...query, count: PAGE_SIZE, cursor };
    const answer = await api.listLogs(asked, { signal });
    // The service may have ignored the filter.
    entries.push(...answer.value.filter(({ messageId }) => messageId === query.messageId));
    cursor = answer.cursor;
    if (cursor === undefined) return entries;
  }
  throw new Error(`it has more than ${MOST_PAGES} pages of entries for one message`);
}

/** Pages of the messages: search in the log by its filters, and one message. Each search sends requests to the service. */
import { LOG_STATES } from '#foundation/domain/log-entry.ts';
import { counted, formatCount } from '../api/format.ts';
import { foundMessage, searchedMessages } from '../api/message-routes.ts';
import { recentFailures } from '../api/messages.ts';
import { getMessage, searchMessages, type MessageRow, type MessagesView } from '../contract/messages.ts';
import { readQuery } from '../http/query.ts';
import type { Reply } from '../http/reply.ts';
import { accountField, filterForm, queryFilters, nextLink, readFilters } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { messageSheet } from '../show/message.ts';
import { messagePath } from '../contract/page-paths.ts';
import {
  address,
  type Cell,
  idLink,
  moment,
  numberColumn,
  section,
  state,
  sub,
  table,
  type Tone,
  wide,
} from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';

export async function messagesPage(context: PageContext): Promise<Reply> {
  const { deps, query } = context;
  const accounts = deps.accounts.filter(({ name }) => deps.liveReads.canRead(name));
  const filters = queryFilters(query);
  // The form has been sent, possibly without a filter.
  const isAsked = filters.size > 0 || query.has('messageId');
  const isClear = accounts.length === 1 || filters.has('account');
  if (isAsked) context.mayTakeLong();
  const found =
    isAsked && isClear
      ? await searchedMessages({ ...context, query: readQuery(filters, searchMessages.query) })
      : undefined;
  return showPage(context, {
    title: 'Messages',
    section: '/messages',
    isStill: true,
    main: html`${filterForm('/messages', query, [
      { name: 'messageId', label: 'Message id' },
      ...accountField(accounts),
      { name: 'state', label: 'State', options: LOG_STATES },
      { name: 'url', label: 'Destination', example: 'host or URL' },
      { name: 'responseStatus', label: 'Status', example: '5xx' },
      { name: 'label', label: 'Label' },
      { name: 'topicName', label: 'URL Group' },
      { name: 'queueName', label: 'Queue' },
      { name: 'scheduleId', label: 'Schedule' },
      { name: 'since', label: 'Since', example: '2h' },
      { name: 'toDate', label: 'Until', example: '30m' },
    ])}
    ${found === undefined ? unasked(context, isAsked, accounts) : results(found)}
    ${nextLink('/messages', query, found?.cursor)}`,
  });
}

function unasked({ deps }: PageContext, isAsked: boolean, accounts: PageContext['deps']['accounts']): Cell {
  if (accounts.length === 0) {
    return html`<p class="empty">
      No account has a message API, so no log can be searched. Configure <code>messageApi</code> of an account.
    </p>`;
  }
  if (isAsked) return html`<p class="empty">Choose the account. A search sends up to five requests.</p>`;
  const names = accounts.map(({ name }) => name);
  const rows = recentFailures(deps, names);
  return section(
    'failures',
    'Recent failures',
    html`${messageTable(rows, deps.clock.now(), {
        caption: 'Newest failed deliveries that the daemon has read since it started.',
        empty: 'No delivery has failed since the daemon started.',
      })}
      <p class="faint">A search reads the log of the service: up to five requests.</p>`,
  );
}

const STATE_TONE: Readonly<Record<string, Tone>> = {
  DELIVERED: 'ok',
  ERROR: 'attention',
  RETRY: 'attention',
  FAILED: 'trouble',
};

function results({ messages, at, read, cursor }: MessagesView): Cell {
  const { pages, entries, dropped, mismatched } = read;
  return section(
    'messages',
    counted(messages.length, 'message'),
    html`${messageTable(messages, at, {
        caption: 'Newest first, each with its newest entry.',
        empty:
          cursor === undefined
            ? 'No message matches. The log keeps messages for a limited time.'
            : 'No message matches so far. The next page continues.',
      })}
      <p class="faint">
        ${counted(entries, 'entry', 'entries')} on ${counted(pages, 'page')}
        read${dropped > 0 && `, ${formatCount(dropped)} invalid dropped`}${mismatched > 0 && `, ${formatCount(mismatched)} without a match left out`}.
      </p>`,
  );
}

function messageTable(
  rows: readonly MessageRow[],
  at: number,
  texts: { readonly caption: string; readonly empty: string },
): Cell {
  return table<MessageRow>({
    ...texts,
    rows,
    columns: {
      Message: wide((row) => [idLink(messagePath(row.messageId, row.account), row.messageId), sub(row.account)]),
      State: (row) => row.state !== undefined && state(STATE_TONE[row.state] ?? 'off', row.state),
      Destination: wide((row) => [row.url === undefined ? row.queueName : address(row.url), sub(row.topicName)]),
      Status: numberColumn((row) => row.responseStatus),
      Error: wide((row) => row.error),
      Labels: wide((row) => row.labels.length > 0 && row.labels.join(', ')),
      Time: (row) => moment(row.at, at),
    },
  });
}

export async function messagePage(context: PageContext): Promise<Reply> {
  context.mayTakeLong();
  const { title, content } = messageSheet(
    await foundMessage({ ...context, query: readFilters(context.query, getMessage) }),
  );
  return showPage(context, { title, section: '/messages', isStill: true, main: content });
}

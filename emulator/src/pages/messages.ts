/** Page of the messages, newest first. */
import { formatCount } from '#foundation/domain/counted.ts';
import {
  address,
  figures,
  idLink,
  moment,
  numberColumn,
  state as statePiece,
  sub,
  table,
  wide,
  type Cell,
  type Piece,
  type Tone,
} from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';
import { STATES, type Message, type State } from '../state/message.ts';
import { pathTo, type ShownPage, type PageRequest } from './frame.ts';
import { PAGES_PATH } from './page-names.ts';

const MOST_ROWS = 100;

const TONES: Readonly<Record<State, Tone>> = {
  CREATED: 'off',
  ACTIVE: 'busy',
  RETRY: 'attention',
  ERROR: 'attention',
  DELIVERED: 'ok',
  FAILED: 'trouble',
  CANCEL_REQUESTED: 'off',
  CANCELLED: 'off',
};

export function stateText(state: State): Piece {
  return statePiece(TONES[state], state.toLowerCase().replaceAll('_', ' '));
}

export function messageLink(request: PageRequest, id: string): Piece {
  return idLink(pathTo(request, `${PAGES_PATH}/messages/${encodeURIComponent(id)}`), id);
}

export function messagesPage(request: PageRequest): ShownPage {
  const { state, query, now } = request;
  const all = [...state.messages.values()].toReversed();
  const wanted = query.get('state') ?? '';
  const text = query.get('q')?.trim().toLowerCase() ?? '';
  const found = all.filter(
    (message) => (wanted === '' || message.state === wanted) && (text === '' || mentions(message, text)),
  );
  const more = found.length - MOST_ROWS;
  return {
    title: 'Messages',
    path: '/',
    main: html`${counts(request, all)} ${filters(request, wanted, text)}
    ${table<Message>({
      caption: `Newest first${more > 0 ? `: ${MOST_ROWS} of ${formatCount(found.length)}` : ''}.`,
      rows: found.slice(0, MOST_ROWS),
      empty:
        all.length > 0
          ? 'No message matches.'
          : html`No message yet. <a href="${pathTo(request, `${PAGES_PATH}/publish`)}">Publish one</a>, or point your
              client at this address.`,
      columns: {
        Message: ({ id, workflow }) => [messageLink(request, id), sub(workflow && `run ${workflow.runId}`)],
        State: ({ state: now }) => stateText(now),
        Destination: wide(({ url, topicName, delivery }) => [
          address(`${delivery.method} ${url}`),
          sub(topicName && `URL Group ${topicName}`),
          sub(delivery.labels.join(', ')),
        ]),
        Attempts: numberColumn(({ attempts, delivery }) => `${attempts} of ${delivery.maxRetries + 1}`),
        Response: ({ lastOutcome }) => lastOutcome && (lastOutcome.status ?? lastOutcome.error),
        Created: ({ createdAt }) => moment(createdAt, now),
      },
    })}`,
  };
}

function mentions({ id, url, topicName, workflow, queueName, scheduleId, delivery }: Message, text: string): boolean {
  const { labels, flowControl } = delivery;
  return [id, url, topicName, workflow?.runId, queueName, scheduleId, flowControl?.key, ...labels].some(
    (value) => value?.toLowerCase().includes(text) === true,
  );
}

/** States with messages, each a link to its messages. */
function counts(request: PageRequest, all: readonly Message[]): Cell {
  const sums = new Map<State, number>();
  for (const { state } of all) sums.set(state, (sums.get(state) ?? 0) + 1);
  return (
    sums.size > 0 &&
    figures(
      STATES.filter((state) => sums.has(state)).map((state) => ({
        name: state.toLowerCase().replaceAll('_', ' '),
        value: formatCount(sums.get(state)!),
        path: pathTo(request, '/', { state }),
      })),
    )
  );
}

function filters(request: PageRequest, wanted: string, text: string): Cell {
  const { service, account } = request;
  return html`<form method="get" action="/" class="filters" role="search" aria-label="Messages">
    ${service.accounts.all().length > 1 && html`<input type="hidden" name="account" value="${account.id}" />`}
    <label>Find<input name="q" type="search" value="${text}" placeholder="id, URL, label, key" /></label>
    <label
      >State
      <select name="state">
        <option value="">all</option>
        ${STATES.map((state) =>
          state === wanted
            ? html`<option value="${state}" selected>${state}</option>`
            : html`<option value="${state}">${state}</option>`,
        )}
      </select>
    </label>
    <button>Search</button>
    ${(wanted !== '' || text !== '') && html`<a href="${pathTo(request, '/')}">Remove the filters</a>`}
  </form>`;
}

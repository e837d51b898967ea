/** Page of the flow-control keys, the tightest first, with their waiting messages over time. */
import { formatCount } from '../api/format.ts';
import { readFlowControl } from '../api/flow-control.ts';
import { knownAccount } from '../api/known-account.ts';
import type { Reply } from '../http/reply.ts';
import { accountField, filterForm, queryFilters } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { bars, type Cell, minor, moment, numberColumn, section, state, sub, table, wide } from '../show/cell.ts';
import { html } from '../show/html.ts';
import type { FlowControlKeyView, FlowControlView } from '../contract/readings.ts';

/** Maximum number of listed keys. */
const MOST_KEYS = 200;

export function flowControlPage(context: PageContext): Reply {
  const { deps, query } = context;
  const account = knownAccount(deps, queryFilters(query).get('account') ?? undefined);
  const view = readFlowControl(deps, account);
  const accounts = deps.accounts.map(({ name }) => name);
  return showPage(context, {
    title: 'Flow control',
    section: '/flow-control',
    main: html`${filterForm('/flow-control', query, accountField(accounts))} ${sourceProblems(view)}
    ${section('keys', 'Keys', keys(view))}`,
  });
}

function sourceProblems({ sources }: FlowControlView): Cell {
  return sources
    .filter((source) => source.state !== 'ok')
    .map(({ account, state: now, off, lastFailure }) => {
      const why = off ?? lastFailure?.message;
      return html`<p class="notice attention">
        The keys of ${account} are missing or outdated: the collector is ${now}${why !== undefined && `: ${why}`}.
      </p>`;
    });
}

function keys({ keys: rows, at }: FlowControlView): Cell {
  const more = rows.length - MOST_KEYS;
  return html`${table<FlowControlKeyView>({
    caption: 'Paused keys with waiting messages first, then by saturation.',
    rows: rows.slice(0, MOST_KEYS),
    empty: html`No key is watched. Add keys under <code>collectors.flowControl</code>. Keys that appear in dead letters
      are found without configuration.`,
    columns: {
      Key: wide((row) => [row.flowControlKey, sub(row.account)]),
      State: wide(stateOf),
      Waiting: numberColumn((row) => formatCount(row.waitListSize)),
      Parallelism: numberColumn((row) => use(row.parallelismCount, row.parallelismMax)),
      Rate: numberColumn(rate),
      Saturation: numberColumn(({ saturation }) => saturation !== undefined && percent(saturation)),
      'Waiting over 3 hours': history,
      Read: minor((row) => moment(row.at, at)),
    },
  })}
  ${more > 0 && html`<p class="faint">And ${formatCount(more)} more; <a href="/api/v1/flow-control">as JSON</a>.</p>`}`;
}

const CONSTRAINT: Readonly<Record<NonNullable<FlowControlKeyView['constraint']>, string>> = {
  paused: 'paused',
  parallelism: 'waits for parallelism',
  rate: 'waits for the rate',
  other: 'waits',
};

function stateOf({ constraint, isPaused, isPinnedParallelism, isPinnedRate, isDiscovered }: FlowControlKeyView): Cell {
  const pinned = [isPinnedParallelism === true && 'parallelism', isPinnedRate === true && 'rate'].filter(Boolean);
  const word =
    constraint !== undefined
      ? state(constraint === 'paused' ? 'trouble' : 'attention', CONSTRAINT[constraint])
      : isPaused === true
        ? state('attention', 'paused')
        : state('ok', 'nothing waits');
  return [
    word,
    pinned.length > 0 && sub(`pinned: ${pinned.join(', ')}`),
    isDiscovered === true && sub('found in dead letters'),
  ];
}

function use(count: number | undefined, max: number | undefined): string | undefined {
  if (max === undefined) return undefined;
  return `${count === undefined ? 'unknown' : formatCount(count)} of ${formatCount(max)}`;
}

function rate({ rateCount, rateMax, ratePeriod }: FlowControlKeyView): string | undefined {
  const used = use(rateCount, rateMax);
  return used !== undefined && ratePeriod !== undefined ? `${used} in ${formatCount(ratePeriod)} s` : used;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function history({ history: points }: FlowControlKeyView): Cell {
  const values = points.map(({ waitListSize }) => waitListSize);
  const most = `at most ${formatCount(Math.max(0, ...values))}`;
  const chart = bars(values, `Waiting messages, ${most}`);
  if (chart === undefined) return values.length > 0 && 'none';
  return [chart, sub(most)];
}

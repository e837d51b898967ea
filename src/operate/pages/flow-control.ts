/** Page of the flow-control keys, the tightest first, with their waiting messages over time. */
import { formatCount } from '../api/format.ts';
import { readFlowControl } from '../api/flow-control.ts';
import type { Reply } from '../http/reply.ts';
import { accountField, filteredAccount, filterForm } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import {
  bars,
  type Cell,
  link,
  minor,
  moment,
  numberColumn,
  section,
  state,
  sub,
  table,
  timeChart,
  wide,
} from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';
import type { FlowControlKeyView, FlowControlView } from '../contract/readings.ts';

/** Maximum number of listed keys. */
const MOST_KEYS = 200;
/** A chart of a young daemon is as wide as half an hour. */
const LEAST_BUCKETS = 10;

export function flowControlPage(context: PageContext): Reply {
  const { deps, query } = context;
  const account = filteredAccount(context);
  const view = readFlowControl(deps, account);
  return showPage(context, {
    title: 'Flow control',
    section: '/flow-control',
    main: html`${filterForm('/flow-control', query, accountField(deps.accounts))} ${sourceProblems(view)}
    ${waitingChart(view)} ${section('keys', 'Keys', keys(view))}`,
  });
}

/** Sum over the keys, the highest reading of each. Unknown where no key has a reading. */
function waitingChart({ keys: all, bucketMs }: FlowControlView): Cell {
  const sums = new Map<number, number>();
  for (const { at, waitListSize } of all.flatMap((key) => key.history))
    sums.set(at, (sums.get(at) ?? 0) + waitListSize);
  if (!sums.values().some((sum) => sum > 0)) return undefined;
  const last = Math.max(...sums.keys());
  const from = Math.min(...sums.keys(), last - (LEAST_BUCKETS - 1) * bucketMs);
  const values = Array.from(
    { length: (last - from) / bucketMs + 1 },
    (_, index) => sums.get(from + index * bucketMs) ?? null,
  );
  return timeChart({
    title: 'Waiting messages of all keys',
    from,
    stepMs: bucketMs,
    format: formatCount,
    isLow: true,
    series: [{ name: 'waiting', look: 'busy', shape: 'area', values }],
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
      Parallelism: (row) => use('parallelism', row.parallelismCount, row.parallelismMax),
      Rate: rate,
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

const THROTTLED = '/messages?state=ERROR&status=429&account=';

function stateOf(key: FlowControlKeyView): Cell {
  const { account, advice, constraint, isPaused, isPinnedParallelism, isPinnedRate, isDiscovered } = key;
  const isLimited = constraint === 'parallelism' || constraint === 'rate';
  const pinned = [isPinnedParallelism === true && 'parallelism', isPinnedRate === true && 'rate'].filter(Boolean);
  const word =
    constraint !== undefined
      ? state(constraint === 'paused' ? 'trouble' : 'attention', CONSTRAINT[constraint])
      : isPaused === true
        ? state('attention', 'paused')
        : state('ok', 'nothing waits');
  return [
    word,
    advice !== undefined && [
      sub(advice),
      isLimited && sub(link(THROTTLED + encodeURIComponent(account), 'search for 429')),
    ],
    pinned.length > 0 && sub(`pinned: ${pinned.join(', ')}`),
    isDiscovered === true && sub('found in dead letters'),
  ];
}

/** Use of a limit, as a bar and in numbers. */
function use(limit: string, count: number | undefined, max: number | undefined, unit = ''): Cell {
  if (max === undefined) return undefined;
  const text = `${count === undefined ? 'unknown' : formatCount(count)} of ${formatCount(max)}${unit}`;
  if (count === undefined || max <= 0) return text;
  const look = count >= max && 'attention';
  return html`<progress class="${look}" max="${max}" value="${Math.min(count, max)}" aria-label="${limit}"></progress>
    <span class="nowrap">${text}</span>`;
}

function rate({ rateCount, rateMax, ratePeriod }: FlowControlKeyView): Cell {
  return use('rate', rateCount, rateMax, ratePeriod === undefined ? '' : ` in ${formatCount(ratePeriod)} s`);
}

function history({ history: points }: FlowControlKeyView): Cell {
  const values = points.map(({ waitListSize }) => waitListSize);
  const most = `at most ${formatCount(Math.max(0, ...values))}`;
  const chart = bars(values, `Waiting messages, ${most}`);
  if (chart === undefined) return values.length > 0 && 'none';
  return [chart, sub(most)];
}

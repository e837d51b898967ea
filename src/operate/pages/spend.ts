/** Page of the spend of the month, by account. */
import { formatCount, formatUsd } from '../api/format.ts';
import { fromStore } from '../api/from-store.ts';
import { readSpend } from '../api/spend.ts';
import type { Reply } from '../http/reply.ts';
import { filteredAccount } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import {
  type Cell,
  figures,
  moment,
  numberColumn,
  section,
  state,
  table,
  timeChart,
  wide,
} from '#foundation/markup/cell.ts';
import { clipped, html } from '#foundation/markup/html.ts';
import type { AccountSpend } from '../contract/readings.ts';

/** Maximum number of shown days. */
const MOST_DAYS = 31;
const DAY_MS = 86_400_000;

export async function spendPage(context: PageContext): Promise<Reply> {
  const { deps, signal } = context;
  const account = filteredAccount(context);
  const { accounts, at } = await fromStore(() => readSpend(deps, { account, signal }));
  return showPage(context, {
    title: 'Spend',
    section: '/spend',
    main: html`${accounts.map((one, index) => accountPart(one, at, index))}
    ${accounts.length === 0 && html`<p class="empty">No account is configured. Each account appears here.</p>`}`,
  });
}

function accountPart(spend: AccountSpend, at: number, index: number): Cell {
  const id = `account-${index}`;
  if (spend.source === undefined || spend.source.off !== undefined) {
    const why = spend.source?.off ?? 'the account has no management API';
    return section(
      id,
      spend.account,
      html`<p class="empty">The spend is unknown: ${why}. The statistics of the management API appear here.</p>`,
    );
  }
  return section(
    id,
    spend.account,
    html`${spend.readAt === undefined && html`<p class="notice attention">No fresh statistics: the amounts are unknown.</p>`}
    ${amountFigures(spend, at)} ${monthChart(spend)} ${dayCharts(spend)} ${byValue(spend)} ${raises(spend, at, index)}`,
  );
}

function amountFigures(spend: AccountSpend, at: number): Cell {
  const { monthUsd, forecastUsd, exhaustedAt, last24hUsd, dayBeforeUsd, medianDayUsd, budget: known, readAt } = spend;
  const ofBudget =
    monthUsd !== undefined && known?.knownUsd
      ? `${Math.round((100 * monthUsd) / known.knownUsd)} % of the budget`
      : undefined;
  const exhausted = exhaustedAt !== undefined && [state('trouble', 'exhausted '), moment(exhaustedAt, at)];
  return figures([
    {
      name: 'This month',
      value: usdText(monthUsd),
      note: [ofBudget, ofBudget !== undefined && ', ', readAt !== undefined && ['read ', moment(readAt, at)]],
    },
    { name: 'Forecast for the month', value: usdText(forecastUsd), note: exhausted || undefined },
    { name: 'Budget', value: usdText(known?.knownUsd), note: budgetNote(known) },
    {
      name: 'Last 24 hours',
      value: usdText(last24hUsd),
      note: dayBeforeUsd !== undefined && `day before: ${formatUsd(dayBeforeUsd)}`,
    },
    { name: 'Median day', value: usdText(medianDayUsd) },
  ]);
}

function budgetNote(known: AccountSpend['budget']): Cell {
  if (known === undefined) return 'set knownBudget in the configuration; no operation reads it';
  if (known.isOutdated) return state('attention', 'too old to act on');
  return known.origin === 'ledger' ? 'set by the daemon' : 'from the configuration';
}

/** A budget far above the spend would make its line flat. */
const MOST_ABOVE = 4;

function monthChart({ month, budget, forecastUsd = 0, monthUsd = 0, raises: changes }: AccountSpend): Cell {
  if (month === undefined) return undefined;
  const { from, spentUsd, forecastUsd: line, lowUsd, highUsd } = month;
  const value = budget?.knownUsd ?? Infinity;
  return timeChart({
    title: 'Spend of the month',
    from,
    stepMs: DAY_MS,
    format: formatUsd,
    series: [
      { name: 'spent', look: 'busy', shape: 'area', values: spentUsd },
      { name: 'forecast', look: 'attention', shape: 'line', values: line },
      { name: 'at least', look: 'faint', shape: 'line', values: lowUsd },
      { name: 'at most', look: 'attention', shape: 'band', values: highUsd, low: lowUsd },
    ],
    limit: value <= MOST_ABOVE * Math.max(monthUsd, forecastUsd) ? { name: 'budget', value } : undefined,
    marks: changes.map(({ at, fromUsd, toUsd }) => ({
      at,
      look: 'attention' as const,
      text: `budget ${formatUsd(fromUsd)} to ${formatUsd(toUsd)}`,
    })),
  });
}

/** Bars of whole days and of today so far. */
function dayCharts({ days: known }: AccountSpend): Cell {
  const [first] = known.slice(-MOST_DAYS);
  const last = known.at(-1);
  if (first === undefined || last === undefined) {
    return html`<p class="empty">No day is known. The statistics of the management API show them here.</p>`;
  }
  const from = first.at;
  const byDay = new Map(known.map((day) => [day.at, day]));
  const starts = Array.from({ length: (last.at - from) / DAY_MS + 1 }, (_, day) => from + day * DAY_MS);
  const chart = (title: string, name: 'usd' | 'requests', format: (value: number) => string) =>
    timeChart({
      title,
      from,
      stepMs: DAY_MS,
      format,
      isLow: true,
      shades: starts
        .filter((at) => [0, 6].includes(new Date(at).getUTCDay()))
        .map((at) => ({ from: at, to: at + DAY_MS })),
      series: [
        {
          name: name === 'usd' ? 'spent' : 'requests',
          look: 'busy',
          shape: 'bars',
          values: starts.map((at) => byDay.get(at)?.[name] ?? null),
        },
      ],
    });
  return [
    chart('Spend of each day, today so far', 'usd', formatUsd),
    known.some(({ requests }) => requests !== undefined) &&
      chart('Requests of each day, today so far', 'requests', formatCount),
  ];
}

function byValue({ dimension, byValue: rows }: AccountSpend): Cell {
  if (dimension === undefined) return undefined;
  return table<AccountSpend['byValue'][number]>({
    caption: `Log entries by ${clipped(dimension)}. They have no price.`,
    rows: rows.slice(0, 50),
    empty: 'No entry is counted yet.',
    columns: {
      Value: wide((row) => row.value),
      Entries: numberColumn(({ states }) => formatCount(Object.values(states).reduce((sum, count) => sum + count, 0))),
    },
  });
}

function raises({ raises: rows }: AccountSpend, at: number, index: number): Cell {
  const changes = table<AccountSpend['raises'][number]>({
    caption: 'Changes through this daemon, newest first.',
    rows,
    empty: 'The daemon has not changed the budget. Each change appears here.',
    columns: {
      Time: (row) => moment(row.at, at),
      From: numberColumn((row) => formatUsd(row.fromUsd)),
      To: numberColumn((row) => formatUsd(row.toUsd)),
      By: (row) => (row.isByOperator === true ? 'operator' : 'policy'),
      Outcome: (row) => row.outcome?.replaceAll('_', ' ') ?? 'pending',
    },
  });
  return section(`raises-${index}`, 'Budget', changes, 'h3');
}

function usdText(amount: number | null | undefined): string {
  return amount === undefined ? 'unknown' : formatUsd(amount);
}

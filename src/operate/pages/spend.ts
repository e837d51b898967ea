/** Page of the spend of the month, by account. */
import { formatCount, formatTime } from '../api/format.ts';
import { fromStore } from '../api/from-store.ts';
import { knownAccount } from '../api/known-account.ts';
import { readSpend } from '../api/spend.ts';
import type { Reply } from '../http/reply.ts';
import { filtersOf } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { clipped, facts, moment, section, state, sub } from './page-parts.ts';
import { bars } from './spark.ts';
import { table } from './table.ts';
import type { AccountSpend } from '../contract/readings.ts';

/** Maximum number of shown days. */
const MOST_DAYS = 31;

export async function spendPage(context: PageContext): Promise<Reply> {
  const { deps, query, signal } = context;
  const account = knownAccount(deps, filtersOf(query).get('account') ?? undefined);
  const { accounts, at } = await fromStore(() => readSpend(deps, { account, signal }));
  return showPage(context, {
    title: 'Spend',
    section: '/spend',
    main: html`${accounts.map((one, index) => accountPart(one, at, index))}
    ${accounts.length === 0 && html`<p class="empty">No account is configured. Each account appears here.</p>`}`,
  });
}

function accountPart(spend: AccountSpend, at: number, index: number): Html {
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
    ${facts([
      { name: 'This month', value: dollars(spend.monthUsd) },
      { name: 'Forecast for the month', value: dollars(spend.forecastUsd) },
      { name: 'Budget', value: budget(spend) },
      {
        name: 'Budget exhausted (forecast)',
        value: spend.exhaustedAt !== undefined && [state('trouble', ''), moment(spend.exhaustedAt, at)],
      },
      { name: 'Last 24 hours', value: dollars(spend.last24hUsd) },
      { name: 'Median day', value: dollars(spend.medianDayUsd) },
      { name: 'Spend of each day', value: dailySpend(spend) },
      { name: 'Read', value: moment(spend.readAt, at) },
    ])}
    ${days(spend)} ${byValue(spend)} ${raises(spend, at)}`,
  );
}

function budget({ budget: known }: AccountSpend): HtmlValue {
  if (known === undefined) return ['unknown', sub('set knownBudget in the configuration; no operation reads it')];
  const origin = known.origin === 'ledger' ? 'set by the daemon' : 'from the configuration';
  return [dollars(known.knownUsd), sub(origin), known.isOutdated && state('attention', 'too old to act on')];
}

function days({ days: rows }: AccountSpend): Html {
  return table<AccountSpend['days'][number]>({
    caption: 'Days (UTC), newest first.',
    rows: rows.toReversed().slice(0, MOST_DAYS),
    empty: 'No day is known. The statistics of the management API fill this table.',
    columns: [
      { title: 'Day', cell: (row) => html`<span class="nowrap">${formatTime(row.at).slice(0, 10)}</span>` },
      { title: 'Spend', align: 'number', cell: (row) => dollars(row.usd) },
      { title: 'Requests', align: 'number', cell: (row) => row.requests !== undefined && formatCount(row.requests) },
    ],
  });
}

function dailySpend({ days: rows }: AccountSpend): HtmlValue {
  const amounts = rows.slice(-MOST_DAYS).map(({ usd = 0 }) => usd);
  const chart = bars(amounts, `Spend of each of the last ${amounts.length} days`);
  return chart && [chart, sub(`at most ${dollars(Math.max(...amounts))} in a day`)];
}

function byValue({ dimension, byValue: rows }: AccountSpend): Html | undefined {
  if (dimension === undefined) return undefined;
  return table<AccountSpend['byValue'][number]>({
    caption: `Log entries by ${clipped(dimension)}. They have no price.`,
    rows: rows.slice(0, 50),
    empty: 'No entry is counted yet.',
    columns: [
      { title: 'Value', wide: true, cell: (row) => row.value },
      {
        title: 'Entries',
        align: 'number',
        cell: ({ states }) => formatCount(Object.values(states).reduce((sum, count) => sum + count, 0)),
      },
    ],
  });
}

function raises({ raises: rows }: AccountSpend, at: number): Html {
  return table<AccountSpend['raises'][number]>({
    caption: 'Changes of the budget through this daemon, newest first.',
    rows,
    empty: 'The daemon has not changed the budget. Each change appears here.',
    columns: [
      { title: 'Time', cell: (row) => moment(row.at, at) },
      { title: 'From', align: 'number', cell: (row) => dollars(row.fromUsd) },
      { title: 'To', align: 'number', cell: (row) => dollars(row.toUsd) },
      { title: 'By', cell: (row) => (row.isByOperator === true ? 'operator' : 'policy') },
      { title: 'Outcome', cell: (row) => row.outcome?.replaceAll('_', ' ') ?? 'pending' },
    ],
  });
}

/** @param amount `null` if it is unlimited */
function dollars(amount: number | null | undefined): string | undefined {
  if (amount === undefined) return undefined;
  if (amount === null || !Number.isFinite(amount)) return 'unlimited';
  return amount.toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}

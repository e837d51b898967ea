/** Page of the spend of the month, by account. */
import { formatCount, formatTime } from '../api/format.ts';
import { fromStore } from '../api/from-store.ts';
import { knownAccount } from '../api/known-account.ts';
import { readSpend } from '../api/spend.ts';
import type { Reply } from '../http/reply.ts';
import { queryFilters } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { bars, type Cell, facts, moment, numberColumn, section, state, sub, table, whole, wide } from '../show/cell.ts';
import { clipped, html } from '../show/html.ts';
import type { AccountSpend } from '../contract/readings.ts';

/** Maximum number of shown days. */
const MOST_DAYS = 31;

export async function spendPage(context: PageContext): Promise<Reply> {
  const { deps, query, signal } = context;
  const account = knownAccount(deps, queryFilters(query).get('account') ?? undefined);
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
    ${facts({ 'This month': dollars(spend.monthUsd), 'Forecast for the month': dollars(spend.forecastUsd), Budget: budget(spend), 'Budget exhausted (forecast)': spend.exhaustedAt !== undefined && [state('trouble', ''), moment(spend.exhaustedAt, at)], 'Last 24 hours': dollars(spend.last24hUsd), 'Median day': dollars(spend.medianDayUsd), 'Spend of each day': dailySpend(spend), Read: moment(spend.readAt, at) })}
    ${days(spend)} ${byValue(spend)} ${raises(spend, at)}`,
  );
}

function budget({ budget: known }: AccountSpend): Cell {
  if (known === undefined) return ['unknown', sub('set knownBudget in the configuration; no operation reads it')];
  const origin = known.origin === 'ledger' ? 'set by the daemon' : 'from the configuration';
  return [dollars(known.knownUsd), sub(origin), known.isOutdated && state('attention', 'too old to act on')];
}

function days({ days: rows }: AccountSpend): Cell {
  return table<AccountSpend['days'][number]>({
    caption: 'Days (UTC), newest first.',
    rows: rows.toReversed().slice(0, MOST_DAYS),
    empty: 'No day is known. The statistics of the management API fill this table.',
    columns: {
      Day: (row) => whole(formatTime(row.at).slice(0, 10)),
      Spend: numberColumn((row) => dollars(row.usd)),
      Requests: numberColumn((row) => row.requests !== undefined && formatCount(row.requests)),
    },
  });
}

function dailySpend({ days: rows }: AccountSpend): Cell {
  const amounts = rows.slice(-MOST_DAYS).map(({ usd = 0 }) => usd);
  const chart = bars(amounts, `Spend of each of the last ${amounts.length} days`);
  return chart && [chart, sub(`at most ${dollars(Math.max(...amounts))} in a day`)];
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

function raises({ raises: rows }: AccountSpend, at: number): Cell {
  return table<AccountSpend['raises'][number]>({
    caption: 'Changes of the budget through this daemon, newest first.',
    rows,
    empty: 'The daemon has not changed the budget. Each change appears here.',
    columns: {
      Time: (row) => moment(row.at, at),
      From: numberColumn((row) => dollars(row.fromUsd)),
      To: numberColumn((row) => dollars(row.toUsd)),
      By: (row) => (row.isByOperator === true ? 'operator' : 'policy'),
      Outcome: (row) => row.outcome?.replaceAll('_', ' ') ?? 'pending',
    },
  });
}

/** @param amount `null` if it is unlimited */
function dollars(amount: number | null | undefined): string | undefined {
  if (amount === undefined) return undefined;
  if (amount === null || !Number.isFinite(amount)) return 'unlimited';
  return amount.toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}

/** Spend of the month by account: billing, forecast, known budget, and the raises that the daemon made. */
import {
  isOutdated,
  type AccountBudget,
  type BudgetKnowledge,
  type BudgetRaise,
} from '#foundation/domain/known-budget.ts';
import type { AccountSpend, BudgetView, RaiseView, SpendDay, SpendView } from '../contract/readings.ts';
import type { ApiDeps, LedgerReader } from './api-deps.ts';
import type { DimensionCounts } from './reading-ports.ts';
import { monthOf, startOfMonth } from '#foundation/domain/utc-month.ts';
import { sourceViews } from './status.ts';

const MOST_RAISES = 100;

/** @throws if the store cannot be read */
export async function readSpend(
  deps: SpendDeps & Pick<ApiDeps, 'accounts' | 'spend'> & { readonly ledger: Pick<ApiDeps['ledger'], 'view'> },
  { account, signal }: { readonly account?: string | undefined; readonly signal?: AbortSignal } = {},
  view?: LedgerReader,
): Promise<SpendView> {
  const { spend } = deps;
  const names = deps.accounts.map(({ name }) => name).filter((name) => account === undefined || name === account);
  const [budgets, dimensions] = await Promise.all([
    view === undefined ? deps.ledger.view((ledger) => spend.budgets(ledger), signal) : spend.budgets(view),
    spend.dimensions(),
  ]);
  const accounts = names.map((name) =>
    spendOf(name, { budget: budgets.get(name), dimension: dimensions.get(name) }, deps),
  );
  return { at: deps.clock.now(), accounts };
}

type SpendDeps = Pick<ApiDeps, 'clock' | 'board'>;

function spendOf(
  account: string,
  {
    budget,
    dimension,
  }: { readonly budget: AccountBudget | undefined; readonly dimension: DimensionCounts | undefined },
  { clock, board }: SpendDeps,
): AccountSpend {
  const { known, changes = [] } = budget ?? {};
  const raises = changes.filter(({ isByOperator }) => isByOperator !== true);
  const batch = board.fresh(account, 'accountStats');
  const [stats] = batch?.rows ?? [];
  const { requestsLastDay: _requests, ...projected } = stats?.spend ?? {};
  const source = sourceViews(board).find((one) => one.account === account && one.collector === 'accountStats');
  const now = clock.now();
  const days = daysOf(stats?.dailyBillings ?? [], stats?.dailyRequests ?? []).filter(({ at }) => at <= now);
  return {
    account,
    readAt: batch?.at,
    ...projected,
    budget: known && budgetView(known, now),
    days,
    month: batch && monthSeries(days, { ...projected, at: batch.at }),
    raises: raises.slice(-MOST_RAISES).toReversed().map(raiseView),
    dimension: dimension?.name,
    byValue: dimension?.counts ?? [],
    source,
  };
}

function budgetView(known: BudgetKnowledge, now: number): BudgetView {
  const { knownUsd, origin, assertedAt } = known;
  return { knownUsd: finite(knownUsd), origin, assertedAt, isOutdated: isOutdated(known, now) };
}

function raiseView(raise: BudgetRaise): RaiseView {
  return { ...raise, fromUsd: finite(raise.fromUsd), toUsd: finite(raise.toUsd) };
}

/** Amount, or null if it is unlimited. */
function finite(usd: number): number | null {
  return Number.isFinite(usd) ? usd : null;
}

const DAY_MS = 86_400_000;
/** Last whole days: the lowest and the highest bound the forecast. Fewer than the least number give no bounds. */
const BAND_DAYS = 7;
const LEAST_BAND_DAYS = 3;

function monthSeries(
  days: readonly SpendDay[],
  { at, monthUsd, paceUsd }: Pick<AccountSpend, 'monthUsd' | 'paceUsd'> & { readonly at: number },
): AccountSpend['month'] {
  if (monthUsd === undefined) return undefined;
  const from = startOfMonth(monthOf(at));
  const today = Math.floor(at / DAY_MS) * DAY_MS;
  const starts = Array.from(
    { length: (startOfMonth(monthOf(at) + 1) - from) / DAY_MS },
    (_, day) => from + day * DAY_MS,
  );
  const usd = new Map(days.map((day) => [day.at, day.usd]));
  let sum: number | undefined = 0;
  const spentUsd = starts.map((start) => {
    const ofDay = usd.get(start);
    sum = sum === undefined || ofDay === undefined ? undefined : sum + ofDay;
    return start > today ? null : start === today ? monthUsd : (sum ?? null);
  });
  const projected = (pace: number | undefined) =>
    starts.map((start) =>
      start < today || pace === undefined
        ? null
        : monthUsd + (start === today ? 0 : (pace * (start + DAY_MS - at)) / DAY_MS),
    );
  const whole = Array.from({ length: BAND_DAYS }, (_, ago) => usd.get(today - (ago + 1) * DAY_MS));
  const known = whole.filter((value) => value !== undefined);
  const bound = (of: (...values: number[]) => number) =>
    projected(known.length < LEAST_BAND_DAYS ? undefined : of(...known));
  return { from, spentUsd, forecastUsd: projected(paceUsd), lowUsd: bound(Math.min), highUsd: bound(Math.max) };
}

interface Point {
  readonly at: number;
  readonly value: number;
}

function daysOf(billings: readonly Point[], requests: readonly Point[]): SpendDay[] {
  const byDay = (points: readonly Point[]) =>
    new Map(points.map(({ at, value }) => [Math.floor(at / DAY_MS) * DAY_MS, value]));
  const [usd, sent] = [byDay(billings), byDay(requests)];
  return [...new Set([...usd.keys(), ...sent.keys()])]
    .sort((a, b) => a - b)
    .map((at) => ({ at, usd: usd.get(at), requests: sent.get(at) }));
}

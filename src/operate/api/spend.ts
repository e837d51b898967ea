/** Spend of the month by account: billing, forecast, known budget, and the raises that the daemon made. */
import {
  isOutdated,
  type AccountBudget,
  type BudgetKnowledge,
  type BudgetRaise,
} from '#foundation/domain/known-budget.ts';
import type { Spend } from '#foundation/domain/statistics.ts';
import type { ApiDeps } from './api-deps.ts';
import type { DimensionCounts, ValueCount } from './reading-ports.ts';
import { sourceViews } from './status.ts';
import type { SourceView } from './status-views.ts';

/** Known monthly budget. No operation of the service reads it. */
export interface BudgetView {
  /** US dollars; `null` if the budget is unlimited. */
  readonly knownUsd: number | null;
  /** `configuration` if an operator asserted it, `ledger` if the daemon set it last. */
  readonly origin: BudgetKnowledge['origin'];
  /** Time of the assertion or of the raise; absent if the configuration has no date. */
  readonly assertedAt?: number;
  /** True if it is too old to act on, or has no date. */
  readonly isOutdated: boolean;
}

/** Change of the budget by the daemon, or through it. Amounts are US dollars; `null` is unlimited. */
export interface RaiseView extends Omit<BudgetRaise, 'fromUsd' | 'toUsd'> {
  readonly fromUsd: number | null;
  readonly toUsd: number | null;
}

/** One whole or current day (UTC). Fields that the service did not return are absent. */
export interface SpendDay {
  /** Start of the day. */
  readonly at: number;
  readonly usd?: number;
  readonly requests?: number;
}

/** Spend of one account: `/api/v1/spend`. Amounts are US dollars. An absent amount is unknown. */
export interface AccountSpend extends Omit<Spend, 'requestsLastDay'> {
  readonly account: string;
  /** Time of the reading; absent without fresh statistics. */
  readonly readAt?: number;
  /** Absent if the budget is unknown. */
  readonly budget?: BudgetView;
  /** Days of the reading, oldest first. */
  readonly days: readonly SpendDay[];
  /** Changes that may have had an effect, newest first, at most 100. */
  readonly raises: readonly RaiseView[];
  /** Name of the configured dimension of the log; absent if none is configured. */
  readonly dimension?: string;
  /** Log entries by value of the dimension, highest number first. They have no price. */
  readonly byValue: readonly ValueCount[];
  /** Collector of the statistics; absent if the account has no management API. */
  readonly source?: SourceView;
}

export interface SpendView {
  readonly at: number;
  readonly accounts: readonly AccountSpend[];
}

const MOST_RAISES = 100;

/** @throws if the store cannot be read */
export async function readSpend(
  deps: SpendDeps & Pick<ApiDeps, 'accounts' | 'spend'> & { readonly ledger: Pick<ApiDeps['ledger'], 'view'> },
  { account, signal }: { readonly account?: string | undefined; readonly signal?: AbortSignal } = {},
): Promise<SpendView> {
  const { spend } = deps;
  const names = deps.accounts.map(({ name }) => name).filter((name) => account === undefined || name === account);
  const [budgets, dimensions] = await Promise.all([
    deps.ledger.view((ledger) => spend.budgets(ledger), signal),
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
  return {
    account,
    ...(batch !== undefined && { readAt: batch.at }),
    ...projected,
    ...(known !== undefined && { budget: budgetView(known, clock.now()) }),
    days: daysOf(stats?.dailyBillings ?? [], stats?.dailyRequests ?? []),
    raises: raises.slice(-MOST_RAISES).toReversed().map(raiseView),
    ...(dimension !== undefined && { dimension: dimension.name }),
    byValue: dimension?.counts ?? [],
    ...(source !== undefined && { source }),
  };
}

function budgetView(known: BudgetKnowledge, now: number): BudgetView {
  const { knownUsd, origin, assertedAt } = known;
  return {
    knownUsd: finite(knownUsd),
    origin,
    ...(assertedAt !== undefined && { assertedAt }),
    isOutdated: isOutdated(known, now),
  };
}

function raiseView(raise: BudgetRaise): RaiseView {
  return { ...raise, fromUsd: finite(raise.fromUsd), toUsd: finite(raise.toUsd) };
}

/** Amount, or null if it is unlimited. */
function finite(usd: number): number | null {
  return Number.isFinite(usd) ? usd : null;
}

const DAY_MS = 86_400_000;

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
    .map((at) => ({
      at,
      ...(usd.has(at) && { usd: usd.get(at)! }),
      ...(sent.has(at) && { requests: sent.get(at)! }),
    }));
}

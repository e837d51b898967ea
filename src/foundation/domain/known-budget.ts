/**
 * Known monthly budget of an account, which no operation of the service reads. It was asserted in the configuration or
 * last set by the daemon itself; the newer one counts. All code that needs the budget uses this module.
 */

/** Budget from the configuration. */
export interface BudgetAssertion {
  /** US dollars; 0 if unlimited. */
  readonly knownUsd: number;
  /** Epoch milliseconds of the start of the day when the assertion was made. */
  readonly assertedOn?: number;
  /** Milliseconds. */
  readonly maxAge: number;
}

/** Change of the budget through the daemon that may have had an effect. */
export interface BudgetRaise {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly fromUsd: number;
  readonly toUsd: number;
  /** Outcome in the ledger; absent while the request is in progress. */
  readonly outcome?: string;
  /** True if an operator set the amount, which may be lower than the previous one, or unlimited. */
  readonly isByOperator?: boolean;
}

export const BUDGET_ORIGINS = ['configuration', 'ledger'] as const;

export interface BudgetKnowledge {
  /** Infinity if unlimited. */
  readonly knownUsd: number;
  readonly origin: (typeof BUDGET_ORIGINS)[number];
  /** Epoch milliseconds; absent if the configuration has no date. */
  readonly assertedAt?: number;
  /** Milliseconds after which the budget is too old to act on. */
  readonly maxAgeMs: number;
}

/** Spend of an account, as expressions and guards read it. Absent fields are unknown. */
export interface BudgetFacts {
  readonly monthUsd?: number;
  readonly last24hUsd?: number;
  /** Spend of the 24 hours before. */
  readonly dayBeforeUsd?: number;
  /** Median of the last 14 days; absent with less than 3 days of recorded history. */
  readonly medianDayUsd?: number;
  readonly forecastMonthUsd?: number;
  readonly hoursLeft?: number;
  /** True if the statistics are within their collector's staleness limit. */
  readonly fresh: boolean;
  /** Epoch milliseconds of the reading. */
  readonly at?: number;
  /** Messages of the last day: all, and those caused by this daemon's own actions. */
  readonly messagesLastDay?: number;
  readonly ownMessagesLastDay?: number;
}

/** Known budget with a date: a budget of unknown age may be outdated. */
export interface KnownBudget extends BudgetKnowledge {
  readonly assertedAt: number;
}

/** Budget of an account, with its changes in the ledger. */
export interface AccountBudget {
  /** Absent if unknown. */
  readonly known?: BudgetKnowledge;
  /** Changes that may have had an effect, oldest first. */
  readonly changes: readonly BudgetRaise[];
}

type Dated = Pick<BudgetKnowledge, 'assertedAt' | 'maxAgeMs'>;

/** Returns true if the known budget is too old to act on, or has no date. */
export function isOutdated({ assertedAt, maxAgeMs }: Dated, now: number): boolean {
  // Not `>`: an invalid number is not recent.
  return assertedAt === undefined || !(now - assertedAt <= maxAgeMs);
}

/** Reason to distrust the known budget: `hold` until it is asserted again, `approve` if an operator can decide. */
export interface BudgetDoubt {
  readonly verdict: 'hold' | 'approve';
  readonly reason: string;
}

const EFFECTIVE: ReadonlySet<string | undefined> = new Set(['accepted', 'verified', 'confirmed_applied']);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Maximum offset of the start and end of a day from UTC, in the easternmost and the westernmost zone. */
const EAST_MS = 14 * HOUR_MS;
const WEST_MS = 12 * HOUR_MS;
/** Age at which an assertion needs an operator: someone may have set another budget since. */
const OLD_ASSERTION_MS = 7 * DAY_MS;
const DEFAULT_MAX_AGE_MS = 45 * DAY_MS;

/**
 * Returns true if the configuration asserts a later budget than this raise set. The configuration names a day without a
 * time zone. If the raise may be of that day, only a higher amount is later, because a raise only increases the budget.
 * A change by an operator of that day always counts as later.
 */
export function isOvertaken(
  asserted: BudgetAssertion | undefined,
  { at, toUsd, isByOperator }: Pick<BudgetRaise, 'at' | 'toUsd' | 'isByOperator'>,
): boolean {
  if (asserted?.assertedOn === undefined) return false;
  const { begins, ends } = spanOf(asserted.assertedOn);
  return at < begins || (at < ends && isByOperator !== true && dollarsOf(asserted) > toUsd);
}

/** Returns the earliest start and the latest end of a day in any time zone. */
function spanOf(day: number): { readonly begins: number; readonly ends: number } {
  return { begins: day - EAST_MS, ends: day + DAY_MS + WEST_MS };
}

/**
 * Returns the known budget.
 *
 * @param raises oldest first
 * @returns undefined if the budget is unknown, including after a raise whose outcome is unknown
 */
export function newestBudget(
  asserted: BudgetAssertion | undefined,
  raises: readonly BudgetRaise[],
): BudgetKnowledge | undefined {
  const assertedAt = asserted?.assertedOn;
  const last = raises.findLast((raise) => !isOvertaken(asserted, raise));
  const maxAgeMs = asserted?.maxAge ?? DEFAULT_MAX_AGE_MS;
  if (last !== undefined) {
    if (!EFFECTIVE.has(last.outcome)) return undefined;
    return { knownUsd: last.toUsd, origin: 'ledger', assertedAt: last.at, maxAgeMs };
  }
  if (asserted === undefined) return undefined;
  return {
    knownUsd: dollarsOf(asserted),
    origin: 'configuration',
    assertedAt,
    maxAgeMs,
  };
}

/**
 * Returns why the known budget may be wrong. No operation reads a budget, and a raise sets an absolute amount. A raise
 * based on a wrong budget can therefore lower the budget.
 *
 * @param of.known budget as returned by `newestBudget`
 * @param of.since epoch milliseconds since when the store has every raise of the account; undefined if unknown
 */
export function budgetDoubt(
  asserted: BudgetAssertion | undefined,
  raises: readonly BudgetRaise[],
  of: { readonly known: BudgetKnowledge; readonly since: number | undefined; readonly now: number },
): BudgetDoubt | undefined {
  const { known, since, now } = of;
  if (since === undefined) return hold('the store has not recorded yet since when it observes this account');
  if (known.origin === 'ledger') {
    if (known.assertedAt! < since) return hold(`the last raise is too old: ${knownSince(since)}; ${ASSERT_ANEW}`);
    if (!isEdited(asserted, raises)) return undefined;
    return hold(`the configuration has $${asserted!.knownUsd}, which matches no raise since then; ${ASSERT_ANEW}`);
  }
  const day = known.assertedAt ?? -Infinity;
  const { begins, ends } = spanOf(day);
  if (begins > now) return hold(`the budget is asserted for a day that has not begun; ${ASSERT_ANEW}`);
  if (ends <= since) return hold(`the assertion is too old: ${knownSince(since)}; ${ASSERT_ANEW}`);
  if (begins < since) return approve(`the assertion may be too old: ${knownSince(since)}`);
  if (now - day > OLD_ASSERTION_MS) return approve('the assertion is more than 7 days old, with no raise since');
  return undefined;
}

function knownSince(at: number): string {
  return `this store has the raises of this account only since ${new Date(at).toISOString()}`;
}

const ASSERT_ANEW = 'read the budget in the console and set budget.knownUsd and budget.assertedOn';

/**
 * Returns true if the asserted amount was edited without its day: no raise since that day started from it or set it.
 */
function isEdited(asserted: BudgetAssertion | undefined, raises: readonly BudgetRaise[]): boolean {
  if (asserted?.assertedOn === undefined) return false;
  const { begins } = spanOf(asserted.assertedOn);
  const amounts = raises.filter(({ at }) => at >= begins).flatMap(({ fromUsd, toUsd }) => [fromUsd, toUsd]);
  return !amounts.includes(asserted.knownUsd);
}

function hold(reason: string): BudgetDoubt {
  return { verdict: 'hold', reason };
}

function approve(reason: string): BudgetDoubt {
  return { verdict: 'approve', reason };
}

function dollarsOf({ knownUsd }: BudgetAssertion): number {
  return knownUsd === 0 ? Infinity : knownUsd;
}

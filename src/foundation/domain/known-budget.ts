/**
 * What is known of an account's monthly budget, which no operation of the service reads: it was asserted in the
 * configuration, or last set by the daemon itself; the newer one counts. Everybody who asks for it asks here.
 */

/** As the configuration says it. */
export interface BudgetAssertion {
  /** Dollars; 0 when there is no limit. */
  readonly knownUsd: number;
  /** Epoch milliseconds at which the day begins on which it was known to be so. */
  readonly assertedOn?: number;
  /** Milliseconds. */
  readonly maxAge: number;
}

/** A raise by the daemon that may have had an effect. */
export interface BudgetRaise {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly fromUsd: number;
  readonly toUsd: number;
  /** Of the ledger; absent while the request is under way. */
  readonly outcome?: string;
}

export const BUDGET_ORIGINS = ['configuration', 'ledger'] as const;

export interface BudgetKnowledge {
  /** Infinity when there is no limit. */
  readonly knownUsd: number;
  readonly origin: (typeof BUDGET_ORIGINS)[number];
  /** Epoch milliseconds; absent where the configuration does not say it. */
  readonly assertedAt?: number;
  /** Milliseconds after which nobody acts on it. */
  readonly maxAgeMs: number;
}

/** Reason to distrust the known budget: `hold` until it is asserted again, `approve` if an operator can decide. */
export interface BudgetDoubt {
  readonly verdict: 'hold' | 'approve';
  readonly reason: string;
}

const EFFECTIVE: ReadonlySet<string | undefined> = new Set(['accepted', 'verified', 'confirmed_applied']);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Time by which a day begins earlier than in UTC in the easternmost zone, and ends later in the westernmost. */
const EAST_MS = 14 * HOUR_MS;
const WEST_MS = 12 * HOUR_MS;
/** Age at which an assertion needs an operator: someone may have set another budget since. */
const OLD_ASSERTION_MS = 7 * DAY_MS;
const DEFAULT_MAX_AGE_MS = 45 * DAY_MS;

/**
 * Returns true if the configuration asserts a later budget than this raise set. It names a day without a zone. Where the
 * raise may be of that day, only a higher amount is later, since a raise goes up from what was asserted before it.
 */
export function isOvertaken(
  asserted: BudgetAssertion | undefined,
  { at, toUsd }: Pick<BudgetRaise, 'at' | 'toUsd'>,
): boolean {
  if (asserted?.assertedOn === undefined) return false;
  const { begins, ends } = spanOf(asserted.assertedOn);
  return at < begins || (at < ends && dollarsOf(asserted) > toUsd);
}

/** The earliest beginning and the latest end of a day whose zone is not known. */
function spanOf(day: number): { readonly begins: number; readonly ends: number } {
  return { begins: day - EAST_MS, ends: day + DAY_MS + WEST_MS };
}

/**
 * @param raises oldest first
 * @returns undefined when nobody knows: also after a raise of which nobody can tell whether it had an effect
 */
export function knownBudget(
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
    ...(assertedAt !== undefined && { assertedAt }),
    maxAgeMs,
  };
}

/**
 * Returns why the known budget may be wrong. No operation reads a budget and a raise sets an absolute amount, so a raise
 * on wrong knowledge can lower the budget.
 *
 * @param of.known as `knownBudget` returns it
 * @param of.since epoch milliseconds; the store has every raise of the account since then. Undefined when not known
 */
export function budgetDoubt(
  asserted: BudgetAssertion | undefined,
  raises: readonly BudgetRaise[],
  of: { readonly known: BudgetKnowledge; readonly since: number | undefined; readonly now: number },
): BudgetDoubt | undefined {
  const { known, since, now } = of;
  if (since === undefined) return hold('the store does not know yet since when it watches this account');
  if (known.origin === 'ledger') {
    if (known.assertedAt! < since) return hold(`the last raise is older: ${knownSince(since)}; ${ASSERT_ANEW}`);
    if (!isEdited(asserted, raises)) return undefined;
    return hold(
      `the configuration says $${asserted!.knownUsd}, which is no amount of the raises since; ${ASSERT_ANEW}`,
    );
  }
  const day = known.assertedAt ?? -Infinity;
  const { begins, ends } = spanOf(day);
  if (begins > now) return hold(`the budget is asserted for a day that has not begun; ${ASSERT_ANEW}`);
  if (ends <= since) return hold(`the assertion is older: ${knownSince(since)}; ${ASSERT_ANEW}`);
  if (begins < since) return approve(`the assertion may be older: ${knownSince(since)}`);
  if (now - day > OLD_ASSERTION_MS) return approve('the assertion is more than 7 days old, with no raise since');
  return undefined;
}

function knownSince(at: number): string {
  return `this store knows the raises of this account since ${new Date(at).toISOString()}`;
}

const ASSERT_ANEW = 'read the budget in the console and set budget.knownUsd and budget.assertedOn';

/** Returns true if the asserted amount was edited without its day: no raise since that day started from it or set it. */
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

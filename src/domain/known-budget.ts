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
  readonly toUsd: number;
  /** Of the ledger; absent while the request is under way. */
  readonly outcome?: string;
}

export interface BudgetKnowledge {
  /** Infinity when there is no limit. */
  readonly knownUsd: number;
  readonly origin: 'configuration' | 'ledger';
  /** Epoch milliseconds; absent where the configuration does not say it. */
  readonly assertedAt?: number;
  /** Milliseconds after which nobody acts on it. */
  readonly maxAgeMs: number;
}

const EFFECTIVE: ReadonlySet<string | undefined> = new Set(['acked', 'verified', 'resolved_done']);
const DAY_MS = 86_400_000;
const DEFAULT_MAX_AGE_MS = 45 * DAY_MS;

/**
 * Whether the configuration tells of a later budget than this raise set. It names a day alone: of the same day only a
 * higher one is later, since a raise goes up from what was asserted before it.
 */
export function isOvertaken(asserted: BudgetAssertion | undefined, { at, toUsd }: BudgetRaise): boolean {
  if (asserted?.assertedOn === undefined) return false;
  const { assertedOn } = asserted;
  return at < assertedOn || (at < assertedOn + DAY_MS && dollarsOf(asserted) > toUsd);
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

function dollarsOf({ knownUsd }: BudgetAssertion): number {
  return knownUsd === 0 ? Infinity : knownUsd;
}

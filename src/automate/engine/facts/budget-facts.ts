/** Spend of an account for a policy over its budget: the last reading of the statistics, if it is fresh. */
import { monthOf } from '#foundation/domain/utc-month.ts';
import type { BudgetFacts, KnownBudget } from '../../policies/facts.ts';
import type { FactsDeps } from './facts-deps.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export async function spendFacts(
  account: string,
  known: KnownBudget | undefined,
  { board, ledger, clock }: Pick<FactsDeps, 'board' | 'ledger' | 'clock'>,
): Promise<BudgetFacts> {
  const batch = board.fresh(account, 'accountStats');
  const spend = batch?.rows[0]?.spend;
  const now = clock.now();
  const ageMs = board.ageMs(account, 'accountStats');
  if (batch === undefined || ageMs === undefined || spend?.monthUsd === undefined) return { fresh: false };
  // Computed from the age, not from the recorded time: the clock may have been set since.
  const at = Math.round(now - ageMs);
  // A reading from before a new month says nothing about that month.
  if (monthOf(at) !== monthOf(now) || monthOf(batch.at) !== monthOf(now)) return { fresh: false };
  const { monthUsd, last24hUsd, dayBeforeUsd, medianDayUsd, paceUsd, forecastUsd, requestsLastDay } = spend;
  // A forecast hides one bad day, so the policy uses the faster of the two rates.
  const fastest = Math.max(paceUsd ?? -Infinity, last24hUsd ?? -Infinity);
  const hoursLeft =
    known === undefined || fastest === -Infinity
      ? undefined
      : hoursUntil({ spentUsd: monthUsd, budgetUsd: known.knownUsd, paceUsd: fastest, readMsAgo: ageMs });
  return {
    fresh: true,
    at,
    monthUsd,
    ...(last24hUsd !== undefined && { last24hUsd }),
    ...(dayBeforeUsd !== undefined && { dayBeforeUsd }),
    ...(medianDayUsd !== undefined && { medianDayUsd }),
    ...(forecastUsd !== undefined && { forecastMonthUsd: forecastUsd }),
    ...(hoursLeft !== undefined && { hoursLeft }),
    ...(requestsLastDay !== undefined && { messagesLastDay: requestsLastDay }),
    ownMessagesLastDay: await ledger.resumedTries(account, now - DAY_MS),
  };
}

/**
 * Hours until the budget is used up, at the faster of the usual rate and that of the last day. Infinity if nothing is
 * spent. A new month may start earlier.
 */
function hoursUntil(at: {
  readonly spentUsd: number;
  readonly budgetUsd: number;
  readonly paceUsd: number;
  readonly readMsAgo: number;
}): number {
  const left = at.budgetUsd - at.spentUsd;
  if (left <= 0) return 0;
  return Math.max(0, (left / at.paceUsd) * 24 - at.readMsAgo / HOUR_MS);
}

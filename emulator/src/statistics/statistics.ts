/**
 * Usage, traffic and billing of the accounts, computed only from facts. Requests without a fact are not counted. Two
 * invariants hold in every response: `error` = `retry` + `failed`, and used messages (billed attempts) = `delivered` +
 * `error`.
 *
 * The interface does not define how the series relate. Here `daily_used` and `daily_msgsvc_messages` count published
 * messages. `daily_used_workflow` and `daily_workflow_messages` count those of workflow runs. `daily_requests` and the
 * amounts count both.
 */
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { AccountCounts, PAID, PAID_WORKFLOW } from './account-counts.ts';
import { accountStatsJson, type AccountStatsJson } from './account-stats.ts';
import type { Fact } from './facts.ts';
import { MICRO_USD_PER_MESSAGE, type PlanBilling } from './plan-billing.ts';
import { dayOf, daysOfMonth } from './point-time.ts';
import type { FractionDigits } from '../state/switches.ts';
import type { StatsPeriodName } from './statistics-period.ts';

export interface Statistics {
  /** Counts a fact; `times` counts that many equal facts. A fact older than 31 days appears in no point. */
  record(accountId: string, fact: Fact, times?: number): void;
  /** Returns the statistics as of `now` (epoch milliseconds); all zero for an unknown account. */
  accountStats(accountId: string, period: StatsPeriodName, now: number, dlqMessageCount: number): AccountStatsJson;
  /** Returns the billing of the UTC month of `now` so far, in micro-dollars. */
  monthBillingMicroUsd(accountId: string, now: number): number;
  /** Returns the part of that billing for individual messages. */
  monthSpendMicroUsd(accountId: string, now: number): number;
}

export interface StatisticsOptions {
  /** Default: every account pays per message, and nothing else. */
  readonly plans?: PlanBilling;
  readonly fractionDigits?: () => FractionDigits;
}

export function createStatistics(options: StatisticsOptions = {}): Statistics {
  const { plans, fractionDigits = () => 9 } = options;
  const accounts = new Map<string, AccountCounts>();

  function messagesMicroUsd(accountId: string, day: number): number {
    const totals = accounts.get(accountId)?.day(day);
    if (totals === undefined) return 0;
    return (totals[PAID]! + totals[PAID_WORKFLOW]!) * MICRO_USD_PER_MESSAGE;
  }

  function billingOf(accountId: string, day: number, now: number): number {
    if (day > dayOf(now)) return 0;
    return messagesMicroUsd(accountId, day) + (plans?.reservedMicroUsd(accountId, day) ?? 0);
  }

  function monthBillingMicroUsd(accountId: string, now: number): number {
    return daysOfMonth(now).reduce((sum, day) => sum + billingOf(accountId, day, now), 0);
  }

  return {
    record(accountId, fact, times = 1) {
      const isPaid = fact.kind === 'attempt' && (fact.paid ?? plans?.paysByMessage(accountId)) !== false;
      getOrAdd(accounts, accountId, () => new AccountCounts()).record(fact, times, isPaid);
    },
    accountStats: (accountId, period, now, dlqMessageCount) =>
      accountStatsJson(accounts.get(accountId), {
        period,
        now,
        digits: fractionDigits(),
        billingMicroUsd: (day) => billingOf(accountId, day, now),
        monthBillingMicroUsd: monthBillingMicroUsd(accountId, now),
        dlqMessageCount,
      }),
    monthBillingMicroUsd,
    monthSpendMicroUsd: (accountId, now) =>
      daysOfMonth(now).reduce((sum, day) => sum + messagesMicroUsd(accountId, day), 0),
  };
}

import { describe, expect, test } from 'vitest';
import type { AccountStats } from '#foundation/domain/statistics.ts';
import { aggregateBilling } from '#observe/aggregation/month-counters.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOVEMBER = Date.UTC(2026, 10, 1);
const DECEMBER = Date.UTC(2026, 11, 1);

/** Builds the billing of the days of a month; future days have 0. */
function stats(month: number, amounts: readonly number[], total = amounts.reduce((a, b) => a + b, 0)): AccountStats {
  const dailyBillings = Array.from({ length: 30 }, (_, day) => ({ at: month + day * DAY, value: amounts[day] ?? 0 }));
  return { dailyBillings, monthBillingUsd: total };
}

function counted(...answers: readonly (readonly [at: number, stats: AccountStats])[]) {
  const sums = new Map<string, number>();
  let record: string | undefined;
  for (const [at, answer] of answers) {
    const aggregated = aggregateBilling(record, answer, at);
    if (aggregated === undefined) continue;
    record = aggregated.record;
    for (const { metric, by } of aggregated.increments) sums.set(metric, (sums.get(metric) ?? 0) + by);
  }
  return ['msgsvc_account_billing_dollars_total', 'opsd_stats_corrections_total'].map((metric) => sums.get(metric));
}

describe('billing', () => {
  test('counts again after a total that an earlier version stored although it was impossible', () => {
    const ruined = JSON.stringify({ v: 1, value: 2 ** 64, read: 2 ** 64, at: NOVEMBER, month: 24_322 });
    const first = aggregateBilling(ruined, stats(NOVEMBER, [5]), NOVEMBER + DAY)!;
    expect(first.increments).toContainEqual({ metric: 'msgsvc_account_billing_dollars_total', labels: [], by: 0 });
    const second = aggregateBilling(first.record, stats(NOVEMBER, [5, 2]), NOVEMBER + 2 * DAY)!;
    expect(second.increments).toContainEqual({ metric: 'msgsvc_account_billing_dollars_total', labels: [], by: 2 });
  });

  const end = NOVEMBER + 20 * DAY;

  test('is 0 with the first response, and grows across days', () => {
    expect(counted([end, stats(NOVEMBER, [5])])).toEqual([0, 0]);
    expect(counted([end, stats(NOVEMBER, [5, 1])], [end + DAY, stats(NOVEMBER, [5, 3, 2])])).toEqual([4, 0]);
  });

  test('continues over the turn of the month, though the new total is higher than the old one', () => {
    const sums = counted(
      [DECEMBER - HOUR, stats(NOVEMBER, [1])],
      [DECEMBER - 60_000, stats(NOVEMBER, [1.5])],
      [DECEMBER + HOUR, stats(DECEMBER, [4])],
      [DECEMBER + 2 * HOUR, stats(DECEMBER, [6])],
    );
    expect(sums).toEqual([0.5 + 6, 0]);
  });

  test('a total that lags behind its days belongs to the previous month', () => {
    const sums = counted(
      [DECEMBER - HOUR, stats(NOVEMBER, [100])],
      [DECEMBER + 60_000, stats(DECEMBER, [0], 101)],
      [DECEMBER + HOUR, stats(DECEMBER, [0.25], 102)],
      [DECEMBER + 2 * HOUR, stats(DECEMBER, [0.5])],
      [DECEMBER + 3 * HOUR, stats(DECEMBER, [0.75])],
    );
    expect(sums).toEqual([2 + 0.75, 0]);
  });

  test('a credit is a correction', () => {
    const totals = [50, 40, 55].map((total, hours) => [end + hours * HOUR, stats(NOVEMBER, [total])] as const);
    expect(counted(...totals)).toEqual([5, 1]);
  });

  test('is the sum of the days when there is no total, and absent when there is neither', () => {
    const days = [[5], [5, 2]].map((amounts, hours) => {
      const { dailyBillings } = stats(NOVEMBER, amounts);
      return [end + hours * HOUR, { dailyBillings: dailyBillings! }] as const;
    });
    expect(counted(...days)[0]).toBe(2);
    expect(aggregateBilling(undefined, { dlqMessages: 1 }, end)).toBeUndefined();
    expect(aggregateBilling(undefined, { monthBillingUsd: -1 }, end)).toBeUndefined();
  });
});

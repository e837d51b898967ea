import { describe, expect, test } from 'vitest';
import type { AccountStats } from '#foundation/domain/statistics.ts';
import { readDays, writeDays } from '#observe/aggregation/series-record.ts';
import { billedDays, spendOf, type BilledDays } from '#observe/aggregation/spend.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A Sunday; November has 30 days. */
const NOVEMBER = Date.UTC(2026, 10, 1);
const DECEMBER = Date.UTC(2026, 11, 1);
const NONE: BilledDays = new Map();

/** Builds the billing of November at a given time: an amount per day, and the elapsed part of today. */
function billing(at: number, aDay: (day: number) => number): AccountStats {
  const dailyBillings = Array.from({ length: 30 }, (_, day) => {
    const passed = Math.min(1, Math.max(0, (at - NOVEMBER - day * DAY) / DAY));
    return { at: NOVEMBER + day * DAY, value: aDay(day + 1) * passed };
  });
  return { dailyBillings, monthBillingUsd: dailyBillings.reduce((sum, { value }) => sum + value, 0) };
}

const at10 = (at: number, budgetUsd?: number, known = NONE) => {
  const stats = billing(at, () => 10);
  return spendOf(stats, billedDays(known, stats, at), { at, budgetUsd });
};

describe('the forecast', () => {
  test('of an even spend is the month', () => {
    for (const at of [NOVEMBER + 3 * DAY, NOVEMBER + 14.3 * DAY, NOVEMBER + 29 * DAY, DECEMBER - 60_000]) {
      expect(at10(at).forecastUsd).toBeCloseTo(300, 6);
    }
  });

  test("on the first day uses the days of the previous month, and without them the day's own rate", () => {
    const before = new Map([1, 2, 3].map((ago) => [NOVEMBER / DAY - ago, 20]));
    const at = NOVEMBER + 2 * HOUR;
    expect(at10(at, undefined, before).forecastUsd).toBeCloseTo(10 / 12 + 20 * (30 - 1 / 12), 6);
    expect(at10(at).forecastUsd).toBeUndefined();
    expect(at10(NOVEMBER + 7 * HOUR).forecastUsd).toBeCloseTo(300, 6);
  });

  test('on the last day adds the rest of the day', () => {
    const at = DECEMBER - 6 * HOUR;
    const stats = billing(at, (day) => (day >= 25 ? 40 : 10));
    const days = billedDays(NONE, stats, at);
    // 24 days at 10, 5.75 at 40, and a quarter of a day at the rate of the last seven without the extremes.
    expect(spendOf(stats, days, { at }).forecastUsd).toBeCloseTo(240 + 230 + ((40 * 4 + 10) / 5) * 0.25, 6);
    expect(spendOf(stats, days, { at: DECEMBER - 1 }).forecastUsd).toBeCloseTo(470, 2);
  });

  test('is not changed by a fee on one day, and follows a trend', () => {
    const at = NOVEMBER + 10 * DAY;
    const fee = billing(at, (day) => (day === 5 ? 190 : 10));
    expect(spendOf(fee, billedDays(NONE, fee, at), { at }).forecastUsd).toBeCloseTo(90 + 190 + 200, 6);
    const dearer = billing(at, (day) => (day > 3 ? 20 : 10));
    expect(spendOf(dearer, billedDays(NONE, dearer, at), { at }).forecastUsd).toBeCloseTo(170 + 400, 6);
  });

  test('excludes a day whose billing may be incomplete', () => {
    const midnight = NOVEMBER + 10 * DAY;
    const stats = billing(midnight, (day) => (day === 10 ? 1 : 10));
    const tens = (count: number) => Array.from({ length: count }, () => 10);
    expect([...billedDays(NONE, stats, midnight + HOUR / 2).values()]).toEqual(tens(9));
    expect([...billedDays(NONE, stats, midnight + 2 * HOUR).values()]).toEqual([...tens(9), 1]);
  });

  test('is withheld while the total belongs to the previous month, or is absent', () => {
    const at = DECEMBER + HOUR;
    const days = new Map([[DECEMBER / DAY - 2, 10]]);
    const dailyBillings = [{ at: DECEMBER, value: 1 }];
    expect(spendOf({ dailyBillings, monthBillingUsd: 300 }, days, { at, budgetUsd: 100 })).toEqual({});
    expect(spendOf({ dailyBillings, monthBillingUsd: 1 }, days, { at }).forecastUsd).toBeGreaterThan(300);
    expect(spendOf({ dlqMessages: 1 }, days, { at })).toEqual({});
    expect(spendOf({ monthBillingUsd: NaN }, days, { at })).toEqual({});
  });

  test('is withheld after the turn while the whole response belongs to the previous month', () => {
    const lagging = billing(DECEMBER, () => 10);
    const days = billedDays(NONE, lagging, DECEMBER + 30_000);
    for (const at of [DECEMBER, DECEMBER + 30_000, DECEMBER + HOUR]) {
      expect(spendOf(lagging, days, { at, budgetUsd: 320 })).toEqual({});
      expect(spendOf({ monthBillingUsd: 300 }, days, { at, budgetUsd: 320 })).toEqual({});
    }
  });
});

describe('the budget', () => {
  test('is spent when the rate says so, or not in this month', () => {
    const at = NOVEMBER + 10 * DAY;
    expect(at10(at, 150).exhaustedAt).toBeCloseTo(NOVEMBER + 15 * DAY, 0);
    expect(at10(at, 300.1).exhaustedAt).toBeUndefined();
    expect(at10(at, 299).exhaustedAt).toBeLessThan(DECEMBER);
    expect(at10(at, Infinity).exhaustedAt).toBeUndefined();
    expect(at10(at).exhaustedAt).toBeUndefined();
  });

  test('that is spent has one fixed time of it', () => {
    for (const at of [NOVEMBER + 16 * DAY, NOVEMBER + 20.5 * DAY]) {
      expect(at10(at, 155).exhaustedAt).toBeCloseTo(NOVEMBER + 15.5 * DAY, 0);
    }
    expect(at10(NOVEMBER + 15.6 * DAY, 155).exhaustedAt).toBeCloseTo(NOVEMBER + 15.5 * DAY, 0);
  });

  test('lasts when nothing is spent', () => {
    const at = NOVEMBER + 10 * DAY;
    const stats = billing(at, () => 0);
    expect(spendOf(stats, billedDays(NONE, stats, at), { at, budgetUsd: 20 })).toEqual({
      monthUsd: 0,
      last24hUsd: 0,
      dayBeforeUsd: 0,
      medianDayUsd: 0,
      paceUsd: 0,
      forecastUsd: 0,
    });
  });
});

describe('the usual day', () => {
  test('is the median of the last 14 whole days, and unknown with fewer than 3', () => {
    const at = NOVEMBER + 20 * DAY + 12 * HOUR;
    // Days 7 to 20 are the last 14: of 7 to 20 dollars.
    const stats = billing(at, (day) => day);
    expect(spendOf(stats, billedDays(NONE, stats, at), { at }).medianDayUsd).toBe(13.5);
    for (const [wholeDays, median] of [
      [2, undefined],
      [3, 2],
    ] as const) {
      const early = NOVEMBER + wholeDays * DAY + 12 * HOUR;
      const few = billing(early, (day) => day);
      expect(spendOf(few, billedDays(NONE, few, early), { at: early }).medianDayUsd).toBe(median);
    }
  });

  test('the rate is still that of the last seven days', () => {
    const at = NOVEMBER + 20 * DAY + 12 * HOUR;
    const stats = billing(at, (day) => (day <= 13 ? 1_000 : 10));
    expect(spendOf(stats, billedDays(NONE, stats, at), { at }).paceUsd).toBeCloseTo(10, 6);
  });
});

describe('the last 24 hours', () => {
  test('have the 24 hours before them, if three days are known', () => {
    const at = NOVEMBER + 10 * DAY + 6 * HOUR;
    expect(
      spendOf(
        billing(at, (day) => day),
        NONE,
        { at },
      ).dayBeforeUsd,
    ).toBeCloseTo(10 / 4 + (9 * 3) / 4, 6);
    const second = NOVEMBER + 1 * DAY + 6 * HOUR;
    expect(
      spendOf(
        billing(second, () => 8),
        NONE,
        { at: second },
      ).dayBeforeUsd,
    ).toBeUndefined();
  });

  test('are today and the part of yesterday that lies within them', () => {
    const at = NOVEMBER + 10 * DAY + 6 * HOUR;
    const stats = billing(at, (day) => (day === 10 ? 40 : 8));
    expect(spendOf(stats, NONE, { at }).last24hUsd).toBeCloseTo(2 + 30, 6);
    const dailyRequests = [
      { at: NOVEMBER + 9 * DAY, value: 400 },
      { at: NOVEMBER + 10 * DAY, value: 7 },
    ];
    expect(spendOf({ ...stats, dailyRequests }, NONE, { at }).requestsLastDay).toBeCloseTo(307, 6);
  });

  test('on the first of a month use the kept data of the previous day, and are unknown without it', () => {
    const at = NOVEMBER + 6 * HOUR;
    const stats = billing(at, () => 8);
    expect(spendOf(stats, new Map([[NOVEMBER / DAY - 1, 4]]), { at }).last24hUsd).toBeCloseTo(2 + 3, 6);
    expect(spendOf(stats, NONE, { at }).last24hUsd).toBeUndefined();
  });
});

test('billed days are equal after they were written and read', () => {
  const days = new Map([
    [20_000, 1.5],
    [20_001, 2],
  ]);
  expect(readDays(writeDays(days))).toEqual(days);
  for (const bad of [undefined, '', '{"v":1}', '{"v":1,"days":[1,["a",2]]}']) expect(readDays(bad).size).toBe(0);
});

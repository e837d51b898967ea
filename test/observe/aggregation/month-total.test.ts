import { describe, expect, test } from 'vitest';
import { monthOf, startOfMonth } from '#foundation/domain/utc-month.ts';
import { aggregateMonth, type MonthReading, type MonthState } from '#observe/aggregation/month-total.ts';
import { readMonth, writeMonth } from '#observe/aggregation/series-record.ts';

const MAY = startOfMonth(2026 * 12 + 4);
const JUNE = startOfMonth(2026 * 12 + 5);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Aggregates readings one after the other. The state is written and read again each time. */
function counted(readings: readonly (readonly [at: number, value: number, month?: number])[]) {
  let state: MonthState | undefined;
  let total = 0;
  let corrections = 0;
  for (const [at, value, month] of readings) {
    const reading: MonthReading = { at, value, ...(month !== undefined && { month }) };
    const aggregated = aggregateMonth(state && readMonth(writeMonth(state)), reading);
    expect(aggregated.increase).toBeGreaterThanOrEqual(0);
    state = aggregated.state;
    total += aggregated.increase;
    corrections += aggregated.corrected ? 1 : 0;
  }
  return { total, corrections };
}

test('months are UTC months', () => {
  expect(monthOf(JUNE - 1)).toBe(monthOf(MAY));
  expect(monthOf(JUNE)).toBe(monthOf(MAY) + 1);
  expect(startOfMonth(monthOf(JUNE + 5 * DAY))).toBe(JUNE);
});

describe('a monthly total', () => {
  const mid = MAY + 14 * DAY;

  test('counts nothing at first, then its increases', () => {
    expect(counted([[mid, 100]])).toEqual({ total: 0, corrections: 0 });
    expect(
      counted([
        [mid, 100],
        [mid + HOUR, 130],
        [mid + 2 * HOUR, 130],
      ]),
    ).toEqual({ total: 30, corrections: 0 });
  });

  test('a decrease within the month is a correction: reported once, ignored, and not counted again on the way back', () => {
    expect(
      counted([
        [mid, 100],
        [mid + HOUR, 90],
        [mid + 2 * HOUR, 90],
        [mid + 3 * HOUR, 99],
        [mid + 4 * HOUR, 104],
      ]),
    ).toEqual({ total: 4, corrections: 1 });
  });

  test('a drop to zero and back is not a new month', () => {
    expect(
      counted([
        [mid, 100],
        [mid + HOUR, 0],
        [mid + 2 * HOUR, 0],
        [mid + 3 * HOUR, 100],
      ]),
    ).toEqual({ total: 0, corrections: 1 });
  });

  test('restarts with the month', () => {
    expect(
      counted([
        [JUNE - HOUR, 1_000],
        [JUNE - 60_000, 1_010],
        [JUNE + 60_000, 3],
        [JUNE + 120_000, 5],
        [JUNE + HOUR, 60],
      ]),
    ).toEqual({ total: 10 + 60, corrections: 0 });
  });

  test('that restarts late, or by another clock, is detected by its decrease', () => {
    for (const turn of [JUNE - 8 * HOUR, JUNE + HOUR, JUNE + 12 * HOUR]) {
      expect(
        counted([
          [turn - HOUR, 1_000],
          [turn - 60_000, 1_010],
          [turn + 60_000, 3],
          [turn + 120_000, 5],
        ]),
      ).toEqual({ total: 15, corrections: 0 });
    }
  });

  test('a correction, or a single response of zero, around the turn is not a new month', () => {
    expect(
      counted([
        [JUNE, 1_000],
        [JUNE + HOUR, 990],
        [JUNE + 2 * HOUR, 0],
        [JUNE + 3 * HOUR, 1_000],
      ]),
    ).toMatchObject({ total: 0 });
  });

  test('an outage over the turn counts the new month', () => {
    expect(
      counted([
        [JUNE - 3 * DAY, 1_000],
        [JUNE + 9 * DAY, 300],
      ]),
    ).toEqual({ total: 300, corrections: 0 });
    // More than the whole previous month: still a new month.
    expect(
      counted([
        [JUNE - 3 * DAY, 1_000],
        [JUNE + 9 * DAY, 1_200],
      ]),
    ).toEqual({ total: 1_200, corrections: 0 });
  });

  test('that was last read within hours of the turn, and then not for days, belongs to the new month', () => {
    for (const last of [JUNE - 13 * HOUR, JUNE - 60_000]) {
      for (const value of [50, 900]) {
        expect(
          counted([
            [last, 1_000],
            [JUNE + 2 * DAY, value],
            [JUNE + 2 * DAY + HOUR, value + 7],
          ]),
        ).toEqual({ total: value + 7, corrections: 0 });
      }
    }
  });

  test('that was read soon after the turn, and was still high, is detected by its decrease at any later time', () => {
    expect(
      counted([
        [JUNE - HOUR, 1_000],
        [JUNE + HOUR, 1_000],
        [JUNE + 2 * DAY, 50],
        [JUNE + 2 * DAY + HOUR, 57],
        [JUNE + 3 * DAY, 90],
      ]),
    ).toEqual({ total: 90, corrections: 0 });
  });

  test('a single response of zero long after the turn is not a new month', () => {
    expect(
      counted([
        [JUNE - HOUR, 10],
        [JUNE + 35 * HOUR, 1_000],
        [JUNE + 37 * HOUR, 0],
        [JUNE + 38 * HOUR, 1_001],
      ]),
    ).toMatchObject({ total: 991 });
  });

  test('an ambiguous total after an outage that ends soon after the turn is not guessed', () => {
    expect(
      counted([
        [JUNE - 3 * DAY, 10],
        [JUNE + 3 * HOUR, 12],
      ]),
    ).toEqual({ total: 2, corrections: 0 });
  });

  test('that turned without a decrease still belongs to the new month', () => {
    expect(
      counted([
        [JUNE - HOUR, 0],
        [JUNE + HOUR, 0],
        [JUNE + 3 * DAY, 50],
        [JUNE + 4 * DAY, 20],
        [JUNE + 5 * DAY, 60],
      ]),
    ).toEqual({ total: 60, corrections: 1 });
  });

  test('that was watched over the turn and did not decrease has not restarted', () => {
    expect(
      counted([
        [JUNE - HOUR, 10],
        [JUNE + HOUR, 10],
        [JUNE + 3 * DAY, 12],
      ]),
    ).toEqual({ total: 2, corrections: 0 });
  });

  test('whose response names its month is taken at its word', () => {
    expect(
      counted([
        [JUNE - HOUR, 10, monthOf(MAY)],
        [JUNE + HOUR, 9, monthOf(MAY)],
        [JUNE + 2 * HOUR, 12, monthOf(JUNE)],
      ]),
    ).toEqual({ total: 12, corrections: 1 });
  });

  test('whose response is again that of the previous month, soon after the turn, waits for the next', () => {
    expect(
      counted([
        [JUNE - HOUR, 1_000, monthOf(MAY)],
        [JUNE + HOUR, 3, monthOf(JUNE)],
        [JUNE + HOUR + 60_000, 1_001, monthOf(MAY)],
        [JUNE + HOUR + 120_000, 5, monthOf(JUNE)],
      ]),
    ).toEqual({ total: 5, corrections: 0 });
    // A turn that was detected too early does not stop the counting of this month.
    expect(
      counted([
        [MAY + 10 * DAY, 300, monthOf(MAY)],
        [MAY + 10 * DAY + HOUR, 301, monthOf(JUNE)],
        [MAY + 11 * DAY, 350, monthOf(MAY)],
      ]).total,
    ).toBe(301 + 49);
  });

  test('restarts when its record cannot be read', () => {
    for (const bad of [undefined, '', '[]', '{"v":1}', '{"v":1,"value":"x","read":1,"at":1,"month":1}']) {
      expect(readMonth(bad)).toBeUndefined();
    }
  });
});

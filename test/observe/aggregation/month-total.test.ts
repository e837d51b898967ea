import { describe, expect, test } from 'vitest';
import { monthOf, startOfMonth } from '#foundation/domain/utc-month.ts';
import { aggregateMonth, type MonthReading, type MonthState } from '#observe/aggregation/month-total.ts';
import { readMonth, writeMonth } from '#observe/aggregation/series-record.ts';

const MAY = startOfMonth(2026 * 12 + 4);
const JUNE = startOfMonth(2026 * 12 + 5);
const DAY = 86_400_000;

const MOMENTS = { may: MAY, mid: MAY + 14 * DAY, june: JUNE };
const UNITS = { m: 60_000, h: 3_600_000, d: DAY };

/** Parses readings such as `june-1h 1000 may`: moment, value, and the month that the response names, if it names one. */
function readingsOf(text: string): MonthReading[] {
  return text.split(', ').map((reading) => {
    const [when, value, month] = reading.split(' ');
    const offsets = [...when!.matchAll(/([+-]\d+)([mhd])/g)];
    const at = offsets.reduce(
      (time, [, amount, unit]) => time + Number(amount) * UNITS[unit as keyof typeof UNITS],
      MOMENTS[/^[a-z]+/.exec(when!)![0] as keyof typeof MOMENTS],
    );
    return {
      at,
      value: Number(value),
      ...(month !== undefined && { month: monthOf(MOMENTS[month as keyof typeof MOMENTS]) }),
    };
  });
}

/** Aggregates readings one after the other. The state is written and read again each time. */
function counted(text: string): readonly [total: number, corrections: number] {
  let state: MonthState | undefined;
  let total = 0;
  let corrections = 0;
  for (const reading of readingsOf(text)) {
    const aggregated = aggregateMonth(state && readMonth(writeMonth(state)), reading);
    expect(aggregated.increase).toBeGreaterThanOrEqual(0);
    state = aggregated.state;
    total += aggregated.increase;
    corrections += aggregated.corrected ? 1 : 0;
  }
  return [total, corrections];
}

test('months are UTC months', () => {
  expect(monthOf(JUNE - 1)).toBe(monthOf(MAY));
  expect(monthOf(JUNE)).toBe(monthOf(MAY) + 1);
  expect(startOfMonth(monthOf(JUNE + 5 * DAY))).toBe(JUNE);
});

describe('a monthly total', () => {
  test.each([
    ['counts nothing at first', 'mid 100', 0, 0],
    ['counts its increases', 'mid 100, mid+1h 130, mid+2h 130', 30, 0],
    [
      'that decreases within the month is corrected: once, and not counted again on the way back',
      'mid 100, mid+1h 90, mid+2h 90, mid+3h 99, mid+4h 104',
      4,
      1,
    ],
    ['that drops to zero and returns is of the same month', 'mid 100, mid+1h 0, mid+2h 0, mid+3h 100', 0, 1],
    ['restarts with the month', 'june-1h 1000, june-1m 1010, june+1m 3, june+2m 5, june+1h 60', 10 + 60, 0],
    [
      'that restarts early is detected by its decrease',
      'june-9h 1000, june-8h-1m 1010, june-8h+1m 3, june-8h+2m 5',
      15,
      0,
    ],
    ['that restarts an hour late is detected', 'june 1000, june+1h-1m 1010, june+1h+1m 3, june+1h+2m 5', 15, 0],
    [
      'that restarts half a day late is detected',
      'june+11h 1000, june+12h-1m 1010, june+12h+1m 3, june+12h+2m 5',
      15,
      0,
    ],
    [
      'is of the same month after a correction, or a single response of zero, around the turn',
      'june 1000, june+1h 990, june+2h 0, june+3h 1000',
      0,
      1,
    ],
    ['counts the new month after an outage over the turn', 'june-3d 1000, june+9d 300', 300, 0],
    ['is of a new month even if it exceeds the whole previous month', 'june-3d 1000, june+9d 1200', 1_200, 0],
    ['that was read 13 h before the turn, then not for days', 'june-13h 1000, june+2d 50, june+2d+1h 57', 57, 0],
    ['that was read 1 m before the turn, then not for days', 'june-1m 1000, june+2d 50, june+2d+1h 57', 57, 0],
    ['that was read 13 h before the turn, and is higher', 'june-13h 1000, june+2d 900, june+2d+1h 907', 907, 0],
    ['that was read 1 m before the turn, and is higher', 'june-1m 1000, june+2d 900, june+2d+1h 907', 907, 0],
    [
      'that was still high soon after the turn is detected by its decrease at any later time',
      'june-1h 1000, june+1h 1000, june+2d 50, june+2d+1h 57, june+3d 90',
      90,
      0,
    ],
    [
      'is of the same month after a single response of zero long after the turn',
      'june-1h 10, june+35h 1000, june+37h 0, june+38h 1001',
      991,
      0,
    ],
    ['that is ambiguous after an outage that ends soon after the turn is not guessed', 'june-3d 10, june+3h 12', 2, 0],
    [
      'that turned without a decrease still belongs to the new month',
      'june-1h 0, june+1h 0, june+3d 50, june+4d 20, june+5d 60',
      60,
      1,
    ],
    [
      'that was watched over the turn and did not decrease has not restarted',
      'june-1h 10, june+1h 10, june+3d 12',
      2,
      0,
    ],
    ['whose response names its month is taken at its word', 'june-1h 10 may, june+1h 9 may, june+2h 12 june', 12, 1],
    [
      'whose response is again that of the previous month, soon after the turn, waits for the next',
      'june-1h 1000 may, june+1h 3 june, june+1h+1m 1001 may, june+1h+2m 5 june',
      5,
      0,
    ],
    [
      'whose turn was detected too early is counted on in this month',
      'may+10d 300 may, may+10d+1h 301 june, may+11d 350 may',
      301 + 49,
      0,
    ],
  ])('%s', (_title, readings, total, corrections) => {
    expect(counted(readings)).toEqual([total, corrections]);
  });

  test('restarts when its record cannot be read', () => {
    for (const bad of [undefined, '', '[]', '{"v":1}', '{"v":1,"value":"x","read":1,"at":1,"month":1}']) {
      expect(readMonth(bad)).toBeUndefined();
    }
  });
});

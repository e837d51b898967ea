import { expect, test } from 'vitest';
import type { AccountStats } from '#foundation/domain/statistics.ts';
import { checkPoints } from '#observe/aggregation/points-check.ts';
import type { PointMeaning } from '#observe/aggregation/points.ts';

const MINUTE = 60_000;
const STEP = 24 * MINUTE;
const MIDNIGHT = Date.UTC(2026, 10, 20);
const AT = MIDNIGHT + 10 * 60 * MINUTE;

/** Builds a day with 100 per step, in the representation of `meaning`, and twice as much on the previous day. */
function day(at: number, meaning: PointMeaning): AccountStats {
  const newest = Math.floor(at / STEP) * STEP;
  const used = Array.from({ length: 60 }, (_, index) => {
    const from = newest - (59 - index) * STEP;
    const amount = (from < MIDNIGHT ? 200 : 100) * Math.min(1, (at - from) / STEP);
    return {
      at: meaning.at === 'end' ? from + STEP : from,
      value: meaning.value === 'rate' ? amount / (STEP / 1_000) : amount,
    };
  });
  const today = ((at - MIDNIGHT) / STEP) * 100;
  return {
    used,
    bandwidthUsed: used,
    dailyRequests: [{ at: MIDNIGHT, value: today }],
    dailyBandwidths: [{ at: MIDNIGHT, value: today }],
  };
}

const MEANINGS: readonly PointMeaning[] = [
  { value: 'sum', at: 'start' },
  { value: 'sum', at: 'end' },
  { value: 'rate', at: 'start' },
  { value: 'rate', at: 'end' },
];

test.each(MEANINGS)('%j adds up, and no other meaning does', (meaning) => {
  for (const taken of MEANINGS) {
    const { sources } = checkPoints(day(AT, meaning), AT, taken)!;
    const isRight = taken.value === meaning.value && taken.at === meaning.at;
    expect(sources.map(({ source }) => source)).toEqual(['used', 'bandwidth']);
    expect(
      sources.every(({ isWrong }) => isWrong),
      JSON.stringify(taken),
    ).toBe(!isRight);
  }
});

test('of a point that spans midnight, today’s part is compared', () => {
  const points = Array.from({ length: 60 }, (_, index) => ({ at: AT - (60 - index) * STEP, value: 1_000 }));
  const shifted = points.map((point) => ({ ...point, at: point.at - STEP / 2 }));
  const today = (AT - MIDNIGHT - STEP / 2) * (1_000 / STEP);
  const { sources } = checkPoints(
    { used: shifted, dailyRequests: [{ at: MIDNIGHT, value: today }] },
    AT,
    MEANINGS[0]!,
  )!;
  expect(sources).toEqual([{ source: 'used', points: today, day: today, isWrong: false }]);
});

test('early in the day there is no verdict, nor for fields that the response lacks', () => {
  const meaning = MEANINGS[0]!;
  expect(checkPoints(day(MIDNIGHT + 60 * MINUTE, meaning), MIDNIGHT + 60 * MINUTE, meaning)).toBeUndefined();
  expect(checkPoints({ dlqMessages: 1 }, AT, meaning)).toEqual({ at: AT, sources: [] });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  aggregatePoints,
  intervalsOf,
  periodsToFill,
  sumWithin,
  type AggregatePoints,
  type Interval,
  type SeriesState,
} from '#observe/aggregation/points.ts';
import { readPoints, writePoints } from '#observe/aggregation/series-record.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { HISTORIES, outcomeOf } from './points-history.ts';

const MINUTE = 60_000;
/** A midnight. */
const T0 = Date.UTC(2026, 10, 20);
const at = (minute: number): number => T0 + minute * MINUTE;

/** Amount of a minute; undefined when its point is missing. */
type Amount = (minute: number) => number | undefined;

/** Builds the points of the last hour at `now` (minutes after T0). */
function hour(now: number, amount: Amount): Interval[] {
  const points = Array.from({ length: 60 }, (_, index) => Math.floor(now) - 59 + index).flatMap((minute) => {
    const value = amount(minute);
    return value === undefined ? [] : [{ at: at(minute), value }];
  });
  return intervalsOf(points, '1h', { value: 'sum', at: 'start' });
}

function window(now: number, fine: readonly Interval[], coarse?: AggregatePoints['coarse']): AggregatePoints {
  return {
    fine,
    servedAt: at(now),
    settleMs: 2 * MINUTE,
    intervalMs: MINUTE,
    ...(coarse && { coarse }),
  };
}

/** Builds a response for the last hour at `now`. */
function lastHour(now: number, amount: Amount, coarse?: AggregatePoints['coarse']): AggregatePoints {
  return window(now, hour(now, amount), coarse);
}

function next(state: SeriesState | undefined, ...response: Parameters<typeof lastHour>) {
  return aggregatePoints(state, lastHour(...response))!;
}

const one: Amount = () => 1;

function begun(now: number, amount: Amount = one): SeriesState {
  return next(undefined, now, amount).state;
}

describe('a series of points', () => {
  test('begins at the newest settled point and counts nothing before it', () => {
    const result = next(undefined, 100.5, () => 7);
    expect(result).toMatchObject({ increase: 0, points: 0, missed: 0 });
    // Minute 98 ended at 99, which is less than two minutes ago.
    expect(result.state.watermark).toBe(at(98));
    expect(result.state.base).toBe(at(98));
  });

  test('does not begin without a settled point', () => {
    expect(aggregatePoints(undefined, window(100, []))).toBeUndefined();
    expect(next(undefined, 100, (minute) => (minute >= 99 ? 1 : undefined))).toBeUndefined();
  });

  test('counts each point once, when it is settled', () => {
    const state = begun(100);
    const result = next(state, 103, (minute) => (minute >= 98 ? 10 : 1));
    expect(result).toMatchObject({ increase: 30, points: 3, revised: 0, missed: 0 });
    expect(next(result.state, 103, (minute) => (minute >= 98 ? 10 : 1))).toMatchObject({
      increase: 0,
      points: 0,
    });
  });

  test('adds later increases; a decrease is only reported, once', () => {
    const state = next(
      begun(100, () => 0),
      105,
      () => 5,
    ).state;
    const higher = next(state, 106, (minute) => (minute === 99 ? 8 : 5));
    expect(higher).toMatchObject({ increase: 3 + 5, revised: 1 });
    const lower = next(higher.state, 107, (minute) => (minute === 99 ? 2 : 5));
    expect(lower).toMatchObject({ increase: 5, revised: 1 });
    const still = next(lower.state, 108, (minute) => (minute === 99 ? 2 : 5));
    expect(still).toMatchObject({ increase: 5, revised: 0 });
    // The value returns to the counted one: nothing is added twice.
    const back = next(still.state, 109, (minute) => (minute === 99 ? 9 : 5));
    expect(back).toMatchObject({ increase: 1 + 5, revised: 1 });
  });

  test('points before the start are never counted, in any revision', () => {
    const state = begun(100);
    expect(next(state, 101, (minute) => (minute < 98 ? 50 : 0)).increase).toBe(0);
  });

  test('waits for missing points at the end of the window', () => {
    const state = begun(100);
    const waiting = next(state, 110, (minute) => (minute < 100 ? 1 : undefined));
    expect(waiting).toMatchObject({ increase: 2, missed: 0 });
    const whole = next(waiting.state, 111, one);
    expect(whole).toMatchObject({ increase: 9, missed: 0 });
  });

  test('a gap is filled when its point arrives, and missed when it never does', () => {
    const state = begun(100);
    const holey = next(state, 110, (m) => (m === 101 || m === 103 ? undefined : 1));
    expect(holey).toMatchObject({ increase: 8, missed: 0 });
    const filled = next(holey.state, 112, (m) => (m === 101 ? undefined : 1));
    expect(filled).toMatchObject({ increase: 3, missed: 0 });
    let last = filled;
    let missed = 0;
    for (let now = 113; now < 200; now++) {
      last = next(last.state, now, (m) => (m === 101 ? undefined : 1));
      missed += last.missed;
    }
    expect(missed).toBe(1);
  });

  test('missing points at the front of the window are gaps, but not before it', () => {
    const state = begun(170);
    const late = next(state, 201, (minute) => (minute < 180 ? undefined : 1));
    const whole = next(late.state, 202, one);
    expect(late.increase + whole.increase).toBe(202 - 170);
    expect(late.missed + whole.missed).toBe(0);
  });

  test.each([1, 5, 12, 30, 45, 57, 70, 200])(
    'a service that returns 10 points instead of 60 loses no minute unseen, in steps of up to %i minutes',
    (longest) => {
      const random = seededRandom(longest);
      const points = (now: number, stepMs: number): Interval[] =>
        Array.from({ length: 10 }, (_, index) => {
          const from = (Math.floor(at(now) / stepMs) - 9 + index) * stepMs;
          return { from, to: from + stepMs, value: Math.min(stepMs, at(now) - from) / MINUTE };
        });
      let state = aggregatePoints(undefined, window(1_000.5, points(1_000.5, MINUTE)))!.state;
      const sums = { increase: 0, missed: 0 };
      const poll = (now: number): void => {
        const coarse = periodsToFill(state, at(now)).map((period) =>
          points(now, { '3h': 3, '12h': 12, '1d': 24 }[period as '3h' | '12h' | '1d'] * MINUTE),
        );
        const result = aggregatePoints(state, window(now, points(now, MINUTE), coarse))!;
        ({ state } = result);
        sums.increase += result.increase;
        sums.missed += result.missed;
      };
      let now = 1_000.5;
      for (let round = 0; round < 100; round += 1) {
        poll((now += 1 + Math.floor(random() * longest)));
        // The second response confirms what the first one lacks.
        poll((now += 1));
        expect(sums.increase + sums.missed).toBe((state.watermark - state.base) / MINUTE);
      }
      if (longest > 12) expect(sums.missed).toBeGreaterThan(0);
    },
  );

  test('invalid points are ignored, and a repeated point counts once', () => {
    const meaning = { value: 'sum', at: 'start' } as const;
    const points = [NaN, -1, Infinity, 4, 4].map((value, index) => ({ at: at(Math.min(index, 3)), value }));
    expect(intervalsOf(points, '1h', meaning)).toEqual([{ from: at(3), to: at(4), value: 4 }]);
  });

  test('rates and ends of intervals are interpreted as configured', () => {
    expect(intervalsOf([{ at: at(3), value: 0.5 }], '3h', { value: 'rate', at: 'end' })).toEqual([
      { from: at(0), to: at(3), value: 90 },
    ]);
  });

  test('points whose intervals follow the time of the request are counted from the end of the last one', () => {
    // 60 per minute, evenly: the last hour of minutes that end now.
    const rolling = (now: number): AggregatePoints => {
      const points = Array.from({ length: 60 }, (_, index) => ({ at: at(now - 60 + index), value: 60 }));
      return window(now, intervalsOf(points, '1h', { value: 'sum', at: 'start' }));
    };
    let state = aggregatePoints(undefined, rolling(100))!.state;
    let counted = 0;
    let points = 0;
    for (const now of [100.5, 101.25, 102, 102.9, 104.1, 105, 105.05, 130, 131.75]) {
      const result = aggregatePoints(state, rolling(now))!;
      counted += result.increase;
      expect(counted).toBeCloseTo((result.state.watermark - state.base) / 1_000, 6);
      expect(result).toMatchObject({ revised: 0, missed: 0 });
      points += result.points;
      expect(points).toBeCloseTo(counted / 60, 6);
      expect(aggregatePoints(result.state, rolling(now))).toMatchObject({ increase: 0, points: 0 });
      state = result.state;
    }
    expect(state.watermark).toBe(at(131.75 - 2));
  });

  test('a wrong clock of the service causes no lasting damage', () => {
    const state = begun(100);
    // A day ahead: the newest point counts as settled while it is incomplete.
    const ahead = aggregatePoints(state, {
      ...lastHour(101, (m) => (m === 101 ? 3 : 10)),
      servedAt: at(101 + 1_440),
    })!;
    const after = next(ahead.state, 110, () => 10);
    expect(ahead.increase + after.increase).toBe(10 * 10);
  });
});

describe('a gap', () => {
  /** Each minute holds 1. The coarse windows are sums of minutes. */
  const coarseOf = (now: number, step: number, count = 60): Interval[] => {
    const newest = Math.floor(now / step) * step;
    return Array.from({ length: count }, (_, index) => {
      const from = newest - (count - 1 - index) * step;
      return { from: at(from), to: at(from + step), value: Math.min(step, now - from) };
    });
  };

  test('requests the smallest period that reaches back far enough, and an intermediate one if that is very coarse', () => {
    const state = begun(1_000);
    const asked = (minutes: number) => periodsToFill(state, at(1_000 + minutes));
    expect(asked(1)).toEqual([]);
    expect(asked(30)).toEqual([]);
    expect(asked(45)).toEqual(['3h']);
    expect(asked(140)).toEqual(['3h']);
    expect(asked(200)).toEqual(['12h']);
    expect(asked(15 * 60)).toEqual(['1d']);
    expect(asked(2 * 1_440)).toEqual(['3d', '12h']);
    expect(asked(29 * 1_440)).toEqual(['30d', '12h']);
    expect(asked(50 * 1_440)).toEqual(['30d', '12h']);
    expect(periodsToFill(undefined, at(0))).toEqual([]);
  });

  test('is filled exactly, less the parts of its border points that the hour covers', () => {
    const state = begun(100);
    const now = 400;
    const result = next(state, now, one, [coarseOf(now, 12)]);
    expect(result.increase).toBe(now - 2 - 98);
    expect(result).toMatchObject({ missed: 0, revised: 0 });
    expect(result.backfilled).toBeGreaterThan(240);
  });

  test('that no period covers is missed, and counted as such', () => {
    const state = begun(100);
    const now = 100 + 60 * 1_440;
    const windows = [coarseOf(now, 180, 240), coarseOf(now, 12)];
    const result = next(state, now, one, windows);
    expect(result.increase + result.missed).toBe(now - 2 - 98);
    expect(result.missed).toBeGreaterThan(29 * 1_440);
  });

  test('whose coarse response is empty is missed, not guessed', () => {
    const state = begun(100);
    const result = next(state, 400, one, [[]]);
    expect(result).toMatchObject({ increase: 57, missed: 341 - 98 });
  });

  test('finds late additions to earlier counts', () => {
    const state = next(begun(100), 130, one).state;
    const now = 250;
    const more = coarseOf(now, 3).map((point) => (point.from === at(120) ? { ...point, value: 9 } : point));
    const result = next(state, now, one, [more]);
    expect(result).toMatchObject({ increase: now - 130 + 6, revised: 1, missed: 0 });
  });
});

describe('a coarse point', () => {
  const bucket = (from: number, value: number): Interval => ({ from: at(from), to: at(from + 3), value });

  test('that spans the start of counting revises nothing: it may contain earlier additions', () => {
    const state = next(begun(100), 130, one).state;
    const now = 180;
    const result = next(state, now, one, [[bucket(96, 9), bucket(99, 3)]]);
    expect(result).toMatchObject({ revised: 0, increase: now - 130 });
  });

  test('does not fill a gap that the hour still shows', () => {
    const holed: Amount = (minute) => (minute === 143 ? undefined : 1);
    const state = next(begun(130), 167, holed).state;
    const holey = next(state, 201, holed, [[bucket(141, 3)]]);
    const filled = next(holey.state, 202, one);
    expect(holey.increase + filled.increase).toBe(202 - 167 + 1);
    expect(holey.missed + filled.missed).toBe(0);
  });
});

test('an interval is a sum of others only if they cover it completely', () => {
  const parts = [0, 1, 2].map((minute) => ({ from: minute, to: minute + 1, value: 1 }));
  expect(sumWithin(parts, 0, 3)).toBe(3);
  expect(sumWithin(parts, 1, 2)).toBe(1);
  expect(sumWithin(parts, 1, 1)).toBe(0);
  expect(sumWithin(parts, 0, 4)).toBeUndefined();
  expect(sumWithin([{ from: 0, to: 2, value: 1 }], 1, 2)).toBeUndefined();
  expect(sumWithin([parts[0]!, parts[2]!], 0, 3)).toBeUndefined();
});

test('a state is equal after it was written and read', () => {
  const counted = fc.record({
    value: fc.nat(),
    read: fc.option(fc.nat(), { nil: undefined }),
    minutes: fc.constantFrom(1, 3, 12),
  });
  fc.assert(
    fc.property(fc.array(counted, { maxLength: 40 }), (parts) => {
      let from = at(0);
      const last = parts.map(({ value, read, minutes }) => {
        const interval = { from, to: from + minutes * MINUTE, value, read };
        from = interval.to + (value % 3 === 0 ? MINUTE : 0);
        return interval;
      });
      const state = { base: at(0), watermark: from, last };
      expect(readPoints(writePoints(state))).toEqual(state);
    }),
  );
  for (const bad of [undefined, '', 'null', '{}', '{"v":2}', '{"v":1,"base":1,"watermark":2}']) {
    expect(readPoints(bad)).toBeUndefined();
  }
});

/** The long campaign (test/soak) runs sixty histories of each kind. */
describe('random histories', () => {
  test.each(Object.entries(HISTORIES))('%s', (_name, { options, seeds, isExact }) => {
    const { runs, exact, worst, missed, wrong } = outcomeOf(options, seeds);
    expect(wrong).toBe(0);
    if (isExact) expect({ exact, missed }).toEqual({ exact: runs, missed: 0 });
    else expect(worst).toBeLessThan(0.004);
  });
});

import { describe, expect, test } from 'vitest';
import type { MessageState } from '#foundation/domain/log-entry.ts';
import type { HourCounts } from '#observe/aggregation/log-store.ts';
import { reconcile } from '#observe/aggregation/reconcile.ts';
import { writePoints } from '#observe/aggregation/series-record.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.UTC(2026, 10, 20, 12);

/** Builds a series with `amount` per minute, counted up to `watermark`. */
function record(
  series: string,
  amount: number,
  options: { watermark?: number; base?: number; hole?: number; source?: string } = {},
) {
  const { watermark = NOON + 30 * MINUTE, base = NOON - 5 * HOUR, hole, source = 'messages' } = options;
  const last = Array.from({ length: 240 }, (_, index) => {
    const from = watermark - (240 - index) * MINUTE;
    return { from, to: from + MINUTE, value: amount, read: from === hole ? undefined : amount };
  });
  return { subject: 'acc-1', source, series, record: writePoints({ base, watermark, last }) };
}

function compare(
  records: readonly ReturnType<typeof record>[],
  counts: Partial<Record<MessageState, number | ((hour: number) => number)>>,
  { lateMs, ...log }: { since?: number; watermark?: number; lateMs?: number } = {},
) {
  return reconcile({
    records,
    ...(lateMs !== undefined && { lateMs }),
    log: { since: NOON - 10 * HOUR, watermark: NOON + 30 * MINUTE, ...log },
    hours: hoursOf(
      (hour) =>
        new Map(
          Object.entries(counts).map(([state, count]) => [
            state as MessageState,
            typeof count === 'function' ? count(hour) : count,
          ]),
        ),
    ),
  });
}

/** Returns the counts of the compared hours. */
function hoursOf(of: (hour: number) => ReadonlyMap<MessageState, number>): HourCounts {
  return new Map(Array.from({ length: 24 }, (_, ago) => NOON - ago * HOUR).map((hour) => [hour, of(hour)]));
}

describe('log and statistics', () => {
  test('agree when they count the same, messages of workflows included', () => {
    expect(
      compare([record('delivered', 5), record('delivered', 2, { source: 'workflow_messages' })], { DELIVERED: 420 }),
    ).toEqual([{ state: 'DELIVERED', hour: NOON - HOUR, logs: 420, statistics: 420, agrees: true, isLasting: false }]);
  });

  test('agree within the rounding at the borders of the hour', () => {
    expect(compare([record('delivered', 5)], { DELIVERED: 308 })).toMatchObject([{ agrees: true }]);
    expect(compare([record('delivered', 5)], { DELIVERED: 320 })).toMatchObject([{ agrees: false, isLasting: true }]);
    expect(compare([record('delivered', 500)], { DELIVERED: 30_400 })).toMatchObject([{ agrees: true }]);
  });

  test('a gap is lasting if the previous hour had one in the same direction', () => {
    const late = (hour: number) => (hour === NOON - HOUR ? 100 : 300);
    expect(compare([record('delivered', 5)], { DELIVERED: late })).toMatchObject([{ agrees: false, isLasting: false }]);
    const other = (hour: number) => (hour === NOON - HOUR ? 100 : 500);
    expect(compare([record('delivered', 5)], { DELIVERED: other })).toMatchObject([{ isLasting: false }]);
    expect(compare([record('delivered', 5)], {})).toMatchObject([{ logs: 0, isLasting: true }]);
  });

  test('are compared only in hours that are final for both', () => {
    const early = NOON + 19 * MINUTE;
    const hourOf = (...args: Parameters<typeof compare>) => compare(...args)[0]?.hour;
    const counts = { DELIVERED: 300 };
    expect(hourOf([record('delivered', 5)], counts)).toBe(NOON - HOUR);
    expect(hourOf([record('delivered', 5)], counts, { watermark: early })).toBe(NOON - 2 * HOUR);
    expect(hourOf([record('delivered', 5, { watermark: early })], counts)).toBe(NOON - 2 * HOUR);
    expect(hourOf([record('delivered', 5)], counts, { lateMs: 31 * MINUTE })).toBe(NOON - 2 * HOUR);
    expect(hourOf([record('delivered', 5)], counts, { lateMs: 5 * MINUTE })).toBe(NOON - HOUR);
  });

  test('are not compared in an hour that one of them covers in part', () => {
    const counts = { DELIVERED: 300 };
    expect(compare([record('delivered', 5)], counts, { since: NOON - HOUR + 1 })).toEqual([]);
    expect(compare([record('delivered', 5, { base: NOON - HOUR + MINUTE })], counts)).toEqual([]);
    expect(compare([record('delivered', 5, { hole: NOON - 10 * MINUTE })], counts)).toEqual([]);
    expect(compare([], counts)).toEqual([]);
    expect(compare([{ ...record('delivered', 5), record: 'unreadable' }], counts)).toEqual([]);
  });

  test('both spellings of a canceled message are one state, and unknown series are ignored', () => {
    const rows = compare([record('cancelled', 1), record('canceled', 1), record('whatever', 9)], { CANCELLED: 120 });
    expect(rows).toMatchObject([{ state: 'CANCELLED', statistics: 120, agrees: true }]);
  });
});

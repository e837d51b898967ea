/** The workload of an index depends only on its id and on time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { STATS_PERIOD_NAMES } from '#emulator/statistics/statistics-period.ts';
import { throughputVector, vectorStatistics } from '#emulator/statistics/vector-statistics.ts';
import { indexWorkload } from '#emulator/statistics/index-workload.ts';
import { createIndexes } from '#emulator/statistics/indexes.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';

interface VectorStatsJson {
  readonly [field: string]: unknown;
  readonly monthly_query_count: number;
  readonly monthly_update_count: number;
  readonly monthly_rerank_count: number;
  readonly monthly_bandwidth_usage: number;
  readonly daily_query_count: number;
  readonly daily_query_requests: readonly { readonly x: string; readonly y: number }[];
  readonly query_throughput: readonly { readonly x: string; readonly y: number }[];
  readonly days: readonly string[];
}

const stats = (id: string, now: number, period: (typeof STATS_PERIOD_NAMES)[number] = '1h'): VectorStatsJson =>
  vectorStatistics(id, period, { now }) as VectorStatsJson;

const MINUTE = 60_000;
const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 20, 10, 30, 15);
const anyTime = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2035, 0, 1) });
const COUNTERS = [
  'monthly_query_count',
  'monthly_update_count',
  'monthly_rerank_count',
  'monthly_bandwidth_usage',
] as const;

describe('vector statistics', () => {
  test('monthly counters increase within a month and restart with the next', () => {
    fc.assert(
      fc.property(fc.string(), anyTime, fc.integer({ min: 1, max: 20 * DAY }), (id, now, later) => {
        const [before, after] = [stats(id, now), stats(id, now + later)];
        const sameMonth = new Date(now).toISOString().slice(0, 7) === new Date(now + later).toISOString().slice(0, 7);
        if (sameMonth) for (const counter of COUNTERS) expect(after[counter]).toBeGreaterThanOrEqual(before[counter]);
      }),
    );
    const turn = Date.UTC(2026, 11, 1);
    for (const counter of COUNTERS) {
      expect(stats('idx', turn - 1)[counter]).toBeGreaterThan(0);
      expect(stats('idx', turn)[counter]).toBe(0);
    }
  });

  test('counts of parts add up to the count of the whole', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.array(anyTime, { minLength: 3, maxLength: 10 }),
        fc.constantFrom('query' as const, 'update' as const, 'rerank' as const),
        (id, times, operation) => {
          const workload = indexWorkload(id);
          const sorted = times.toSorted((a, b) => a - b);
          const parts = sorted.slice(1).map((to, index) => workload.count(operation, sorted[index]!, to));
          const whole = workload.count(operation, sorted[0]!, sorted.at(-1)!);
          expect(parts.reduce((sum, part) => sum + part, 0)).toBe(whole);
          expect(parts.every((part) => part >= 0 && Number.isInteger(part))).toBe(true);
        },
      ),
    );
  });

  test('a rate is never negative, so a count never decreases', () => {
    const workloads = ['a', 'b', 'c'].map(indexWorkload);
    const rates = workloads.flatMap((workload) =>
      Array.from({ length: 2_000 }, (_, index) => workload.rate('update', NOW + index * 13 * MINUTE)),
    );
    expect(Math.min(...rates)).toBeGreaterThan(0);
    // The load also varies: at night it is less than half of the daytime load.
    expect(Math.max(...rates.slice(0, 500))).toBeGreaterThan(2 * Math.min(...rates.slice(0, 500)));
  });

  test('days of the month, today and the points count the same queries', () => {
    const now = Date.UTC(2026, 10, 7, 23, 59, 59);
    const { daily_query_requests: days, ...rest } = stats('idx', now);
    expect(days.reduce((sum, point) => sum + point.y, 0)).toBe(rest.monthly_query_count);
    expect(days.at(-1)!.y).toBe(rest.daily_query_count);
    expect(rest.days).toEqual(['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']);
    const hour = rest.query_throughput.slice(0, -1).reduce((sum, point) => sum + Math.round(point.y * 60), 0);
    const from = Math.floor(now / MINUTE) * MINUTE;
    expect(hour).toBe(indexWorkload('idx').count('query', from - 59 * MINUTE, from));
  });

  test('depend only on id and time', () => {
    expect(stats('idx', NOW)).toEqual(stats('idx', NOW));
    expect(stats('other', NOW)).not.toEqual(stats('idx', NOW));
    // A completed point never changes, whenever it is read.
    const early = stats('idx', NOW).query_throughput.at(-2)!;
    expect(stats('idx', NOW + 20 * MINUTE).query_throughput).toContainEqual(early);
  });

  test.each(STATS_PERIOD_NAMES)('of %s are finite and not negative, with the points of the period', (period) => {
    const answer = stats('idx', NOW, period);
    const arrays = Object.entries(answer).filter(([name, value]) => Array.isArray(value) && name !== 'days');
    for (const [name, value] of arrays) {
      const points = value as readonly { readonly y: number }[];
      expect(points, name).toHaveLength(name.startsWith('daily_') ? 7 : period === '30d' ? 240 : 60);
      expect(
        points.every((point) => Number.isFinite(point.y) && point.y >= 0),
        name,
      ).toBe(true);
    }
  });

  test('times have as many fraction digits as the installation sends', () => {
    const clock = new ManualClock(NOW);
    const indexes = createIndexes({ clock, random: seededRandom(1), fractionDigits: () => 0 });
    const record = indexes.create({ id: 'idx', name: 'n', region: 'eu-west-1', type: 'payg', customerId: 'c' });
    const xs = JSON.stringify([record, indexes.vectorStats('idx', '1h')]).match(/"x":"[^"]*"/g)!;
    expect(xs.length).toBeGreaterThan(500);
    expect(xs.every((x) => /^"x":"[\d-]{10} [\d:]{8} \+0000 UTC"$/.test(x))).toBe(true);
  });

  test('throughput of the index record covers the last hour', () => {
    const points = throughputVector('idx', { now: NOW });
    expect(points).toHaveLength(60);
    expect(points.at(-1)!.x).toBe('2026-11-20 10:30:00.000000000 +0000 UTC');
    expect(points.some((point) => point.y > 0)).toBe(true);
  });
});

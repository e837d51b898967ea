/** Compares the statistics with a model that keeps every fact and counts again for each response. */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Fact } from '#emulator/statistics/facts.ts';
import { formatPointTime } from '#emulator/statistics/point-time.ts';
import { STATS_PERIOD_NAMES, type StatsPeriodName } from '#emulator/statistics/statistics-period.ts';
import type { AccountStatsJson, WirePoint } from '#emulator/statistics/account-stats.ts';
import { createStatistics } from '#emulator/statistics/statistics.ts';

const NOW = Date.UTC(2026, 10, 20, 10, 30, 15, 250);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const STEP: Readonly<Record<StatsPeriodName, number>> = {
  '1h': MINUTE,
  '3h': 3 * MINUTE,
  '12h': 12 * MINUTE,
  '1d': 24 * MINUTE,
  '3d': 72 * MINUTE,
  '7d': 168 * MINUTE,
  '30d': 3 * HOUR,
};

/** Converts `x` back to epoch milliseconds, with other code than the writer. */
function timeOf(x: string): number {
  const match = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.\d+)? \+0000 UTC$/.exec(x);
  if (match === null) throw new Error(`not a point's time: ${x}`);
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number);
  return Date.UTC(year!, month! - 1, day, hour, minute, second);
}

const attempt = (at: number, outcome: 'delivered' | 'retry' | 'failed', workflow = false, bytes = 100): Fact => ({
  kind: 'attempt',
  at,
  workflow,
  outcome,
  bytes,
});

const factBefore = (now: number): fc.Arbitrary<Fact> => {
  // Mostly recent, some anywhere in 45 days.
  const at = fc
    .oneof(fc.integer({ min: 0, max: 3 * HOUR }), fc.integer({ min: 0, max: 45 * DAY }))
    .map((ago) => now - ago);
  const bytes = fc.nat({ max: 5_000 });
  return fc.oneof(
    fc.record({
      kind: fc.constant('created' as const),
      at,
      bytes,
      workflow: fc.boolean(),
      run: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('attempt' as const),
      at,
      bytes,
      workflow: fc.boolean(),
      outcome: fc.constantFrom('delivered' as const, 'retry' as const, 'failed' as const),
    }),
    fc.record({ kind: fc.constant('canceled' as const), at, workflow: fc.boolean() }),
  );
};

const isAttempt = (fact: Fact): boolean => fact.kind === 'attempt';
const bytesOf = (fact: Fact): number => (fact.kind === 'canceled' ? 0 : fact.bytes);

const SERIES: Readonly<Record<string, (fact: Fact) => boolean>> = {
  created: (fact) => fact.kind === 'created',
  delivered: (fact) => fact.kind === 'attempt' && fact.outcome === 'delivered',
  error: (fact) => fact.kind === 'attempt' && fact.outcome !== 'delivered',
  retry: (fact) => fact.kind === 'attempt' && fact.outcome === 'retry',
  failed: (fact) => fact.kind === 'attempt' && fact.outcome === 'failed',
  canceled: (fact) => fact.kind === 'canceled',
};

/** Returns points at the given times, with the values that result from the facts. */
function modelled(
  facts: readonly Fact[],
  points: readonly WirePoint[],
  step: number,
  value: (facts: readonly Fact[]) => number,
): WirePoint[] {
  return points.map(({ x }) => {
    const start = timeOf(x);
    return { x, y: value(facts.filter((fact) => fact.at >= start && fact.at < start + step)) };
  });
}

const ys = (points: readonly { readonly y: number }[]): number[] => points.map((point) => point.y);
const sum = (points: readonly { readonly y: number }[]): number => points.reduce((total, point) => total + point.y, 0);
const counting = (test: (fact: Fact) => boolean) => (facts: readonly Fact[]) => facts.filter(test).length;
const bytes = (facts: readonly Fact[]): number => facts.reduce((total, fact) => total + bytesOf(fact), 0);

/** Returns the response that results from the facts, with the given times of points. */
function modelledStats(stats: AccountStatsJson, facts: readonly Fact[], period: StatsPeriodName): object {
  const step = STEP[period];
  const attempts = (workflow: boolean) => counting((fact) => isAttempt(fact) && fact.workflow === workflow);
  const series = (workflow: boolean) =>
    Object.entries(SERIES).map(([id, test]) => ({
      id,
      data_points: modelled(
        facts,
        stats.daily_used,
        step,
        counting((fact) => fact.workflow === workflow && test(fact)),
      ),
    }));
  const runs = counting((fact) => fact.kind === 'created' && fact.run);
  const days = stats.daily_requests;
  const workflowMessages = modelled(facts, days, DAY, attempts(true));
  const workflowRuns = modelled(facts, days, DAY, runs);
  return {
    daily_used: modelled(facts, stats.daily_used, step, attempts(false)),
    daily_used_workflow: modelled(facts, stats.daily_used, step, attempts(true)),
    daily_bandwidth_used: modelled(facts, stats.daily_used, step, bytes),
    daily_msgsvc_messages: series(false),
    daily_workflow_messages: series(true),
    daily_bandwidths: modelled(facts, days, DAY, bytes),
    daily_requests: modelled(facts, days, DAY, counting(isAttempt)).map((point, index) => ({
      ...point,
      workflow_message: workflowMessages[index]!.y,
      workflow_run: workflowRuns[index]!.y,
    })),
  };
}

describe('statistics', () => {
  test('follow from the facts, in every period and in the daily arrays', () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 0, max: 400 * DAY })
          .chain((later) =>
            fc.record({ now: fc.constant(NOW + later), facts: fc.array(factBefore(NOW + later), { maxLength: 60 }) }),
          ),
        fc.constantFrom(...STATS_PERIOD_NAMES),
        ({ now, facts }, period) => {
          const statistics = createStatistics();
          for (const fact of facts) statistics.record('acc', fact);
          const stats = statistics.accountStats('acc', period, now, 0);
          expect(stats).toMatchObject(modelledStats(stats, facts, period));
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each(STATS_PERIOD_NAMES)('period %s has evenly spaced points, and the newest is incomplete', (period) => {
    const points = createStatistics().accountStats('acc', period, NOW, 0).daily_used;
    const times = points.map((point) => timeOf(point.x));
    expect(points).toHaveLength(period === '30d' ? 240 : 60);
    for (const [index, time] of times.entries()) expect(time).toBe(times[0]! + index * STEP[period]);
    expect(times.at(-1)! <= NOW && NOW < times.at(-1)! + STEP[period]).toBe(true);
  });

  test('periods agree where they cover the same time', () => {
    const statistics = createStatistics();
    for (let ago = 0; ago < 30 * DAY; ago += 7 * MINUTE) statistics.record('acc', attempt(NOW - ago, 'delivered'));
    const answers = STATS_PERIOD_NAMES.map(
      (period) => [period, statistics.accountStats('acc', period, NOW, 0).daily_used] as const,
    );
    const pairs: [fine: number, coarse: number][] = [];
    for (const [period, fine] of answers) {
      for (const [coarse, points] of answers.filter(([name]) => STEP[name] > STEP[period])) {
        for (const { x, y } of points) {
          const [start, end] = [timeOf(x), Math.min(timeOf(x) + STEP[coarse], NOW)];
          const parts = fine.filter((point) => timeOf(point.x) >= start && timeOf(point.x) < end);
          const covered = parts.length * STEP[period];
          if (covered >= end - start && timeOf(parts[0]!.x) === start && STEP[coarse] % STEP[period] === 0) {
            pairs.push([sum(parts), y]);
          }
        }
      }
    }
    expect(pairs.length).toBeGreaterThan(100);
    expect(pairs.filter(([fine, coarse]) => fine !== coarse)).toEqual([]);
  });

  test('daily arrays cover the whole month, future days as zero', () => {
    const statistics = createStatistics();
    statistics.record('acc', attempt(NOW, 'delivered'));
    const stats = statistics.accountStats('acc', '1h', NOW, 17);
    expect(stats.days).toHaveLength(30);
    expect(stats.days[0]).toBe('2026-11-01');
    expect(stats.days.at(-1)).toBe('2026-11-30');
    for (const points of [stats.daily_billings, stats.daily_bandwidths, stats.daily_requests]) {
      expect(points.map((point) => point.x.slice(0, 10))).toEqual(stats.days);
      expect(points.filter((point) => point.y > 0).map((point) => point.x.slice(0, 10))).toEqual(['2026-11-20']);
    }
    expect(stats.dlq_message_count).toBe(17);
  });

  test.each([
    ['February of a leap year', Date.UTC(2028, 1, 29, 23, 59), 29],
    ['December', Date.UTC(2026, 11, 31, 23, 59, 59, 999), 31],
  ])('%s has its days', (_month, now, days) => {
    expect(createStatistics().accountStats('acc', '1h', now, 0).days).toHaveLength(days);
  });

  test('the last minute of a month of 31 days still counts its first', () => {
    const statistics = createStatistics();
    const first = Date.UTC(2026, 11, 1);
    const last = Date.UTC(2026, 11, 31, 23, 59, 59);
    statistics.record('acc', attempt(first, 'delivered'));
    statistics.record('acc', attempt(last, 'delivered'));
    expect(statistics.monthBillingMicroUsd('acc', last)).toBe(20);
    expect(statistics.monthBillingMicroUsd('acc', last + 1_000)).toBe(0);
  });

  test('billing is each attempt at its price, and days add up to the month', () => {
    const statistics = createStatistics();
    statistics.record('acc', attempt(NOW - DAY, 'delivered'), 100_000);
    statistics.record('acc', attempt(NOW, 'failed'), 50_000);
    statistics.record('acc', attempt(NOW, 'retry', true), 100_000);
    // Neither acceptance nor cancellation costs anything.
    statistics.record('acc', { kind: 'created', at: NOW, workflow: false, run: false, bytes: 1 }, 1_000_000);
    statistics.record('acc', { kind: 'canceled', at: NOW, workflow: false }, 1_000_000);
    const stats = statistics.accountStats('acc', '1h', NOW, 0);
    expect(ys(stats.daily_billings).filter((usd) => usd > 0)).toEqual([1, 1.5]);
    expect(stats.total_monthly_billing).toBe(2.5);
  });

  test.each([
    ['before', [31 * DAY, 0]],
    ['after', [0, 31 * DAY]],
  ])('a fact as old as the memory, recorded %s one of now, does not count with it', (_order, agos) => {
    const statistics = createStatistics();
    for (const ago of agos) statistics.record('acc', attempt(NOW - ago, 'delivered', false, ago === 0 ? 100 : 7));
    const stats = statistics.accountStats('acc', '30d', NOW, 0);
    expect(sum(stats.daily_used)).toBe(1);
    expect(sum(stats.daily_bandwidth_used)).toBe(100);
  });

  test('accounts do not mix, and one without facts is all zero', () => {
    const statistics = createStatistics();
    statistics.record('a', attempt(NOW, 'delivered'));
    const other = statistics.accountStats('b', '30d', NOW, 0);
    expect(sum(other.daily_used)).toBe(0);
    expect(other.total_monthly_billing).toBe(0);
    expect(Object.keys(other)).toEqual(Object.keys(statistics.accountStats('a', '30d', NOW, 0)));
  });

  test('responses are equal in any time zone of the machine', () => {
    // Last hour of a month in UTC. In other zones the next month has begun.
    const now = Date.UTC(2026, 10, 30, 23, 30);
    const answerIn = (zone: string): string => {
      vi.stubEnv('TZ', zone);
      const statistics = createStatistics();
      for (let ago = 0; ago < 20 * DAY; ago += HOUR) statistics.record('acc', attempt(now - ago, 'delivered'));
      return `${new Date(now).getHours()} ${JSON.stringify(statistics.accountStats('acc', '30d', now, 0))}`;
    };
    const [utc, west, east] = [answerIn('UTC'), answerIn('Pacific/Pago_Pago'), answerIn('Pacific/Kiritimati')];
    // The zones took effect: the local hour differs, and the rest is equal.
    expect(new Set([utc, west, east].map((text) => text.split(' ')[0])).size).toBe(3);
    expect(new Set([utc, west, east].map((text) => text.slice(text.indexOf(' ')))).size).toBe(1);
  });
});

describe('times of points', () => {
  test.each([
    [0, '2026-11-20 10:30:15 +0000 UTC'],
    [1, '2026-11-20 10:30:15.2 +0000 UTC'],
    [3, '2026-11-20 10:30:15.250 +0000 UTC'],
    [9, '2026-11-20 10:30:15.250000000 +0000 UTC'],
  ] as const)('have %i fraction digits when asked for', (digits, text) => {
    expect(formatPointTime(NOW, digits)).toBe(text);
  });
});

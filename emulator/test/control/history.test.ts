import { describe, expect, test } from 'vitest';
import type { Fact } from '#emulator/statistics/facts.ts';
import { replayHistory } from '#emulator/control/history.ts';
import { createStatistics } from '#emulator/statistics/statistics.ts';
import { seededRandom } from '#foundation/platform/random.ts';

const NOW = Date.UTC(2026, 10, 20, 10, 30, 15);
const MINUTE = 60_000;
const DAY = 86_400_000;

function replay(seed = 1) {
  const statistics = createStatistics();
  const facts: (Fact & { readonly times: number })[] = [];
  const history = replayHistory({
    statistics: {
      record(accountId, fact, times = 1) {
        facts.push({ ...fact, times });
        statistics.record(accountId, fact, times);
      },
    },
    accountId: 'acc',
    random: seededRandom(seed),
    now: NOW,
    days: 30,
  });
  const count = (test: (fact: Fact) => boolean): number =>
    facts.reduce((sum, fact) => sum + (test(fact) ? fact.times : 0), 0);
  return { statistics, facts, history, count };
}

describe('history', () => {
  const { statistics, facts, history, count } = replay();

  test('ends where the present begins and covers its days', () => {
    const times = facts.map((fact) => fact.at);
    expect(times[0]).toBe(Math.floor(NOW / MINUTE) * MINUTE - 30 * DAY);
    expect(times.every((time, index) => index === 0 || time >= times[index - 1]!)).toBe(true);
    expect(times.at(-1)).toBe(Math.floor(NOW / MINUTE) * MINUTE - MINUTE);
    expect(facts.every((fact) => Number.isInteger(fact.times) && fact.times > 0)).toBe(true);
  });

  test('every created message ends in the same stretch of time', () => {
    for (const workflow of [true, false]) {
      const open = new Map<number, number>();
      for (const fact of facts.filter((one) => one.workflow === workflow)) {
        const ends = fact.kind === 'canceled' || (fact.kind === 'attempt' && fact.outcome !== 'retry');
        const by = fact.kind === 'created' ? fact.times : ends ? -fact.times : 0;
        open.set(fact.at, (open.get(fact.at) ?? 0) + by);
      }
      expect([...open.values()].every((rest) => rest === 0)).toBe(true);
    }
  });

  test('reports its own figures', () => {
    expect(history.messages).toBe(count((fact) => fact.kind === 'created'));
    expect(history.attempts).toBe(count((fact) => fact.kind === 'attempt'));
    const stats = statistics.accountStats('acc', '30d', NOW, 0);
    expect(stats.daily_used.slice(0, 200).every((point) => point.y > 0)).toBe(true);
    // Every run is one message of a workflow.
    expect(stats.total_monthly_billing).toBeGreaterThan(30);
    expect(stats.total_monthly_billing).toBeLessThan(200);
  });

  test('has nights, weekends and an outage', () => {
    const attempts = (test: (at: Date) => boolean): number =>
      count((fact) => fact.kind === 'attempt' && test(new Date(fact.at)));
    const at = (hour: number): number => attempts((date) => date.getUTCHours() === hour);
    expect(at(14)).toBeGreaterThan(2 * at(2));
    const weekday = (day: number): number => attempts((date) => date.getUTCDay() === day);
    expect(weekday(2)).toBeGreaterThan(1.4 * weekday(0));
    const failing = (inside: boolean): number => {
      const within = (fact: Fact): boolean =>
        (fact.at >= history.outage.from && fact.at < history.outage.to) === inside;
      const failed = count((fact) => within(fact) && fact.kind === 'attempt' && fact.outcome !== 'delivered');
      return failed / count((fact) => within(fact) && fact.kind === 'attempt');
    };
    expect(failing(true)).toBeGreaterThan(0.4);
    expect(failing(false)).toBeLessThan(0.15);
    expect(NOW - history.outage.to).toBeGreaterThan(DAY);
    expect(NOW - history.outage.from).toBeLessThan(5 * DAY);
  });

  test('is equal for equal seeds', () => {
    expect(replay(7).facts.slice(0, 50)).toEqual(replay(7).facts.slice(0, 50));
  });
});

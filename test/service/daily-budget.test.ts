import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DailyBudget, type KeptUse } from '#service/daily-budget.ts';
import type { RequestUse } from '#foundation/domain/request-use.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createRequestUseStore } from '#storage/sqlite-request-use.ts';
import { openStore } from '#storage/sqlite.ts';
import { tempDir } from '../support/temp-dir.ts';

const DAY_MS = 86_400_000;
const NOON = Date.UTC(2026, 4, 4, 12);
const TODAY = Math.floor(NOON / DAY_MS);

class Kept implements KeptUse {
  use: RequestUse | undefined;
  writings = 0;

  load(): RequestUse | undefined {
    return this.use;
  }

  save(use: RequestUse): void {
    this.use = use;
    this.writings += 1;
  }
}

function take(budget: DailyBudget, times: number): number {
  return Array.from({ length: times }, () => budget.take()).filter(Boolean).length;
}

describe('a restart within the day', () => {
  test('continues the count: both processes together get the allowance of one day', () => {
    const kept = new Kept();
    const clock = new ManualClock(NOON);
    const first = new DailyBudget(10, clock, kept);
    expect(take(first, 7)).toBe(7);
    first.close();
    const second = new DailyBudget(10, clock, kept);
    expect(second.usedToday).toBe(7);
    expect(take(second, 10)).toBe(3);
  });

  test.each([3, 150, 5_000])(
    'after a crash at request %i never exceeds the allowance, and wastes at most a share of it',
    (used) => {
      const kept = new Kept();
      const clock = new ManualClock(NOON);
      expect(take(new DailyBudget(100_000, clock, kept), used)).toBe(used);
      const { usedToday } = new DailyBudget(100_000, clock, kept);
      expect(usedToday).toBeGreaterThanOrEqual(used);
      expect(usedToday - used).toBeLessThan(100);
      expect(kept.writings).toBe(Math.ceil(used / 100));
    },
  );

  test('that is orderly returns the part that was reserved ahead', () => {
    const kept = new Kept();
    const clock = new ManualClock(NOON);
    const first = new DailyBudget(100_000, clock, kept);
    take(first, 3);
    first.close();
    expect(kept.use).toEqual({ day: TODAY, used: 3 });
  });
});

test('a new day starts at 0, within a process and after a restart', async () => {
  const kept = new Kept();
  const clock = new ManualClock(NOON);
  const first = new DailyBudget(10, clock, kept);
  expect(take(first, 11)).toBe(10);
  await clock.advance(DAY_MS);
  expect(take(first, 4)).toBe(4);
  expect(kept.use).toEqual({ day: TODAY + 1, used: 4 });
  await clock.advance(DAY_MS);
  expect(new DailyBudget(10, clock, kept).usedToday).toBe(0);
});

test('a future day, written under a wrong clock, counts as today and no longer', async () => {
  const kept = new Kept();
  kept.use = { day: TODAY + 4_000, used: 6 };
  const clock = new ManualClock(NOON);
  const budget = new DailyBudget(10, clock, kept);
  expect(take(budget, 10)).toBe(4);
  await clock.advance(DAY_MS);
  expect(take(budget, 11)).toBe(10);
});

test('the store keeps a count for each API of an account, across its openings', () => {
  const path = join(tempDir(), 'opsd.db');
  {
    using store = openStore(path);
    const uses = createRequestUseStore(store);
    uses.save('a', 'message', { day: TODAY, used: 5 });
    uses.save('a', 'message', { day: TODAY, used: 9 });
    uses.save('a', 'management', { day: TODAY, used: 1 });
  }
  using store = openStore(path);
  const uses = createRequestUseStore(store);
  expect(uses.load('a', 'message')).toEqual({ day: TODAY, used: 9 });
  expect(uses.load('a', 'management')).toEqual({ day: TODAY, used: 1 });
  expect(uses.load('b', 'message')).toBeUndefined();
});

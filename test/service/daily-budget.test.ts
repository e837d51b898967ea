import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DailyBudget, type KeptUse } from '#service/daily-budget.ts';
import type { RequestUse } from '#foundation/domain/request-use.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createRequestUseStore } from '#storage/request-use.ts';
import { openStore } from '#storage/sqlite.ts';
import { tempDir } from '../support/temp-dir.ts';

const DAY_MS = 86_400_000;
const NOON = Date.UTC(2026, 4, 4, 12);
const TODAY = Math.floor(NOON / DAY_MS);

class Kept implements KeptUse {
  before: RequestUse | undefined;
  writings = 0;

  async save(use: RequestUse): Promise<void> {
    this.before = use;
    this.writings += 1;
  }
}

async function take(budget: DailyBudget, times: number): Promise<number> {
  let taken = 0;
  for (let n = 0; n < times; n++) if (await budget.take()) taken++;
  return taken;
}

describe('a restart within the day', () => {
  test('continues the count: both processes together get the allowance of one day', async () => {
    const kept = new Kept();
    const clock = new ManualClock(NOON);
    const first = new DailyBudget(10, clock, kept);
    expect(await take(first, 7)).toBe(7);
    await first.close();
    const second = new DailyBudget(10, clock, kept);
    expect(second.usedToday).toBe(7);
    expect(await take(second, 10)).toBe(3);
  });

  test.each([3, 150, 5_000])(
    'after a crash at request %i never exceeds the allowance, and wastes at most a share of it',
    async (used) => {
      const kept = new Kept();
      const clock = new ManualClock(NOON);
      expect(await take(new DailyBudget(100_000, clock, kept), used)).toBe(used);
      const { usedToday } = new DailyBudget(100_000, clock, kept);
      expect(usedToday).toBeGreaterThanOrEqual(used);
      expect(usedToday - used).toBeLessThan(100);
      expect(kept.writings).toBe(Math.ceil(used / 100));
    },
  );

  test('that is orderly returns the part that was reserved ahead', async () => {
    const kept = new Kept();
    const clock = new ManualClock(NOON);
    const first = new DailyBudget(100_000, clock, kept);
    await take(first, 3);
    await first.close();
    expect(kept.before).toEqual({ day: TODAY, used: 3 });
  });
});

test('a new day starts at 0, within a process and after a restart', async () => {
  const kept = new Kept();
  const clock = new ManualClock(NOON);
  const first = new DailyBudget(10, clock, kept);
  expect(await take(first, 11)).toBe(10);
  await clock.advance(DAY_MS);
  expect(await take(first, 4)).toBe(4);
  expect(kept.before).toEqual({ day: TODAY + 1, used: 4 });
  await clock.advance(DAY_MS);
  expect(new DailyBudget(10, clock, kept).usedToday).toBe(0);
});

test('a future day, written under a wrong clock, counts as today and no longer', async () => {
  const kept = new Kept();
  kept.before = { day: TODAY + 4_000, used: 6 };
  const clock = new ManualClock(NOON);
  const budget = new DailyBudget(10, clock, kept);
  expect(await take(budget, 10)).toBe(4);
  await clock.advance(DAY_MS);
  expect(await take(budget, 11)).toBe(10);
});

test('a request waits until the count that covers it is stored', async () => {
  const writes: PromiseWithResolvers<void>[] = [];
  const save = (): Promise<void> => {
    const write = Promise.withResolvers<void>();
    writes.push(write);
    return write.promise;
  };
  const budget = new DailyBudget(100_000, new ManualClock(NOON), { save });
  const taken: number[] = [];
  const takes = [1, 2].map(async (n) => {
    if (await budget.take()) taken.push(n);
  });
  await expect.poll(() => writes.length).toBe(1);
  expect([budget.usedToday, taken]).toEqual([2, []]);
  writes[0]!.resolve();
  await Promise.all(takes);
  expect([writes.length, taken]).toEqual([1, [1, 2]]);
});

test('the store keeps a count for each API of an account, across its openings', async () => {
  const path = join(tempDir(), 'opsd.db');
  {
    using store = openStore(path);
    const uses = createRequestUseStore(store);
    await uses.save({ account: 'a', api: 'message', day: TODAY, used: 5 });
    await uses.save({ account: 'a', api: 'message', day: TODAY, used: 9 });
    await uses.save({ account: 'a', api: 'management', day: TODAY, used: 1 });
  }
  using store = openStore(path);
  expect(new Set(await createRequestUseStore(store).load())).toEqual(
    new Set([
      { account: 'a', api: 'message', day: TODAY, used: 9 },
      { account: 'a', api: 'management', day: TODAY, used: 1 },
    ]),
  );
});

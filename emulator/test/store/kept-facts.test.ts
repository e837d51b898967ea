/** The store keeps the facts that any statistics response needs, and no more. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Fact } from '#emulator/statistics/facts.ts';
import { restoreStatistics } from '#emulator/store/restore.ts';
import { createStatistics } from '#emulator/statistics/statistics.ts';
import { Store } from '#emulator/store/store.ts';
import { tempDir } from '../../../test/support/temp-dir.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const KEPT_DAYS = 31;
const PERIODS = ['1h', '1d', '7d', '30d'] as const;

const anyFact = fc.record({ days: fc.double({ min: 0, max: 9, noNaN: true }), workflow: fc.boolean() });

test('statistics are the same after a restart, and old facts are removed', async () => {
  const script = fc.record({
    // Months of 28 to 31 days.
    from: fc.nat(3 * 365).map((day) => Date.UTC(2026, 0, 1) + day * DAY),
    facts: fc.array(anyFact, { minLength: 1, maxLength: 40 }),
    afterMs: fc.nat(2 * DAY),
  });
  await fc.assert(
    fc.asyncProperty(script, async ({ from, facts, afterMs }) => {
      const folder = tempDir();
      const whole = createStatistics();
      const store = new Store(folder, (error) => expect(error).toBeUndefined());
      store.watch([{ key: 'service', read: () => 1 }]);
      let at = from;
      for (const { days, workflow } of facts) {
        at += Math.floor(days * DAY);
        const fact: Fact = { kind: 'attempt', at, workflow, outcome: 'delivered', bytes: 7 };
        whole.record('acc', fact);
        store.counted('acc', fact, 1);
        await store.durable();
      }
      const minutes = store.db.prepare('SELECT minute FROM fact').all();
      const oldest = Math.min(...minutes.map((row) => Number(row['minute'])));
      // Old facts are removed once a day.
      expect(at / MINUTE - oldest).toBeLessThan(((KEPT_DAYS + 1) * DAY) / MINUTE + 1);
      store.close();
      const again = new Store(folder, (error) => expect(error).toBeUndefined());
      const restored = createStatistics();
      restoreStatistics(again.db, restored);
      for (const now of [at, at + afterMs]) {
        for (const period of PERIODS) {
          expect(restored.accountStats('acc', period, now, 0)).toEqual(whole.accountStats('acc', period, now, 0));
        }
        expect(restored.monthBillingMicroUsd('acc', now)).toBe(whole.monthBillingMicroUsd('acc', now));
      }
      again.close();
    }),
    { numRuns: 25 },
  );
});

test('the first minute of the longest month is kept until its last one', async () => {
  const store = new Store(tempDir(), (error) => expect(error).toBeUndefined());
  store.watch([{ key: 'service', read: () => 1 }]);
  const count = async (account: string, at: number): Promise<readonly unknown[]> => {
    store.counted(account, { kind: 'canceled', at, workflow: false }, 1);
    await store.durable();
    const rows = store.db.prepare('SELECT account, minute FROM fact ORDER BY account, minute').all();
    return rows.map((row) => [row['account'], Number(row['minute']) * MINUTE]);
  };
  const first = Date.UTC(2026, 9, 1);
  const last = Date.UTC(2026, 9, 31, 23, 59);
  await count('a', first - MINUTE);
  await count('a', first);
  await count('b', first);
  // Nothing of another account is removed.
  expect(await count('a', last)).toEqual([
    ['a', first],
    ['a', last],
    ['b', first],
  ]);
  const next = last + DAY;
  expect(await count('a', next)).toEqual([
    ['a', last],
    ['a', next],
    ['b', first],
  ]);
  store.close();
});

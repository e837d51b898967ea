/**
 * View of Prometheus on counters whose labels come and go. With any sequence of reads, restarts, crashes, evictions and
 * caps, no series increases by more than its counts, and the store loses nothing.
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLabelStore } from '#storage/label-store.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { storedCounters } from '../../support/stored-totals.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { seriesOf, world } from './world.ts';

const HOUR = 3_600_000;
const METRIC = 'msgsvc_messages_created_total';

/** A daemon over a store that outlives it, with the scrapes of a Prometheus. */
async function history() {
  const store = openStore(join(tempDir(), 'opsd.db'));
  // The machine never crashes here, so writes need not reach the disk.
  store.db.exec('PRAGMA synchronous = OFF');
  const last = new Map<string, number>();
  let counted = 0;
  let daemon = await start(2);

  async function start(max: number) {
    const totals = createTotals(store);
    const labels = createLabelStore(store, totals);
    const made = await world({
      metrics: { labels: { destination: { max } } },
      deps: { totals, labels },
      collectors: ['logs'],
    });
    return { ...made, totals };
  }

  return {
    close: () => store[Symbol.dispose](),
    async count(destination: string, by: number): Promise<void> {
      const label = daemon.metrics.admit('prod', 'destination', destination);
      counted += by;
      await daemon.totals.add('prod', [{ metric: METRIC, labels: [label], by }]);
    },
    async hours(count: number): Promise<void> {
      for (let hour = 0; hour < count; hour += 1) {
        await daemon.clock.advance(HOUR);
        daemon.publish('logs', []);
        await daemon.metrics.tidyLabels();
      }
    },
    async restart(max: number, isCrash: boolean): Promise<void> {
      if (!isCrash) await daemon.metrics.tidyLabels();
      daemon.metrics[Symbol.dispose]();
      daemon = await start(max);
    },
    /** Returns the increases since the last scrape, as `increase()` counts them. A new series has none. */
    async increases(): Promise<ReadonlyMap<string, number>> {
      const samples = Object.entries(seriesOf(await daemon.scrape(), METRIC));
      const increases = samples.map(([name, value]): [string, number] => {
        const before = last.get(name);
        last.set(name, value);
        const by = before === undefined ? 0 : value < before ? value : value - before;
        return [/destination="([^"]*)"/.exec(name)![1]!, by];
      });
      return new Map(increases);
    },
    stored: (): number =>
      storedCounters(store, 'prod').reduce((sum, row) => sum + (row.metric === METRIC ? row.value : 0), 0),
    counted: () => counted,
    shown: async () => Object.keys(seriesOf(await daemon.scrape(), METRIC)).length,
  };
}

describe('an idle label value', () => {
  test('ends its series; other does not jump, and a returning value counts from 0', async () => {
    const past = await history();
    await past.count('a', 100);
    await past.count('b', 10);
    await past.count('c', 1);
    await past.increases();
    for (let day = 0; day < 8; day += 1) {
      await past.count('b', 1);
      await past.hours(24);
    }
    const gone = await past.increases();
    expect(gone).toEqual(
      new Map([
        ['b', 8],
        ['other', 0],
      ]),
    );
    await past.count('a', 5);
    await past.increases();
    await past.count('a', 2);
    // The new series began at 0 and is at 5; the old one ended at 100.
    expect(await past.increases()).toEqual(
      new Map([
        ['b', 0],
        ['other', 0],
        ['a', 2],
      ]),
    );
    await past.restart(2, false);
    expect([...(await past.increases()).values()]).toEqual([0, 0, 0]);
    expect(past.stored()).toBe(126);
    past.close();
  });

  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('count'), value: fc.constantFrom('a', 'b', 'c', 'd'), by: fc.nat(50) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('hours'), count: fc.constantFrom(1, 30, 170) }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('restart'), max: fc.integer({ min: 1, max: 3 }), isCrash: fc.boolean() }),
    },
  );

  test('nothing is shown twice or under another name, in any sequence of events', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const past = await history();
        try {
          await past.increases();
          for (const taken of steps) {
            const mine = new Map<string, number>();
            if (taken.do === 'count') {
              await past.count(taken.value, taken.by);
              mine.set(taken.value, taken.by);
            } else if (taken.do === 'hours') await past.hours(taken.count);
            else await past.restart(taken.max, taken.isCrash);
            const seen = await past.increases();
            for (const [name, by] of seen) {
              if (name === 'other') expect([0, ...mine.values()]).toContain(by);
              // A series that returns as new is lower than before. Prometheus sees a reset, by at most the counts
              // since.
              else if (by > 0) expect(mine.get(name)).toBeGreaterThanOrEqual(by);
            }
            expect([...seen.values()].reduce((sum, by) => sum + by, 0)).toBeLessThanOrEqual(
              [...mine.values()].reduce((sum, by) => sum + by, 0),
            );
            expect(past.stored()).toBe(past.counted());
            expect(await past.shown()).toBeLessThanOrEqual(4);
          }
        } finally {
          past.close();
        }
      }),
      { numRuns: 30 },
    );
  });
});

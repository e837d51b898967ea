/** Invalid rows are counted once each, however often and wherever they are listed again. */
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { logs } from '#observe/collectors/logs.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';
import { storedCounters } from '../../support/stored-totals.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { ACCOUNT, context } from './fake-context.ts';
import { FakeLog, FakeServiceError } from './fake-service.ts';
import { SECOND, T0, world } from './log-world.ts';

const POLL = 60 * SECOND;

const row = fc.record({
  at: fc.integer({ min: 1, max: 15 * 60 }),
  kind: fc.constantFrom('timed', 'timeless', undefined),
  lateSeconds: fc.constantFrom(0, 0, 0, 5, 100, 600),
});
const service = fc.record({
  rows: fc.array(row, { minLength: 1, maxLength: 60 }),
  pageSize: fc.constantFrom(3, 100),
  pageBudget: fc.constantFrom(8, 200),
  repeatEvery: fc.constantFrom(Infinity, 2),
  skew: fc.constantFrom(undefined, 0, -60 * SECOND, 60 * SECOND),
  // Counting begins with the first run.
  failing: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 5 }),
  restarts: fc.array(fc.nat(40), { maxLength: 3 }),
});

test('over overlapping windows, repeated rows, failed readings, sweeps and restarts', async () => {
  await fc.assert(
    fc.asyncProperty(service, async ({ rows, failing, restarts, ...options }) => {
      const facts = new Map(rows.map((fact, n) => [`m${n}`, fact]));
      const w = world({
        ...options,
        lateBy: ({ messageId }) => facts.get(messageId)!.lateSeconds * SECOND,
        invalid: ({ messageId }) => facts.get(messageId)!.kind,
      });
      for (const [messageId, { at }] of facts) {
        w.log.entries.push({ messageId, time: T0 + at * SECOND, state: 'CREATED', labels: [] });
      }
      for (let poll = 0; poll < 48; poll += 1) {
        if (restarts.includes(poll)) w.restart();
        w.log.beforeAnswer = ({ cursor }) => {
          if (failing.includes(poll) && (poll % 2 === 0 || cursor !== undefined)) throw new FakeServiceError('timeout');
        };
        await w.run().catch((error: unknown) => {
          if (!(error instanceof FakeServiceError)) throw error;
        });
        await w.clock.advance(POLL);
      }
      const valid = rows.filter(({ kind }) => kind === undefined).length;
      expect(w.own('opsd_log_invalid_entries_total')).toBe(rows.length - valid);
      expect(w.own('msgsvc_messages_created_total') ?? 0).toBe(valid);
    }),
    { numRuns: 10 },
  );
});

test('over a restart with the store of a file', async () => {
  const clock = new ManualClock(T0);
  const log = new FakeLog({ clock, invalid: ({ messageId }) => (messageId === 'a' ? 'timed' : 'timeless') });
  for (const messageId of ['a', 'b']) log.entries.push({ messageId, time: T0 + 1, state: 'CREATED', labels: [] });
  const path = join(tempDir(), 'opsd.db');
  for (const expected of [0, 2, 2, 2]) {
    using store = openStore(path);
    const totals = createTotals(store);
    const stores = { ...memoryStores(), log: createLogAggregationStore(store, totals) };
    await logs.collect(log.client, context<'logs'>({ clock, stores }));
    const invalid = storedCounters(store, ACCOUNT).find(({ metric }) => metric === 'opsd_log_invalid_entries_total');
    expect(invalid?.value).toBe(expected);
    // Past the time of the next sweep.
    await clock.advance(6 * 60 * SECOND);
  }
});

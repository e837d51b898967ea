/** Invalid rows are counted once each, however often and wherever they are listed again. */
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { logs } from '#observe/collectors/logs.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';
import { storedCounters } from '../../support/stored-totals.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { ACCOUNT, context, target } from './fake-context.ts';
import { FakeLog, FakeServiceError } from './fake-service.ts';

const START = Date.UTC(2026, 10, 20, 10);
const SECOND = 1_000;
const POLL = 60 * SECOND;

const row = fc.record({
  at: fc.integer({ min: 1, max: 15 * 60 }),
  kind: fc.constantFrom('timed', 'timeless', undefined),
  lateSeconds: fc.constantFrom(0, 0, 0, 5, 100, 600),
});
const world = fc.record({
  rows: fc.array(row, { minLength: 1, maxLength: 60 }),
  pageSize: fc.constantFrom(3, 100),
  pageBudget: fc.constantFrom(8, 200),
  repeatEvery: fc.constantFrom(Infinity, 2),
  skew: fc.constantFrom(undefined, 0, -60 * SECOND, 60 * SECOND),
  // Counting begins with the first run.
  failing: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 5 }),
  restarts: fc.array(fc.nat(40), { maxLength: 3 }),
});

test(
  'over overlapping windows, repeated rows, failed readings, sweeps and restarts',
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(world, async ({ rows, pageBudget, failing, restarts, ...options }) => {
        const clock = new ManualClock(START);
        const facts = new Map(rows.map((fact, n) => [`m${n}`, fact]));
        const log = new FakeLog({
          clock,
          ...options,
          lateBy: ({ messageId }) => facts.get(messageId)!.lateSeconds * SECOND,
          invalid: ({ messageId }) => facts.get(messageId)!.kind,
        });
        for (const [messageId, { at }] of facts) {
          log.entries.push({ messageId, time: START + at * SECOND, state: 'CREATED', labels: [] });
        }
        let stores = memoryStores();
        const watched = target({ settings: { logs: { pageBudget } } });
        let previous: Batch<'logs'> | undefined;
        for (let poll = 0; poll < 48; poll += 1) {
          if (restarts.includes(poll)) [previous, stores] = [undefined, stores.restarted()];
          log.beforeAnswer = ({ cursor }) => {
            if (failing.includes(poll) && (poll % 2 === 0 || cursor !== undefined))
              throw new FakeServiceError('timeout');
          };
          const at = context<'logs'>({ target: watched, clock, stores, ...(previous && { previous }) });
          const collected = await logs.collect(log.client, at).catch((error: unknown) => {
            if (!(error instanceof FakeServiceError)) throw error;
          });
          if (collected) previous = { account: ACCOUNT, collector: 'logs', at: clock.now(), ...collected };
          await clock.advance(POLL);
        }
        const counted = new Map(stores.counters(ACCOUNT).map(({ metric, value }) => [metric, value]));
        expect(counted.get('opsd_log_invalid_entries_total')).toBe(
          rows.filter(({ kind }) => kind !== undefined).length,
        );
        expect(counted.get('msgsvc_messages_created_total') ?? 0).toBe(
          rows.filter(({ kind }) => kind === undefined).length,
        );
      }),
      { numRuns: 10 },
    );
  },
);

test('over a restart with the store of a file', async () => {
  const clock = new ManualClock(START);
  const log = new FakeLog({ clock, invalid: ({ messageId }) => (messageId === 'a' ? 'timed' : 'timeless') });
  for (const messageId of ['a', 'b']) log.entries.push({ messageId, time: START + 1, state: 'CREATED', labels: [] });
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

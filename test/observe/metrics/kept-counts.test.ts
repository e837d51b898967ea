import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepCounts } from '#observe/metrics/kept-counts.ts';
import { OWN, type Increment } from '#observe/aggregation/totals.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { heldBack } from '../../support/held-back.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { storedCounters } from '../../support/stored-totals.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { NOW, world } from './world.ts';

const EXPORTED = 'opsd_spans_exported_total';
const DROPPED = 'opsd_spans_dropped_total{reason="queue"}';

test('a process continues the counts of the previous one', async () => {
  const totals = createTotals(memoryStore());
  const first = await world({ totals });
  first.events.emit({ type: 'spans.exported', count: 4 });
  first.events.emit({ type: 'spans.exported', count: 3 });
  first.events.emit({ type: 'spans.dropped', count: 2, reason: 'queue' });
  first.events.emit({ type: 'deliveries.written', count: 5 });
  first.events.emit({ type: 'deliveries.dropped', count: 6 });
  // Shown values are in the store. A crash could take back values that are not yet written.
  expect((await first.scrape()).get(EXPORTED)).toBe(0);
  await first.clock.advance(1_000);
  const before = await first.scrape();
  const after = await (await world({ totals })).scrape();
  for (const samples of [before, after]) {
    expect([EXPORTED, DROPPED].map((series) => samples.get(series))).toEqual([7, 2]);
    expect(samples.get('opsd_spans_dropped_total{reason="failed"}')).toBe(0);
    expect(samples.get('opsd_delivery_events_written_total')).toBe(5);
    expect(samples.get('opsd_delivery_events_dropped_total')).toBe(6);
    expect(samples.get('opsd_invalid_values_total{source="store"}')).toBe(0);
  }
});

test('a failed write to the store is retried, and nothing is counted twice or lost', async () => {
  const clock = new ManualClock(NOW);
  const events = new EventBus();
  const written: number[] = [];
  let isFull = true;
  const kept = keepCounts({
    events,
    clock,
    totals: {
      async add(_account, [increment]) {
        if (isFull) throw new Error('disk full');
        written.push(increment!.by);
      },
    },
  });
  events.emit({ type: 'spans.exported', count: 4 });
  await clock.advance(1_000);
  events.emit({ type: 'spans.exported', count: 1 });
  await clock.advance(1_000);
  isFull = false;
  await clock.advance(1_000);
  events.emit({ type: 'spans.exported', count: 2 });
  await kept[Symbol.asyncDispose]();
  await clock.advance(10_000);
  expect(written).toEqual([5, 2]);
});

test('events during a write are counted by the next one, also if it fails', async () => {
  const clock = new ManualClock(NOW);
  const events = new EventBus();
  const written: number[] = [];
  const { port, waiting } = heldBack(
    { add: async (_account: string, [one]: readonly Increment[]) => void written.push(one!.by) },
    'add',
  );
  const kept = keepCounts({ events, clock, totals: port });
  events.emit({ type: 'spans.exported', count: 4 });
  await clock.advance(1_000);
  events.emit({ type: 'spans.exported', count: 2 });
  waiting[0]!.fail(new Error('disk full'));
  await clock.advance(1_000);
  events.emit({ type: 'spans.exported', count: 1 });
  waiting[1]!.proceed();
  const ended = kept[Symbol.asyncDispose]();
  await clock.advance(0);
  waiting[2]!.proceed();
  await ended;
  expect(written).toEqual([6, 1]);
});

test('a daemon that ends writes the rest to its file', async () => {
  const path = join(tempDir(), 'opsd.db');
  for (const total of [3, 6]) {
    using store = openStore(path);
    const events = new EventBus();
    const totals = createTotals(store);
    {
      await using _kept = keepCounts({ events, totals, clock: new ManualClock(NOW) });
      events.emit({ type: 'spans.exported', count: 3 });
    }
    expect(storedCounters(store, OWN)).toEqual([{ metric: EXPORTED, labels: [], value: total }]);
  }
});

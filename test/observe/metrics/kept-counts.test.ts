import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepCounts } from '#observe/metrics/kept-counts.ts';
import { OWN } from '#observe/aggregation/totals.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createTotals } from '#storage/sqlite-totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { NOW, world } from './world.ts';

const EXPORTED = 'opsd_spans_exported_total';
const DROPPED = 'opsd_spans_dropped_total{reason="queue"}';

test('a process continues the counts of the previous one', async () => {
  const totals = createTotals(memoryStore());
  const first = world({ totals });
  first.events.emit({ type: 'spans.exported', count: 4 });
  first.events.emit({ type: 'spans.exported', count: 3 });
  first.events.emit({ type: 'spans.dropped', count: 2, reason: 'queue' });
  first.events.emit({ type: 'deliveries.written', count: 5 });
  first.events.emit({ type: 'deliveries.dropped', count: 6 });
  // Shown values are in the store. A crash could take back values that are not yet written.
  expect((await first.scrape()).get(EXPORTED)).toBe(0);
  await first.clock.advance(1_000);
  const before = await first.scrape();
  const after = await world({ totals }).scrape();
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
      add(_account, [increment]) {
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
  kept[Symbol.dispose]();
  await clock.advance(10_000);
  expect(written).toEqual([5, 2]);
});

test('a daemon that ends writes the rest to its file', () => {
  const path = join(tempDir(), 'opsd.db');
  for (const total of [3, 6]) {
    using store = openStore(path);
    const events = new EventBus();
    const totals = createTotals(store);
    {
      using _kept = keepCounts({ events, totals, clock: new ManualClock(NOW) });
      events.emit({ type: 'spans.exported', count: 3 });
    }
    expect(totals.counters(OWN)).toEqual([{ metric: EXPORTED, labels: [], value: total }]);
  }
});

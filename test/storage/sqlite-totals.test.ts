import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TotalsAdded } from '#observe/aggregation/totals.ts';
import { createTotals } from '#storage/sqlite-totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { tempDir } from '../support/temp-dir.ts';

const duration = { metric: 'msgsvc_message_delivery_duration_seconds', labels: ['api.example'] } as const;
const created = { metric: 'msgsvc_messages_created_total', labels: ['api.example'] } as const;

test('counters and histograms add up over commits and restarts', () => {
  const path = join(tempDir(), 'opsd.db');
  for (const [buckets, sum] of [[[1, 0, 2], 7.5] as const, [[0, 4, 1], 2] as const]) {
    using store = openStore(path);
    const increments = [{ ...created, by: 2 }];
    createTotals(store).commit({ account: 'a', increments, histograms: [{ ...duration, buckets, sum }] }, () => {});
  }
  using store = openStore(path);
  const totals = createTotals(store);
  expect(totals.counters('a')).toEqual([{ ...created, value: 4 }]);
  expect(totals.histograms('a')).toEqual([{ ...duration, buckets: [1, 4, 3], sum: 9.5 }]);
  expect(totals.histograms('b')).toEqual([]);
});

test('listeners receive increments after they are durable, and no failed ones', () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  const failures: string[] = [];
  const totals = createTotals(store, (message) => failures.push(message));
  const heard: TotalsAdded[] = [];
  using listening = totals.onAdded((added) => heard.push(added));
  const added = { account: 'a', increments: [{ ...created, by: 1 }] };
  const fails = (): never => {
    throw new Error('disk full');
  };
  expect(() => totals.commit(added, fails)).toThrow('disk full');
  expect({ heard, failures, counters: totals.counters('a') }).toEqual({
    heard: [],
    failures: ['disk full'],
    counters: [],
  });
  totals.commit(added, () => {
    expect(heard).toEqual([]);
  });
  expect(heard).toEqual([{ ...added, histograms: [] }]);
  listening[Symbol.dispose]();
  totals.commit(added, () => {});
  expect(heard).toHaveLength(1);
});

test('a commit with a value that is not a number is rejected as a whole', () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  const totals = createTotals(store);
  const good = { ...created, by: 1 };
  const histograms = [{ ...duration, buckets: [1], sum: Number.NaN }];
  expect(() => totals.add('a', [good, { ...created, by: Number.NaN }])).toThrow('NOT NULL');
  expect(() => totals.commit({ account: 'a', increments: [good], histograms }, () => {})).toThrow('NOT NULL');
  expect([totals.counters('a'), totals.histograms('a')]).toEqual([[], []]);
});

test('each written commit is reported, and no failed one', () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  let saves = 0;
  const totals = createTotals(store, undefined, () => void (saves += 1));
  totals.commit({ account: 'production' }, () => undefined);
  expect(saves).toBe(1);
  const fail = () => {
    throw new Error('disk full');
  };
  expect(() => totals.commit({ account: 'production' }, fail)).toThrow('disk full');
  expect(saves).toBe(1);
});

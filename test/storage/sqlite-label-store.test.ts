import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RETIRED } from '#observe/aggregation/totals.ts';
import { createLabelStore } from '#storage/sqlite-label-store.ts';
import { createTotals } from '#storage/sqlite-totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { tempDir } from '../support/temp-dir.ts';

function open(path = join(tempDir(), 'opsd.db')) {
  const store = openStore(path);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) store[Symbol.dispose]();
    isOpen = false;
  };
  onTestFinished(close);
  const totals = createTotals(store);
  return { path, store, totals, labels: createLabelStore(store, totals), close };
}

const value = (name: string, more: object = {}) => ({
  account: 'prod',
  label: 'destination',
  value: name,
  idleMs: 0,
  ...more,
});

describe('places of label values', () => {
  test('come back in the order in which they came, with their idle time', () => {
    const first = open();
    first.labels.save([value('z'), value('a')]);
    first.labels.save([value('m'), value('z', { idleMs: 7_200_000.4 }), value('a', { account: 'other' })]);
    first.close();
    expect(open(first.path).labels.load()).toEqual([
      value('z', { idleMs: 7_200_000 }),
      value('a'),
      value('m'),
      value('a', { account: 'other' }),
    ]);
  });

  test('that are evicted leave their totals behind: not shown, not lost, not another’s', () => {
    const { totals, labels } = open();
    const histogram = (destination: string, count: number) => ({
      metric: 'wait',
      labels: [destination],
      buckets: [count, 0],
      sum: count / 2,
    });
    const add = (destination: string, by: number): void =>
      totals.commit(
        {
          account: 'prod',
          increments: [
            { metric: 'messages', labels: [destination], by },
            { metric: 'failures', labels: ['http', destination], by },
            { metric: 'failures', labels: ['a', destination], by },
          ],
          histograms: [histogram(destination, by)],
        },
        () => undefined,
      );
    add('a', 1);
    add('b', 2);
    add('c', 4);
    totals.commit({ account: 'other', increments: [{ metric: 'messages', labels: ['a'], by: 9 }] }, () => undefined);
    labels.save([value('a'), value('b'), value('c')]);
    const places = [
      { metric: 'messages', index: 0 },
      { metric: 'failures', index: 1 },
      { metric: 'wait', index: 0 },
    ];
    labels.evict([{ ...value('a'), totals: places }]);
    labels.evict([{ ...value('c'), totals: places }]);
    expect(labels.load()).toEqual([value('b')]);
    const counters = totals.counters('prod').map((row) => [row.metric, ...row.labels, row.value]);
    expect(new Set(counters)).toEqual(
      new Set([
        ['messages', RETIRED, 5],
        ['messages', 'b', 2],
        ['failures', 'http', RETIRED, 5],
        ['failures', 'http', 'b', 2],
        ['failures', 'a', RETIRED, 5],
        ['failures', 'a', 'b', 2],
      ]),
    );
    expect(totals.histograms('prod')).toEqual([
      { metric: 'wait', labels: [RETIRED], buckets: [5, 0], sum: 2.5 },
      { metric: 'wait', labels: ['b'], buckets: [2, 0], sum: 1 },
    ]);
    expect(totals.counters('other')).toMatchObject([{ labels: ['a'], value: 9 }]);
    add('a', 3);
    expect(totals.counters('prod').find((row) => row.metric === 'messages' && row.labels[0] === 'a')?.value).toBe(3);
  });

  test('go with their totals or not at all', () => {
    const { store, totals, labels } = open();
    totals.commit({ account: 'prod', increments: [{ metric: 'messages', labels: ['a'], by: 1 }] }, () => undefined);
    labels.save([value('a')]);
    store.db.exec(`CREATE TRIGGER refuse BEFORE DELETE ON counters BEGIN SELECT RAISE(ABORT, 'no'); END`);
    expect(() => labels.evict([{ ...value('a'), totals: [{ metric: 'messages', index: 0 }] }])).toThrow('no');
    expect(labels.load()).toEqual([value('a')]);
    expect(totals.counters('prod')).toMatchObject([{ labels: ['a'], value: 1 }]);
  });
});

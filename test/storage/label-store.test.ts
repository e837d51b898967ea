import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RETIRED, type HistogramIncrement } from '#observe/aggregation/totals.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { storedCounters, storedHistograms } from '../support/stored-totals.ts';
import { tempDir } from '../support/temp-dir.ts';

const MESSAGES = 'msgsvc_messages_finished_total';
const FAILURES = 'msgsvc_message_failures_total';
const WAIT = 'msgsvc_message_queue_wait_seconds';

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
  test('return in their order of assignment, with their idle time', async () => {
    const first = open();
    await first.labels.save([value('z'), value('a')]);
    await first.labels.save([value('m'), value('z', { idleMs: 7_200_000.4 }), value('a', { account: 'other' })]);
    first.close();
    expect(await open(first.path).labels.load()).toEqual([
      value('z', { idleMs: 7_200_000 }),
      value('a'),
      value('m'),
      value('a', { account: 'other' }),
    ]);
  });

  test('that are evicted leave their totals in the store: not shown, not lost, not assigned to others', async () => {
    const { store, totals, labels } = open();
    const histogram = (destination: string, count: number): HistogramIncrement => ({
      metric: WAIT,
      labels: [destination],
      buckets: [count, 0],
      sum: count / 2,
    });
    const add = (destination: string, by: number) =>
      totals.commit('prod', () => ({
        increments: [
          { metric: MESSAGES, labels: [destination], by },
          { metric: FAILURES, labels: ['http', destination], by },
          { metric: FAILURES, labels: ['a', destination], by },
        ],
        histograms: [histogram(destination, by)],
      }));
    await add('a', 1);
    await add('b', 2);
    await add('c', 4);
    await totals.add('other', [{ metric: MESSAGES, labels: ['a'], by: 9 }]);
    await labels.save([value('a'), value('b'), value('c')]);
    const places = [
      { metric: MESSAGES, index: 0 },
      { metric: FAILURES, index: 1 },
      { metric: WAIT, index: 0 },
    ] as const;
    await labels.evict('prod', [{ ...value('a'), totals: places }], () => undefined);
    await labels.evict('prod', [{ ...value('c'), totals: places }], () => undefined);
    expect(await labels.load()).toEqual([value('b')]);
    const counters = storedCounters(store, 'prod').map((row) => [row.metric, ...row.labels, row.value]);
    expect(new Set(counters)).toEqual(
      new Set([
        [MESSAGES, RETIRED, 5],
        [MESSAGES, 'b', 2],
        [FAILURES, 'http', RETIRED, 5],
        [FAILURES, 'http', 'b', 2],
        [FAILURES, 'a', RETIRED, 5],
        [FAILURES, 'a', 'b', 2],
      ]),
    );
    expect(storedHistograms(store, 'prod')).toEqual([
      { metric: WAIT, labels: [RETIRED], buckets: [5, 0], sum: 2.5 },
      { metric: WAIT, labels: ['b'], buckets: [2, 0], sum: 1 },
    ]);
    expect(storedCounters(store, 'other')).toMatchObject([{ labels: ['a'], value: 9 }]);
    await add('a', 3);
    expect(storedCounters(store, 'prod').find((row) => row.metric === MESSAGES && row.labels[0] === 'a')?.value).toBe(
      3,
    );
  });

  test('are removed with their totals or not at all', async () => {
    const { store, totals, labels } = open();
    await totals.add('prod', [{ metric: MESSAGES, labels: ['a'], by: 1 }]);
    await labels.save([value('a')]);
    store.db.exec(`CREATE TRIGGER refuse BEFORE DELETE ON counters BEGIN SELECT RAISE(ABORT, 'no'); END`);
    const evicted = [{ ...value('a'), totals: [{ metric: MESSAGES, index: 0 } as const] }];
    await expect(labels.evict('prod', evicted, () => expect.unreachable())).rejects.toThrow('no');
    expect(await labels.load()).toEqual([value('a')]);
    expect(storedCounters(store, 'prod')).toMatchObject([{ labels: ['a'], value: 1 }]);
  });
});

import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RETIRED, type HistogramIncrement } from '#observe/aggregation/totals.ts';
import { createLabelStore } from '#storage/sqlite-label-store.ts';
import { createTotals } from '#storage/sqlite-totals.ts';
import { openStore } from '#storage/sqlite.ts';
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
  test('return in their order of assignment, with their idle time', () => {
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

  test('that are evicted leave their totals in the store: not shown, not lost, not assigned to others', () => {
    const { totals, labels } = open();
    const histogram = (destination: string, count: number): HistogramIncrement => ({
      metric: WAIT,
      labels: [destination],
      buckets: [count, 0],
      sum: count / 2,
    });
    const add = (destination: string, by: number): void =>
      totals.commit(
        {
          account: 'prod',
          increments: [
            { metric: MESSAGES, labels: [destination], by },
            { metric: FAILURES, labels: ['http', destination], by },
            { metric: FAILURES, labels: ['a', destination], by },
          ],
          histograms: [histogram(destination, by)],
        },
        () => undefined,
      );
    add('a', 1);
    add('b', 2);
    add('c', 4);
    totals.commit({ account: 'other', increments: [{ metric: MESSAGES, labels: ['a'], by: 9 }] }, () => undefined);
    labels.save([value('a'), value('b'), value('c')]);
    const places = [
      { metric: MESSAGES, index: 0 },
      { metric: FAILURES, index: 1 },
      { metric: WAIT, index: 0 },
    ] as const;
    labels.evict([{ ...value('a'), totals: places }]);
    labels.evict([{ ...value('c'), totals: places }]);
    expect(labels.load()).toEqual([value('b')]);
    const counters = totals.counters('prod').map((row) => [row.metric, ...row.labels, row.value]);
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
    expect(totals.histograms('prod')).toEqual([
      { metric: WAIT, labels: [RETIRED], buckets: [5, 0], sum: 2.5 },
      { metric: WAIT, labels: ['b'], buckets: [2, 0], sum: 1 },
    ]);
    expect(totals.counters('other')).toMatchObject([{ labels: ['a'], value: 9 }]);
    add('a', 3);
    expect(totals.counters('prod').find((row) => row.metric === MESSAGES && row.labels[0] === 'a')?.value).toBe(3);
  });

  test('are removed with their totals or not at all', () => {
    const { store, totals, labels } = open();
    totals.commit({ account: 'prod', increments: [{ metric: MESSAGES, labels: ['a'], by: 1 }] }, () => undefined);
    labels.save([value('a')]);
    store.db.exec(`CREATE TRIGGER refuse BEFORE DELETE ON counters BEGIN SELECT RAISE(ABORT, 'no'); END`);
    expect(() => labels.evict([{ ...value('a'), totals: [{ metric: MESSAGES, index: 0 }] }])).toThrow('no');
    expect(labels.load()).toEqual([value('a')]);
    expect(totals.counters('prod')).toMatchObject([{ labels: ['a'], value: 1 }]);
  });
});

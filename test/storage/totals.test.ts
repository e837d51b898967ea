import { join } from 'node:path';
import { expect, test } from 'vitest';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { CommitUnknownError, LeaseLostError } from '#storage/store-error.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { heldBack } from '../support/held-back.ts';
import { memoryStore } from '../support/memory-store.ts';
import { storedCounters, storedHistograms } from '../support/stored-totals.ts';
import { tempDir } from '../support/temp-dir.ts';

const duration = { metric: 'msgsvc_message_delivery_duration_seconds', labels: ['api.example'] } as const;
const created = { metric: 'msgsvc_messages_created_total', labels: ['api.example'] } as const;

/** A store whose transactions wait until the test lets them proceed. */
function held() {
  const store = memoryStore();
  const { port: database, waiting } = heldBack(store.database, 'transaction');
  const failures: string[] = [];
  const totals = createTotals({ database }, (error) => failures.push(errorMessage(error)));
  /** Waits until a transaction has begun. */
  const begun = async () => {
    while (waiting.length === 0) await Promise.resolve();
    return waiting.shift()!;
  };
  return { store, totals, failures, waiting, begun };
}

test('counters and histograms add up over commits and restarts', async () => {
  const path = join(tempDir(), 'opsd.db');
  for (const [buckets, sum] of [[[1, 0, 2], 7.5] as const, [[0, 4, 1], 2] as const]) {
    using store = openStore(path);
    const increments = [{ ...created, by: 2 }];
    await createTotals(store).commit('a', () => ({ increments, histograms: [{ ...duration, buckets, sum }] }));
  }
  using store = openStore(path);
  const { counters, histograms } = await createTotals(store).follow('a');
  expect(counters).toEqual([{ ...created, value: 4 }]);
  expect(histograms).toEqual([{ ...duration, buckets: [1, 4, 3], sum: 9.5 }]);
  expect((await createTotals(store).follow('b')).histograms).toEqual([]);
});

test('several additions to one series in a commit all count', async () => {
  const store = memoryStore();
  const totals = createTotals(store);
  const histogram = { ...duration, buckets: [1, 2], sum: 3 };
  await totals.commit('a', () => ({
    increments: [
      { ...created, by: 1 },
      { ...created, by: 2 },
    ],
    histograms: [histogram, histogram],
  }));
  expect(storedCounters(store, 'a')).toEqual([{ ...created, value: 3 }]);
  expect(storedHistograms(store, 'a')).toEqual([{ ...duration, buckets: [2, 4], sum: 6 }]);
});

test('a feed has each commit either in its reading or afterwards, also before it has a listener', async () => {
  const { totals, begun } = held();
  const first = totals.add('a', [{ ...created, by: 1 }]);
  const transaction = await begun();
  const following = totals.follow('a');
  const second = totals.add('a', [{ ...created, by: 2 }]);
  transaction.proceed();
  await first;
  const feed = await following;
  expect(feed.counters).toEqual([{ ...created, value: 1 }]);
  (await begun()).proceed();
  await second;
  const heard: number[] = [];
  feed.onAdded(({ increments }) => void heard.push(...increments.map(({ by }) => by)));
  expect(heard).toEqual([2]);
  const third = totals.add('a', [{ ...created, by: 4 }]);
  (await begun()).proceed();
  await third;
  expect(heard).toEqual([2, 4]);
  feed[Symbol.dispose]();
  const last = totals.add('a', [{ ...created, by: 8 }]);
  (await begun()).proceed();
  await last;
  expect(heard).toEqual([2, 4]);
});

test('changes of an account are decided and committed one after the other, and those of others meanwhile', async () => {
  const { totals, waiting, begun } = held();
  const seen: string[] = [];
  const commit = (account: string, name: string) =>
    totals.commit(account, () => {
      seen.push(`${name} decided`);
      return { increments: [{ ...created, by: 1 }], committed: () => void seen.push(`${name} committed`) };
    });
  const first = commit('a', 'first');
  const second = commit('a', 'second');
  const transaction = await begun();
  const other = commit('b', 'other');
  (await begun()).proceed();
  await other;
  expect(waiting).toEqual([]);
  transaction.proceed();
  await first;
  (await begun()).proceed();
  await second;
  expect(seen).toEqual([
    'first decided',
    'other decided',
    'other committed',
    'first committed',
    'second decided',
    'second committed',
  ]);
});

test('a value loses its totals after the commits that count it, and before those that come later', async () => {
  const { store, totals, begun } = held();
  const labels = createLabelStore(store, totals);
  const seen: string[] = [];
  const feed = await totals.follow('a');
  feed.onAdded(({ increments }) => void seen.push(`added ${increments[0]!.by}`));
  const before = totals.add('a', [{ ...created, by: 1 }]);
  const transaction = await begun();
  const place = { metric: created.metric, index: 0 };
  const value = { label: 'destination', value: 'api.example', totals: [place] };
  const evicted = labels.evict('a', [value], () => void seen.push('evicted'));
  const after = totals.add('a', [{ ...created, by: 2 }]);
  transaction.proceed();
  (await begun()).proceed();
  (await begun()).proceed();
  await Promise.all([before, evicted, after]);
  expect(seen).toEqual(['added 1', 'evicted', 'added 2']);
  expect(storedCounters(store, 'a')).toContainEqual({ ...created, value: 2 });
});

test('a stop waits for the changes that were requested before', async () => {
  const { store, totals, begun } = held();
  void totals.add('a', [{ ...created, by: 1 }]);
  const ended = totals.settled().then(() => storedCounters(store, 'a'));
  (await begun()).proceed();
  expect(await ended).toEqual([{ ...created, value: 1 }]);
});

test('a change that can wait is committed with the next one of its account, or by a stop', async () => {
  const store = memoryStore();
  const totals = createTotals(store);
  const feed = await totals.follow('a');
  const reported: number[] = [];
  feed.onAdded(({ increments }) => reported.push(increments.length));
  const ran: string[] = [];
  const change = (name: string, canWait?: boolean) => () => ({
    increments: [{ ...created, by: 1 }],
    canWait,
    // oxlint-disable-next-line require-yield -- it writes nothing
    *work() {
      ran.push(name);
    },
  });
  expect(await totals.commit('a', change('first', true))).toBe(true);
  await totals.commit('a', change('second', true));
  await totals.commit('b', change('other'));
  expect([storedCounters(store, 'a'), ran, reported]).toEqual([[], ['other'], []]);
  await totals.commit('a', change('third'));
  expect(storedCounters(store, 'a')).toEqual([{ ...created, value: 3 }]);
  expect([ran, reported]).toEqual([['other', 'second', 'third'], [3]]);
  await totals.commit('a', change('last', true));
  await totals.settled();
  await totals.settled();
  expect(storedCounters(store, 'a')).toEqual([{ ...created, value: 4 }]);
  expect([ran.at(-1), reported]).toEqual(['last', [3, 1]]);
});

test('a change that waits is not lost by a failed commit', async () => {
  const { store, totals, failures, begun } = held();
  await totals.commit('a', () => ({ increments: [{ ...created, by: 1 }], canWait: true }));
  const failed = totals.add('a', [{ ...created, by: 10 }]);
  (await begun()).fail(new Error('disk full'));
  await expect(failed).rejects.toThrow('disk full');
  const next = totals.add('a', [{ ...created, by: 100 }]);
  (await begun()).proceed();
  await next;
  expect([storedCounters(store, 'a'), failures]).toEqual([[{ ...created, value: 101 }], ['disk full']]);
});

/** Changes of accounts that each add 1. */
const together = (...accounts: readonly string[]) =>
  new Map(accounts.map((account) => [account, { increments: [{ ...created, by: 1 }] }]));

const valueOf = (store: ReturnType<typeof memoryStore>, account: string) => storedCounters(store, account)[0]?.value;

test('changes of free accounts share a transaction, with what waits, and hold back later changes of these alone', async () => {
  const { store, totals, waiting, begun } = held();
  await totals.commit('a', () => ({ increments: [{ ...created, by: 10 }], canWait: true }));
  const feed = await totals.follow('b');
  const heard: number[] = [];
  feed.onAdded(({ increments }) => void heard.push(...increments.map(({ by }) => by)));
  const busy = totals.add('c', [{ ...created, by: 2 }]);
  const first = await begun();
  const all = totals.commitTogether(together('a', 'b', 'c'));
  const shared = await begun();
  const later = totals.add('b', [{ ...created, by: 4 }]);
  const other = totals.add('d', [{ ...created, by: 8 }]);
  (await begun()).proceed();
  await other;
  expect([waiting, valueOf(store, 'a'), heard]).toEqual([[], undefined, []]);
  shared.proceed();
  (await begun()).proceed();
  await later;
  expect(['a', 'b', 'c', 'd'].map((account) => valueOf(store, account))).toEqual([11, 5, undefined, 8]);
  expect(heard).toEqual([1, 4]);
  first.proceed();
  (await begun()).proceed();
  await Promise.all([busy, all]);
  expect([valueOf(store, 'c'), waiting]).toEqual([3, []]);
});

test('changes of many accounts are several transactions', async () => {
  const { store, totals, begun } = held();
  const accounts = Array.from({ length: 51 }, (_, index) => `account ${index}`);
  const all = totals.commitTogether(together(...accounts));
  (await begun()).proceed();
  (await begun()).proceed();
  await all;
  expect(accounts.map((account) => valueOf(store, account))).toEqual(accounts.map(() => 1));
});

test('a failure of one account affects no other one', async () => {
  const { store, totals, failures, begun } = held();
  const lost = new LeaseLostError('b', 1, 2);
  const all = totals.commitTogether(together('a', 'b'));
  (await begun()).fail(lost);
  (await begun()).proceed();
  (await begun()).fail(lost);
  await all;
  expect([valueOf(store, 'a'), valueOf(store, 'b'), failures]).toEqual([1, undefined, [lost.message]]);
});

test('a shared transaction that may have been committed is reported once and not tried again', async () => {
  const { store, totals, failures, waiting, begun } = held();
  await totals.commit('a', () => ({ increments: [{ ...created, by: 10 }], canWait: true }));
  const all = totals.commitTogether(together('a', 'b'));
  (await begun()).fail(new CommitUnknownError('the outcome is unknown'));
  await all;
  expect([failures, waiting]).toEqual([['the outcome is unknown'], []]);
  const next = totals.add('a', [{ ...created, by: 100 }]);
  (await begun()).proceed();
  await next;
  expect([valueOf(store, 'a'), valueOf(store, 'b')]).toEqual([110, undefined]);
});

test('a commit with a value that is not a number is rejected as a whole', async () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  const totals = createTotals(store);
  const good = { ...created, by: 1 };
  const histograms = [{ ...duration, buckets: [1], sum: Number.NaN }];
  await expect(totals.add('a', [good, { ...created, by: Number.NaN }])).rejects.toThrow('NOT NULL');
  await expect(totals.commit('a', () => ({ increments: [good], histograms }))).rejects.toThrow('NOT NULL');
  expect([storedCounters(store, 'a'), storedHistograms(store, 'a')]).toEqual([[], []]);
});

test('each written commit is reported, and no failed one', async () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  let saves = 0;
  const totals = createTotals(store, undefined, () => void (saves += 1));
  await totals.commit('production', () => ({}));
  expect(saves).toBe(1);
  await expect(totals.add('production', [{ ...created, by: Number.NaN }])).rejects.toThrow('NOT NULL');
  expect(saves).toBe(1);
});

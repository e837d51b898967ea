import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EndedAttempts } from '#foundation/domain/ended-attempts.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { KeySlices, setTextKey, emptyKey } from '#observe/aggregation/keys.ts';
import { SUM_COLUMNS } from '#observe/aggregation/minute-sums.ts';
import type { LogCommit, OpenMessage } from '#observe/aggregation/log-store.ts';
import { createHistoryStore } from '#storage/history-store.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createSpanOutbox } from '#storage/span-outbox.ts';
import { createDeliveryOutbox } from '#storage/delivery-outbox.ts';
import { createTotals } from '#storage/totals.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { openStore } from '#storage/sqlite.ts';
import { heldBack } from '../support/held-back.ts';
import { memoryStore } from '../support/memory-store.ts';
import { SERVERS } from '../support/postgres/servers.ts';
import { postgresStore } from '../support/postgres/test-databases.ts';
import { storedCounters } from '../support/stored-totals.ts';
import { tempDir } from '../support/temp-dir.ts';

const MINUTE = 60_000;

function commit(change: Partial<LogCommit>): LogCommit {
  return { account: 'production', watermark: 1_000, keptFrom: 0, increments: [], ...change };
}

function keyOf(text: string) {
  const key = emptyKey();
  setTextKey(key, text);
  return key;
}

function slices(sliceMs: number, keys: Readonly<Record<string, number>>): KeySlices {
  const made = new KeySlices(sliceMs);
  for (const [text, at] of Object.entries(keys)) made.add(at, keyOf(text));
  return made;
}

function open(messageId: string, more: Partial<OpenMessage> = {}): OpenMessage {
  return { messageId, expires: 9_000, destination: 'a.example', dueAt: 4_000, record: '{}', ...more };
}

const delivered = { metric: 'msgsvc_log_events_total', labels: ['DELIVERED'] } as const;

test('a commit persists after the store was closed and opened again', async () => {
  const path = join(tempDir(), 'opsd.db');
  {
    using store = openStore(path);
    const totals = createTotals(store);
    const aggregations = createLogAggregationStore(store, totals);
    expect(await aggregations.loadLogState('production')).toEqual({});
    await aggregations.commitLog(
      commit({
        watermark: 5_000,
        increments: [{ ...delivered, by: 2 }],
        seen: slices(MINUTE, { a: 4_000 }),
        ended: slices(5 * MINUTE, { e: 4_000 }),
        opened: [open('m1', { record: '[1]' }), open('m2')],
        sweptAt: 7,
        entryMode: 'transitions',
        sweep: { at: 2_000, end: 5_000, since: 8 },
      }),
    );
    expect(await aggregations.loadLogState('production')).toMatchObject({ sweep: { at: 2_000, end: 5_000, since: 8 } });
    await aggregations.commitLog(
      commit({
        watermark: 6_000,
        windowMs: 45_000,
        increments: [{ ...delivered, by: 3 }],
        seen: slices(MINUTE, { b: 4_000 }),
        opened: [{ messageId: 'm2', expires: 8_000, destination: 'b.example', record: '[2]' }],
      }),
    );
  }
  using store = openStore(path);
  const totals = createTotals(store);
  const aggregations = createLogAggregationStore(store, totals);
  const state = { watermark: 6_000, keptFrom: 0, sweptAt: 7, entryMode: 'transitions', windowMs: 45_000 };
  expect(await aggregations.loadLogState('production')).toEqual(state);
  expect(storedCounters(store, 'production')).toEqual([{ ...delivered, value: 5 }]);
  const { seen, ended, open: inFlight } = await aggregations.memory('production');
  expect(['a', 'b', 'c'].map((text) => seen.has(4_000, keyOf(text)))).toEqual([true, true, false]);
  expect(['e', 'a'].map((text) => ended.hasAnywhere(keyOf(text)))).toEqual([true, false]);
  expect(inFlight).toEqual(
    new Map([
      ['m1', { destination: 'a.example', dueAt: 4_000 }],
      ['m2', { destination: 'b.example', dueAt: undefined }],
    ]),
  );
  expect(await aggregations.openRecords('production', ['m1', 'm2', 'm3'])).toEqual(
    new Map([
      ['m1', '[1]'],
      ['m2', '[2]'],
    ]),
  );
});

describe('a log without entries', () => {
  const attempts = (from: number) => ({ attempts: { from, attempts: [] } });
  const pages = { increments: [{ metric: 'opsd_log_pages_total', labels: [], by: 1 } as const] };

  async function idle() {
    const store = memoryStore();
    const totals = createTotals(store);
    const open = () => createLogAggregationStore(store, createTotals(store));
    const log = createLogAggregationStore(store, totals);
    await log.commitLog(commit({ watermark: 0, sweptAt: 7 }));
    await log.commitLog(commit({ watermark: 1, sweptAt: 7, ...attempts(0) }));
    const advance = (watermark: number, more: Partial<LogCommit> = {}) =>
      log.commitLog(commit({ watermark, sweptAt: 7, ...attempts(1), ...pages, ...more }));
    /** State after a crash. */
    const stored = async () => (await open().loadLogState('production')).watermark;
    return { store, totals, log, advance, stored };
  }

  test('is written every five minutes of the log, and known at once', async () => {
    const { store, log, advance, stored } = await idle();
    expect(await stored()).toBe(1);
    await advance(5 * MINUTE);
    expect(await log.loadLogState('production')).toEqual({ watermark: 5 * MINUTE, keptFrom: 0, sweptAt: 7 });
    expect([await stored(), storedCounters(store, 'production')]).toEqual([1, []]);
    await advance(5 * MINUTE + 1);
    expect(await stored()).toBe(5 * MINUTE + 1);
    expect(storedCounters(store, 'production')).toEqual([{ ...pages.increments[0], by: undefined, value: 2 }]);
    await advance(5 * MINUTE + 2);
    expect(await stored()).toBe(5 * MINUTE + 1);
  });

  test('is written with a sample of its readings', async () => {
    const { totals, advance, stored } = await idle();
    const history = createHistoryStore(totals);
    await advance(MINUTE);
    await history.addSamples([{ account: 'production', at: MINUTE }]);
    expect(await stored()).toBe(MINUTE);
    await advance(6 * MINUTE - 1);
    expect(await stored()).toBe(MINUTE);
    await advance(6 * MINUTE);
    expect(await stored()).toBe(6 * MINUTE);
  });

  test.each<[string, Partial<LogCommit>]>([
    ['an entry', { increments: [{ ...delivered, by: 1 }] }],
    ['an open message', { opened: [open('m')] }],
    ['a closed message', { closed: ['m'] }],
    ['a minute', { minutes: [{ minute: 0, values: SUM_COLUMNS.map(() => 1) }] }],
    ['the end of a sweep', { sweptAt: 8 }],
    ['a sweep in progress', { sweep: { at: 0, end: 1, since: 8 } }],
    ['the entry mode', { entryMode: 'snapshot' }],
    ['a watermark that was reset', { watermark: 0 }],
  ])('is written with %s', async (_name, more) => {
    const { advance, stored } = await idle();
    await advance(2, more);
    expect(await stored()).toBe(more.watermark ?? 2);
  });

  test('is written at the start, until it is known since when attempts are counted', async () => {
    const store = memoryStore();
    const log = createLogAggregationStore(store, createTotals(store));
    await log.commitLog(commit({ watermark: 0 }));
    await log.commitLog(commit({ watermark: 5, ...attempts(3) }));
    expect(await createLogAggregationStore(store, createTotals(store)).attempts('production')).toMatchObject({
      from: 3,
    });
  });
});

test('accounts are separate', async () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  const totals = createTotals(store);
  const aggregations = createLogAggregationStore(store, totals);
  await aggregations.commitLog(
    commit({ increments: [{ ...delivered, by: 1 }], seen: slices(MINUTE, { a: 1 }), opened: [open('m')] }),
  );
  expect(await aggregations.loadLogState('staging')).toEqual({});
  expect(storedCounters(store, 'staging')).toEqual([]);
  expect((await aggregations.memory('staging')).seen.size).toBe(0);
  expect(await aggregations.openRecords('staging', ['m'])).toEqual(new Map());
  expect(await aggregations.expired('staging', Infinity, 10)).toEqual([]);
});

test('a commit that fails midway leaves the previous one, in the store and in memory', async () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  const failures: string[] = [];
  const totals = createTotals(store, (error) => failures.push(errorMessage(error)));
  const aggregations = createLogAggregationStore(store, totals);
  await aggregations.commitLog(commit({ watermark: 1_000, increments: [{ ...delivered, by: 1 }] }));
  const broken = open('m', { expires: 'not a number' as unknown as number });
  const second = { watermark: 2_000, increments: [{ ...delivered, by: 1 }], seen: slices(MINUTE, { a: 1 }) };
  await expect(aggregations.commitLog(commit({ ...second, opened: [broken] }))).rejects.toThrow(
    /cannot store TEXT value in INTEGER column/,
  );
  expect(failures).toEqual(['cannot store TEXT value in INTEGER column log_open.expires']);
  expect(await aggregations.loadLogState('production')).toMatchObject({ watermark: 1_000 });
  expect(storedCounters(store, 'production')).toEqual([{ ...delivered, value: 1 }]);
  expect((await aggregations.memory('production')).seen.size).toBe(0);
  expect((await aggregations.memory('production')).open.size).toBe(0);
});

test('old keys are removed by the slice, ended messages closed, silent ones found as they expire', async () => {
  const path = join(tempDir(), 'opsd.db');
  {
    using store = openStore(path);
    const aggregations = createLogAggregationStore(store, createTotals(store));
    await aggregations.commitLog(
      commit({
        seen: slices(MINUTE, { old: 10, new: MINUTE + 1 }),
        opened: [open('later', { expires: 7 }), open('sooner', { expires: 5 }), open('ended', { expires: 6 })],
      }),
    );
    await aggregations.commitLog(commit({ keptFrom: MINUTE, closed: ['ended'] }));
    expect((await aggregations.memory('production')).seen.size).toBe(1);
    const expired = async (before: number, limit: number) =>
      (await aggregations.expired('production', before, limit)).map(({ messageId }) => messageId);
    expect(await expired(7, 10)).toEqual(['sooner']);
    expect(await expired(8, 10)).toEqual(['sooner', 'later']);
    expect(await expired(Infinity, 1)).toEqual(['sooner']);
  }
  using store = openStore(path);
  const { seen, open: inFlight } = await createLogAggregationStore(store, createTotals(store)).memory('production');
  expect([seen.has(10, keyOf('old')), seen.has(MINUTE + 1, keyOf('new'))]).toEqual([false, true]);
  expect([...inFlight.keys()]).toEqual(['later', 'sooner']);
});

test('entries of an hour are counted for 36 days, and those of a minute for 25 hours', async () => {
  using store = openStore(join(tempDir(), 'opsd.db'));
  const aggregations = createLogAggregationStore(store, createTotals(store));
  const hour = 3_600_000;
  const minute = (at: number, sums: Readonly<Record<string, number>>) => ({
    minute: at,
    values: SUM_COLUMNS.map((column) => sums[column] ?? 0),
  });
  const rows = (step: number) => store.db.prepare('SELECT at FROM history WHERE step = ?').all(step);
  const minutes = [minute(hour, { created: 1, delivered: 1 }), minute(2 * hour - MINUTE, { canary_created: 1 })];
  await aggregations.commitLog(commit({ watermark: 26 * hour, minutes }));
  expect(rows(MINUTE)).toHaveLength(2);
  await aggregations.commitLog(commit({ watermark: 26 * hour + 1, minutes: [minute(hour, { created: 3 })] }));
  expect(rows(MINUTE)).toEqual([{ at: 2 * hour - MINUTE }]);
  await aggregations.commitLog(commit({ watermark: 865 * hour }));
  expect(rows(MINUTE)).toEqual([]);
  expect(await aggregations.hourCounts('production')).toEqual(
    new Map([
      [
        hour,
        new Map([
          ['CREATED', 5],
          ['DELIVERED', 1],
        ]),
      ],
    ]),
  );
  expect(await aggregations.hourCounts('staging')).toEqual(new Map());
  await aggregations.commitLog(commit({ watermark: 865 * hour + 1 }));
  expect(await aggregations.hourCounts('production')).toEqual(new Map());
});

test('lines about deliveries belong to the commit: present with it, and absent without it', async () => {
  const path = join(tempDir(), 'opsd.db');
  {
    using store = openStore(path);
    const deliveries = await createDeliveryOutbox(store, { onDropped: () => expect.unreachable() });
    const aggregations = createLogAggregationStore(store, createTotals(store), { deliveries });
    let told = 0;
    deliveries.onStored(() => void (told += 1));
    await aggregations.commitLog(commit({ lines: ['{"n":1}', '{"n":2}'] }));
    expect([told, deliveries.queued]).toEqual([1, 2]);
    const broken = [{ ...delivered, by: Number.NaN }];
    await expect(aggregations.commitLog(commit({ lines: ['{"n":3}'], increments: broken }))).rejects.toThrow(
      'NOT NULL',
    );
    expect([told, deliveries.queued]).toEqual([1, 2]);
  }
  using store = openStore(path);
  const deliveries = await createDeliveryOutbox(store, { onDropped: () => expect.unreachable() });
  expect(await deliveries.next()).toEqual({ ids: [1, 2], text: '{"n":1}\n{"n":2}\n' });
  await deliveries.settle([1, 2]);
  expect([deliveries.queued, await deliveries.next()]).toEqual([0, undefined]);
});

test('spans and lines of a commit take their room at once, and give it back if the commit fails', async () => {
  const store = memoryStore();
  const { port: database, waiting } = heldBack(store.database, 'transaction');
  const spans = await createSpanOutbox(store);
  const dropped: number[] = [];
  const deliveries = await createDeliveryOutbox(store, {
    onDropped: (lines) => void dropped.push(lines),
    mostLines: 3,
  });
  const opened = { ...store, database };
  const aggregations = createLogAggregationStore(opened, createTotals(opened), { spans, deliveries });
  const batch = { protocol: 'http/json', head: '{}', body: new Uint8Array(1), spans: 40, madeAt: 7 } as const;
  const added = { spans: { batches: [batch], leftOpen: [] }, lines: ['1', '2'] };
  const first = aggregations.commitLog(commit(added));
  expect([spans.queued(), deliveries.queued]).toEqual([{ spans: 40 }, 2]);
  const second = aggregations.commitLog(commit({ ...added, account: 'staging' }));
  expect([spans.queued(), deliveries.queued]).toEqual([{ spans: 80 }, 3]);
  while (waiting.length < 2) await Promise.resolve();
  waiting[0]!.fail(new Error('disk full'));
  waiting[1]!.proceed();
  await expect(first).rejects.toThrow('disk full');
  await second;
  expect([spans.queued(), deliveries.queued, dropped]).toEqual([{ spans: 40, oldestAt: 7 }, 1, [1]]);
  await spans.settle([(await spans.next())!.id]);
  expect(spans.queued()).toEqual({ spans: 0 });
});

const STORES = [
  ['SQLite', async () => openMemoryStore().database],
  ...SERVERS.map((server) => [server, () => postgresStore(server)] as const),
] as const;

describe.each(STORES)('attempts by destination in %s', (_name, databaseOf) => {
  const HOURS_6 = 360 * MINUTE;
  const attempt = (minute: number, failed: number, change: Partial<EndedAttempts> = {}): EndedAttempts => ({
    host: 'crm.example',
    minute,
    delivered: 1,
    failed,
    failedFrom: failed === 0 ? Infinity : minute + 5,
    lost: failed,
    reasons: new Map(failed === 0 ? [] : [['HTTP 503', failed]]),
    ...change,
  });

  test('survive a reopening, added up by minute, and are forgotten after six hours', async () => {
    const database = await databaseOf();
    const opened = () => createLogAggregationStore({ database }, createTotals({ database }));
    const log = opened();
    expect(await log.attempts('production')).toBeUndefined();
    const commits = [
      { watermark: MINUTE, attempts: { from: 7, attempts: [attempt(0, 2), attempt(0, 0, { host: 'b.example' })] } },
      {
        watermark: 2 * MINUTE,
        attempts: {
          from: MINUTE,
          attempts: [attempt(0, 3, { failedFrom: 2, reasons: new Map([['timeout', 3]]) }), attempt(MINUTE, 0)],
        },
      },
    ];
    for (const change of commits) await log.commitLog(commit(change));
    expect(await opened().attempts('production')).toEqual({
      watermark: 2 * MINUTE,
      from: 7,
      attempts: [
        attempt(0, 5, {
          delivered: 2,
          failedFrom: 2,
          reasons: new Map([
            ['HTTP 503', 2],
            ['timeout', 3],
          ]),
        }),
        attempt(0, 0, { host: 'b.example' }),
        attempt(MINUTE, 0),
      ],
    });
    const last = HOURS_6 + MINUTE;
    await log.commitLog(commit({ watermark: last, attempts: { from: 2 * MINUTE, attempts: [attempt(last, 1)] } }));
    expect((await opened().attempts('production'))?.attempts.map(({ minute }) => minute)).toEqual([MINUTE, last]);
    expect(await opened().attempts('other')).toBeUndefined();
  });

  test('are bounded: beyond 500 destinations of a minute, the rest is unknown, not zero', async () => {
    const database = await databaseOf();
    const log = createLogAggregationStore({ database }, createTotals({ database }));
    const many = Array.from({ length: 501 }, (_, n) => attempt(MINUTE, n === 500 ? 9 : 0, { host: `h${n}.example` }));
    await log.commitLog(commit({ watermark: 2 * MINUTE, attempts: { from: 0, attempts: many } }));
    const known = await log.attempts('production');
    expect([known?.from, known?.attempts.length, known?.attempts[0]?.host]).toEqual([2 * MINUTE, 500, 'h500.example']);
  });
});

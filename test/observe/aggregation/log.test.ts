import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import type { StatedEntry } from '#observe/aggregation/log-entry.ts';
import { ABANDON_AFTER_MS, WindowAggregation, type LogAggregate, type LogWindow } from '#observe/aggregation/log.ts';
import type { MessageProgress } from '#observe/aggregation/message-trace.ts';
import { countersOf, hasEnded, histories, truthOf } from '../../support/log-history.ts';
import { memoryStores, type MemoryStores } from '../../support/memory-aggregation-stores.ts';

const T0 = Date.UTC(2026, 10, 20, 10);
const ACCOUNT = 'production';

/** Aggregates a window over the content of a stores, without committing. */
async function aggregation(
  stores: MemoryStores,
  entries: readonly StatedEntry[],
  more: Partial<LogWindow> = {},
): Promise<LogAggregate> {
  const counting = new WindowAggregation({
    account: ACCOUNT,
    from: T0,
    memory: await stores.log.memory(ACCOUNT),
    admit: (_label, value) => value,
    ...more,
  });
  for (const one of entries) counting.take(one);
  return counting.finish(await stores.log.openRecords(ACCOUNT, counting.open()));
}

/** @returns the messages that ended in the window */
async function aggregateAndCommit(
  stores: MemoryStores,
  entries: readonly StatedEntry[],
  to: number,
  more: Partial<LogWindow> = {},
): Promise<MessageProgress[]> {
  const { progress, attempts: _attempts, resumeEnds: _ends, ...result } = await aggregation(stores, entries, more);
  await stores.log.commitLog({ account: ACCOUNT, watermark: to, keptFrom: 0, ...result });
  return progress().filter(({ news }) => news.ended);
}

function entry(time: number, state: MessageState, more: Partial<LogEntry> = {}): StatedEntry {
  return { time: T0 + time, messageId: 'msg-1', state, labels: [], url: 'https://api.example.com/x', ...more };
}

function counters(stores: MemoryStores): Record<string, number> {
  return countersOf(stores.counters(ACCOUNT));
}

const end = T0 + 24 * 3_600_000;

describe('for any partition into windows', () => {
  const cuts = fc.array(fc.integer({ min: 0, max: 900_000 }), { maxLength: 12 });
  const noise = fc.record({
    seed: fc.integer(),
    /** Reads every n-th entry twice. */
    repeatEvery: fc.integer({ min: 2, max: 9 }),
    /** Overlap of a window with the previous one. */
    overlap: fc.integer({ min: 0, max: 120_000 }),
    crashEvery: fc.integer({ min: 2, max: 5 }),
  });

  test('the counters match the history, and each end is reported once, complete', async () => {
    await fc.assert(
      fc.asyncProperty(
        histories(T0),
        cuts,
        noise,
        async (messages, offsets, { seed, repeatEvery, overlap, crashEvery }) => {
          const all = messages.flatMap((message) => message.entries);
          const borders = [T0, ...offsets.map((offset) => T0 + offset).sort((a, b) => a - b), end];
          const stores = memoryStores();
          const ended: MessageProgress[] = [];
          for (let n = 1; n < borders.length; n += 1) {
            const from = borders[n - 1]! - overlap;
            const to = borders[n]!;
            const window = all.filter(({ time }) => time >= from && time <= to);
            const read = shuffled([...window, ...window.filter((_, at) => at % repeatEvery === 0)], seed + n);
            // A crash between aggregation and commit: the window is read again, in another order.
            if (n % crashEvery === 0) await aggregation(stores, shuffled(read, seed - n), { from });
            ended.push(...(await aggregateAndCommit(stores, read, to, { from })));
          }
          expect(counters(stores)).toEqual(truthOf(messages));
          expect(ended.map(({ messageId }) => messageId).toSorted()).toEqual(
            messages
              .filter(hasEnded)
              .map(({ messageId }) => messageId)
              .toSorted(),
          );
          const atOnce = await aggregateAndCommit(memoryStores(), all, end);
          expect(byId(ended)).toEqual(byId(atOnce));
        },
      ),
      { numRuns: 150 },
    );
  });

  test('only open messages are remembered, and ended ones are removed', async () => {
    await fc.assert(
      fc.asyncProperty(histories(T0), async (messages) => {
        const stores = memoryStores();
        await aggregateAndCommit(
          stores,
          messages.flatMap(({ entries }) => entries),
          end,
        );
        const open = messages.filter((message) => !hasEnded(message)).map(({ messageId }) => messageId);
        const inFlight = [...(await stores.log.memory(ACCOUNT)).open].filter(([, { dueAt }]) => dueAt !== undefined);
        expect(inFlight.map(([messageId]) => messageId).toSorted()).toEqual(open.toSorted());
      }),
      { numRuns: 30 },
    );
  });
});

/** Returns the progress of each message, without `news`. */
function byId(ended: readonly MessageProgress[]): Record<string, Omit<MessageProgress, 'news'>> {
  return Object.fromEntries(ended.map(({ news: _news, ...known }) => [known.messageId, known]));
}

/** Returns the values in an order that depends on the seed. */
function shuffled<T>(values: readonly T[], seed: number): T[] {
  return values
    .map((value, at) => ({ value, rank: Math.sin((at + 1) * 12.9898 + seed * 78.233) * 43_758.5453 }))
    .sort((a, b) => a.rank - Math.floor(a.rank) - (b.rank - Math.floor(b.rank)))
    .map(({ value }) => value);
}

describe('ended attempts', async () => {
  const attempts = async (entries: readonly StatedEntry[], stores = memoryStores()) =>
    (await aggregation(stores, entries)).attempts;
  const MINUTE = 60_000;
  const host = 'api.example.com';

  test('are counted by host and minute of their entries: each attempt, not each message', async () => {
    const entries = [
      entry(1, 'CREATED'),
      entry(2, 'ACTIVE'),
      entry(3, 'ERROR', { responseStatus: 500, nextDeliveryTime: T0 + MINUTE }),
      entry(4, 'RETRY'),
      entry(MINUTE, 'DELIVERED', { responseStatus: 200 }),
      entry(5, 'DELIVERED', { messageId: 'msg-2', url: 'https://other.example:8443/?q' }),
      entry(6, 'CANCELLED', { messageId: 'msg-3' }),
    ];
    const none = { delivered: 0, failed: 0, failedFrom: Infinity, lost: 0, reasons: new Map() };
    const failed = { ...none, failed: 1, failedFrom: T0 + 3, reasons: new Map([['HTTP 500', 1]]) };
    expect(await attempts(entries)).toEqual([
      { host, minute: T0, ...failed },
      { host, minute: T0 + MINUTE, ...none, delivered: 1 },
      { host: 'other.example:8443', minute: T0, ...none, delivered: 1 },
    ]);
  });

  test('a FAILED counts if no ERROR reported the attempt, and always as a permanently failed message', async () => {
    const reasons = new Map([['no_response', 1]]);
    const failed = { host, minute: T0, delivered: 0, failed: 1, failedFrom: T0 + 1, lost: 1, reasons };
    expect(await attempts([entry(1, 'FAILED')])).toEqual([failed]);
    expect(await attempts([entry(2, 'FAILED'), entry(1, 'ERROR')])).toEqual([failed]);
    const lost = [{ ...failed, failed: 0, failedFrom: Infinity, reasons: new Map() }];
    const stores = memoryStores();
    await aggregateAndCommit(stores, [entry(1, 'ERROR', { nextDeliveryTime: T0 + 5 })], T0 + 2);
    expect(await attempts([entry(9, 'FAILED')], stores)).toEqual(lost);
    const past = memoryStores();
    const whole = [entry(1, 'CREATED'), entry(2, 'ACTIVE'), entry(3, 'ERROR', { responseStatus: 500 })];
    await aggregateAndCommit(past, whole, T0 + 4);
    expect((await past.log.memory(ACCOUNT)).open.size).toBe(0);
    expect(await attempts([entry(9, 'FAILED')], past)).toEqual(lost);
  });

  test('a resume ends as a message with its stamp does, and failed when that failed permanently', async () => {
    const ends = async (...entries: readonly StatedEntry[]) => (await aggregation(memoryStores(), entries)).resumeEnds;
    const labels = ['billing', 'opsd:here:lin-1:2'];
    const failed = { instance: 'here', lineage: 'lin-1', attempt: 2, url: 'https://api.example.com/x', end: 'failed' };
    const delivered = { ...failed, end: 'delivered' };
    expect(await ends(entry(1, 'CREATED', { labels }), entry(2, 'ERROR', { labels }))).toEqual([failed]);
    expect(await ends(entry(2, 'FAILED', { labels }), entry(1, 'ERROR', { labels }))).toEqual([failed]);
    expect(await ends(entry(2, 'ERROR', { labels, nextDeliveryTime: T0 + 9 }))).toEqual([]);
    expect(await ends(entry(2, 'ERROR', { labels }), entry(3, 'DELIVERED', { labels }))).toEqual([delivered]);
    expect(await ends(entry(3, 'DELIVERED', { labels }), entry(2, 'ERROR', { labels }))).toEqual([delivered]);
    expect(await ends(entry(2, 'CANCELLED', { labels }), entry(3, 'ERROR', { labels: ['billing'] }))).toEqual([]);
    // Where the service adds labels, the stamps of earlier resumes precede the newest.
    const added = ['opsd:here:lin-1:1', 'opsd:here:lin-1:2'];
    expect(await ends(entry(2, 'FAILED', { labels: added }))).toEqual([failed]);
  });

  test('entries that were counted are not counted again', async () => {
    const stores = memoryStores();
    await aggregateAndCommit(stores, [entry(1, 'CREATED'), entry(2, 'DELIVERED')], T0 + 5);
    expect(await attempts([entry(2, 'DELIVERED')], stores)).toEqual([]);
  });
});

describe('a final failure', () => {
  const failures = 'msgsvc_message_failures_total api.example.com http 500';
  const last = entry(10, 'ERROR', { responseStatus: 500 });

  test('is an ERROR without a next delivery', async () => {
    const stores = memoryStores();
    await aggregateAndCommit(stores, [last], T0 + 20);
    expect(counters(stores)[failures]).toBe(1);
  });

  test('is not an ERROR with one, nor one after which the message continued', async () => {
    for (const entries of [
      [entry(10, 'ERROR', { responseStatus: 500, nextDeliveryTime: T0 + 99 })],
      [last, entry(10, 'RETRY')],
      [last, entry(15, 'ACTIVE')],
    ]) {
      const stores = memoryStores();
      await aggregateAndCommit(stores, entries, T0 + 20);
      expect(counters(stores)).not.toHaveProperty([failures]);
      expect(counters(stores)).not.toHaveProperty(['msgsvc_messages_finished_total api.example.com']);
    }
  });

  test.each([
    ['in one window', [[last, entry(12, 'FAILED', { responseStatus: 500 })]]],
    ['in two windows', [[last], [entry(12, 'FAILED', { responseStatus: 500 })]]],
    ['in two windows, FAILED first', [[entry(12, 'FAILED', { responseStatus: 500 })], [last]]],
  ])('is one when ERROR and FAILED both report it, %s', async (_how, windows) => {
    const stores = memoryStores();
    for (const entries of windows) await aggregateAndCommit(stores, entries, T0 + 20);
    expect(counters(stores)[failures]).toBe(1);
    expect(counters(stores)['msgsvc_messages_finished_total api.example.com']).toBe(1);
    expect(counters(stores)['msgsvc_log_events_total FAILED']).toBe(1);
  });

  test('in a FAILED without status has the reason of the last ERROR', async () => {
    const stores = memoryStores();
    await aggregateAndCommit(stores, [entry(10, 'ERROR', { responseStatus: 500, nextDeliveryTime: T0 + 99 })], T0 + 20);
    await aggregateAndCommit(stores, [entry(30, 'FAILED')], T0 + 40);
    expect(counters(stores)[failures]).toBe(1);
  });
});

describe('a cancellation during an attempt', () => {
  const first = [
    entry(0, 'CREATED'),
    entry(10, 'ACTIVE'),
    entry(15, 'CANCEL_REQUESTED'),
    entry(20, 'ERROR', { responseStatus: 503 }),
  ];
  const last = entry(20, 'CANCELLED');

  test.each([
    ['in one window', [[...first, last]]],
    ['in two windows', [first, [last]]],
  ])('is not a failure, %s', async (_how, windows) => {
    const stores = memoryStores();
    for (const entries of windows) await aggregateAndCommit(stores, entries, T0 + 30);
    expect(counters(stores)).toMatchObject({
      'msgsvc_message_cancellations_total api.example.com': 1,
      'msgsvc_messages_finished_total api.example.com': 1,
    });
    expect(counters(stores)).not.toHaveProperty(['msgsvc_message_failures_total api.example.com http 503']);
  });
});

test('an attempt that begins in the millisecond of the previous failure is another one', async () => {
  const stores = memoryStores();
  await aggregateAndCommit(
    stores,
    [
      entry(0, 'CREATED'),
      entry(10, 'ACTIVE'),
      entry(20, 'ERROR', { responseStatus: 503, nextDeliveryTime: T0 + 20 }),
      entry(20, 'ACTIVE'),
      entry(25, 'DELIVERED'),
    ],
    T0 + 30,
  );
  const attempts = stores.histograms(ACCOUNT).find(({ metric }) => metric.includes('attempt_duration'))!;
  expect([attempts.buckets[0], attempts.sum]).toEqual([2, 0.015]);
});

describe('labels', () => {
  test('a destination beyond the limit is aggregated', async () => {
    const { increments } = await aggregation(
      memoryStores(),
      [entry(1, 'CREATED'), entry(1, 'CREATED', { messageId: 'msg-2', url: 'https://b.example.com' })],
      { admit: (_label, value) => (value === 'b.example.com' ? 'other' : value) },
    );
    const created = increments.filter(({ metric }) => metric === 'msgsvc_messages_created_total');
    expect(created.map(({ labels, by }) => [...labels, by])).toEqual([
      ['api.example.com', 1],
      ['other', 1],
    ]);
  });

  test('an entry without a destination has that of its message', async () => {
    const stores = memoryStores();
    await aggregateAndCommit(stores, [entry(1, 'CREATED')], T0 + 5);
    const { url: _url, ...bare } = entry(10, 'DELIVERED', { responseStatus: 200 });
    await aggregateAndCommit(stores, [bare], T0 + 20);
    expect(counters(stores)['msgsvc_messages_finished_total api.example.com']).toBe(1);
  });

  test('a message that never names one is unknown', async () => {
    const stores = memoryStores();
    await aggregateAndCommit(stores, [entry(1, 'CREATED', { url: 'not a url' })], T0 + 5);
    expect(counters(stores)['msgsvc_messages_created_total unknown']).toBe(1);
  });
});

describe('repetitions', () => {
  const repeated = (stores: MemoryStores): number | undefined =>
    stores.counters(ACCOUNT).find(({ metric }) => metric === 'opsd_log_duplicate_entries_total')?.value;

  test('within a window, and of another window, are counted as such', async () => {
    const stores = memoryStores();
    await aggregateAndCommit(stores, [entry(1, 'CREATED'), entry(1, 'CREATED')], T0 + 5);
    expect(repeated(stores)).toBe(1);
    await aggregateAndCommit(stores, [entry(1, 'CREATED')], T0 + 9);
    expect(repeated(stores)).toBe(2);
  });

  test('at the border of two windows are not new', async () => {
    const stores = memoryStores();
    await aggregateAndCommit(stores, [entry(5, 'CREATED')], T0 + 5);
    await aggregateAndCommit(stores, [entry(5, 'CREATED')], T0 + 9, { from: T0 + 5 });
    expect(repeated(stores)).toBeUndefined();
    expect(counters(stores)['msgsvc_log_events_total CREATED']).toBe(1);
  });

  test('entries that differ in endpoint, status, state or time are not duplicates', async () => {
    const { url: _url, ...bare } = entry(1, 'CREATED');
    const different = [
      { ...bare, endpointName: 'a' },
      { ...bare, endpointName: 'b' },
      entry(1, 'CREATED'),
      entry(2, 'CREATED'),
      entry(2, 'ACTIVE'),
      entry(3, 'ERROR', { responseStatus: 500, nextDeliveryTime: T0 + 9 }),
      entry(3, 'ERROR', { responseStatus: 502, nextDeliveryTime: T0 + 9 }),
    ];
    expect((await aggregation(memoryStores(), different)).seen.size).toBe(different.length);
  });
});

describe('entries that appear later than their successors', () => {
  const life = [
    entry(0, 'CREATED'),
    entry(10, 'ACTIVE'),
    entry(30, 'ERROR', { responseStatus: 503, nextDeliveryTime: T0 + 1_000 }),
    entry(30, 'RETRY', { nextDeliveryTime: T0 + 1_000 }),
    entry(1_007, 'ACTIVE'),
    entry(1_300, 'ERROR', { responseStatus: 503, nextDeliveryTime: T0 + 70_000 }),
    entry(1_300, 'RETRY', { nextDeliveryTime: T0 + 70_000 }),
    entry(70_001, 'ACTIVE'),
  ];
  const failure = [entry(70_500, 'ERROR', { responseStatus: 503 }), entry(70_500, 'FAILED', { responseStatus: 503 })];
  const pairs = (of: readonly StatedEntry[]): number[][] => of.flatMap((_a, at) => of.map((_b, other) => [at, other]));

  test.each([
    ['delivered', [...life, entry(70_500, 'DELIVERED', { responseStatus: 200 })]],
    ['failed', [...life, ...failure]],
    ['failed at once', [...life.slice(0, 2), ...failure]],
    ['cancelled', [...life.slice(0, 4), entry(500, 'CANCEL_REQUESTED'), entry(500, 'CANCELLED')]],
  ])('do not change the measurements of a message that is %s, whichever two they are', async (_end, all) => {
    const atOnce = memoryStores();
    await aggregateAndCommit(atOnce, all, end);
    for (const late of pairs(all)) {
      const stores = memoryStores();
      const inTime = all.filter((_, at) => !late.includes(at));
      await aggregateAndCommit(stores, inTime, end);
      for (const at of late) await aggregateAndCommit(stores, [all[at]!], end, { isSweep: true });
      const doubts = stores.counters(ACCOUNT).filter(({ metric }) => /unjoined|revised/.test(metric));
      expect([late, doubts]).toEqual([late, []]);
      expect([late, measuredIn(stores)]).toEqual([late, measuredIn(atOnce)]);
    }
  });

  test('are not waited for where a RETRY is reported before its ERROR', async () => {
    const stores = memoryStores();
    const skewed = [
      ...life.slice(0, 2),
      entry(29, 'RETRY', { nextDeliveryTime: T0 + 1_000 }),
      life[2]!,
      life[4]!,
      entry(1_100, 'DELIVERED', { responseStatus: 200 }),
    ];
    await aggregateAndCommit(stores, skewed, end);
    expect(measuredIn(stores)['msgsvc_message_delivery_attempts']!.slice(0, 3)).toEqual([2_000, 0, 1]);
    expect((await stores.log.memory(ACCOUNT)).open.size).toBe(0);
  });
});

function measuredIn(stores: MemoryStores): Record<string, readonly number[]> {
  return Object.fromEntries(
    stores.histograms(ACCOUNT).map(({ metric, buckets, sum }) => [metric, [Math.round(sum * 1_000), ...buckets]]),
  );
}

describe('facts of an ended message', () => {
  const created = entry(0, 'CREATED', {
    url: 'https://user:pw@api.example.com/x?id=1&token=s3cret',
    traceparent: '00-abc',
    method: 'POST',
  });

  test('has the attempts of a delivered message', async () => {
    const stores = memoryStores();
    const told = await aggregateAndCommit(
      stores,
      [
        created,
        entry(10, 'ACTIVE'),
        entry(20, 'ERROR', { responseStatus: 503, nextDeliveryTime: T0 + 40 }),
        entry(21, 'RETRY'),
        entry(40, 'ACTIVE'),
        entry(55, 'DELIVERED', { responseStatus: 200 }),
      ],
      T0 + 60,
    );
    expect(told).toEqual([
      {
        account: ACCOUNT,
        messageId: 'msg-1',
        createdAt: T0,
        dueAt: T0,
        end: { at: T0 + 55, outcome: 'delivered' },
        url: 'https://api.example.com/x?id=1&token=REDACTED',
        method: 'POST',
        traceparent: '00-abc',
        attempts: [
          { dueAt: T0, startedAt: T0 + 10, endedAt: T0 + 20, responseStatus: 503, failure: 'http' },
          { dueAt: T0 + 40, startedAt: T0 + 40, endedAt: T0 + 55, responseStatus: 200 },
        ],
        news: { created: true, attempts: [0, 1], outcomes: [0, 1], ended: true },
      },
    ]);
  });

  test('the reason of a delay is remembered until the wait ends', async () => {
    const stores = memoryStores();
    const postponed = entry(0, 'CREATED', { postponedBy: 'not_before', nextDeliveryTime: T0 + 30 });
    await aggregateAndCommit(stores, [postponed], T0 + 20);
    const later = (await aggregation(stores, [entry(31, 'ACTIVE'), entry(35, 'DELIVERED')])).progress();
    expect(later).toMatchObject([{ postponedBy: 'not_before', dueAt: T0 + 30 }]);
  });

  test('has the failure that ended it, whether FAILED comes in the same window or not', async () => {
    const entries = [created, entry(10, 'ACTIVE'), entry(20, 'ERROR', { error: 'ECONNRESET' })];
    const again = entry(21, 'FAILED', { error: 'ECONNRESET' });
    const one = await aggregateAndCommit(memoryStores(), [...entries, again], T0 + 30);
    const stores = memoryStores();
    const two = [
      ...(await aggregateAndCommit(stores, entries, T0 + 20)),
      ...(await aggregateAndCommit(stores, [again], T0 + 30)),
    ];
    expect(two).toEqual(one);
    expect(one[0]).toMatchObject({ end: { at: T0 + 20, outcome: 'failed' } });
    expect(one[0]?.attempts).toEqual([{ dueAt: T0, startedAt: T0 + 10, endedAt: T0 + 20, failure: 'connection' }]);
  });

  test('a FAILED without a preceding ERROR is an attempt', async () => {
    const told = await aggregateAndCommit(
      memoryStores(),
      [created, entry(10, 'ACTIVE'), entry(20, 'FAILED', { responseStatus: 489 })],
      T0 + 30,
    );
    expect(told[0]?.attempts).toEqual([
      { dueAt: T0, startedAt: T0 + 10, endedAt: T0 + 20, responseStatus: 489, failure: 'http' },
    ]);
  });

  test('an attempt without a known start does not use that of the previous one', async () => {
    const told = await aggregateAndCommit(
      memoryStores(),
      [
        created,
        entry(10, 'ACTIVE'),
        entry(20, 'ERROR', { responseStatus: 503, nextDeliveryTime: T0 + 40 }),
        entry(45, 'DELIVERED', { responseStatus: 200 }),
      ],
      T0 + 50,
    );
    expect(told[0]?.attempts[1]).toEqual({ dueAt: T0 + 40, endedAt: T0 + 45, responseStatus: 200 });
  });

  test('a FAILED after the ERROR of the attempt is not another attempt', async () => {
    const told = await aggregateAndCommit(
      memoryStores(),
      [
        created,
        entry(10, 'ACTIVE'),
        entry(20, 'ERROR', { responseStatus: 503, nextDeliveryTime: T0 + 40 }),
        entry(30, 'FAILED', { responseStatus: 503 }),
      ],
      T0 + 50,
    );
    expect(told[0]).toMatchObject({ end: { at: T0 + 30, outcome: 'failed' } });
    expect(told[0]?.attempts).toHaveLength(1);
  });

  test('may have no attempts, if the message was canceled', async () => {
    const told = await aggregateAndCommit(
      memoryStores(),
      [created, entry(5, 'CANCEL_REQUESTED'), entry(6, 'CANCELLED')],
      T0 + 30,
    );
    expect(told).toMatchObject([{ end: { at: T0 + 6, outcome: 'cancelled' }, attempts: [] }]);
  });

  test('has no start if the creation was not seen', async () => {
    const told = await aggregateAndCommit(memoryStores(), [entry(5, 'DELIVERED')], T0 + 30);
    expect(told).toMatchObject([{ end: { at: T0 + 5, outcome: 'delivered' } }]);
    expect(told[0]).not.toHaveProperty('createdAt');
    expect(told[0]).not.toHaveProperty('dueAt');
  });
});

describe('progress', () => {
  test('reports the new facts with each commit', async () => {
    const stores = memoryStores();
    const step = async (...entries: StatedEntry[]) => {
      const [progress] = (await aggregation(stores, entries)).progress();
      await aggregateAndCommit(stores, entries, T0 + 99);
      return progress;
    };
    expect(await step(entry(0, 'CREATED', { nextDeliveryTime: T0 + 5 }), entry(6, 'ACTIVE'))).toEqual({
      account: ACCOUNT,
      messageId: 'msg-1',
      url: 'https://api.example.com/x',
      createdAt: T0,
      dueAt: T0 + 5,
      attempts: [],
      activeSince: T0 + 6,
      news: { created: true, attempts: [], outcomes: [], ended: false },
    });
    const failed = { dueAt: T0 + 5, startedAt: T0 + 6, endedAt: T0 + 9, responseStatus: 503, failure: 'http' };
    expect(await step(entry(9, 'ERROR', { responseStatus: 503, nextDeliveryTime: T0 + 40 }))).toMatchObject({
      attempts: [failed],
      news: { created: false, attempts: [0], outcomes: [0], ended: false },
    });
    expect(await step(entry(41, 'ACTIVE'), entry(44, 'DELIVERED', { responseStatus: 200 }))).toMatchObject({
      attempts: [failed, { dueAt: T0 + 40, startedAt: T0 + 41, endedAt: T0 + 44, responseStatus: 200 }],
      end: { at: T0 + 44, outcome: 'delivered' },
      news: { created: false, attempts: [1], outcomes: [1], ended: true },
    });
  });

  test('separates a late start from a new outcome, and marks past facts as past', async () => {
    const stores = memoryStores();
    const step = async (...entries: StatedEntry[]) => {
      const [progress] = (await aggregation(stores, entries)).progress();
      await aggregateAndCommit(stores, entries, T0 + 99);
      return progress?.news;
    };
    await step(entry(0, 'CREATED'), entry(9, 'DELIVERED'));
    expect(await step(entry(5, 'ACTIVE'))).toMatchObject({ attempts: [0], outcomes: [], ended: false });
    expect(await step(entry(10, 'FAILED'))).toMatchObject({ isPast: true });
  });
});

describe('hours', () => {
  test('count fresh entries by the hour of their time and by state', async () => {
    const stores = memoryStores();
    const hour = 3_600_000;
    const entries = [
      entry(0, 'CREATED'),
      entry(hour - 1, 'CREATED', { messageId: 'msg-2' }),
      entry(hour, 'ACTIVE'),
      entry(hour + 1, 'DELIVERED'),
    ];
    await aggregateAndCommit(stores, [...entries, entries[0]!], T0 + 2 * hour);
    await aggregateAndCommit(stores, entries, T0 + 2 * hour);
    const hours = await stores.log.hourCounts(ACCOUNT);
    expect(hours.get(T0)).toEqual(new Map([['CREATED', 2]]));
    expect(hours.get(T0 + hour)).toEqual(
      new Map([
        ['ACTIVE', 1],
        ['DELIVERED', 1],
      ]),
    );
  });
});

describe('the record of an open message', () => {
  test('holds no secret and no error text', async () => {
    const stores = memoryStores();
    const { opened } = await aggregation(stores, [
      entry(0, 'CREATED', { url: 'https://user:pw@api.example.com/x?api_key=s3cret' }),
      entry(9, 'ERROR', { error: 'password s3cret refused', nextDeliveryTime: T0 + 50 }),
    ]);
    expect(opened[0]?.record).not.toMatch(/s3cret|user|pw/);
  });

  test('is removed when the end comes in a later window', async () => {
    const stores = memoryStores();
    await aggregateAndCommit(stores, [entry(0, 'CREATED'), entry(1, 'ACTIVE')], T0 + 5);
    expect((await stores.log.memory(ACCOUNT)).open.size).toBe(1);
    await aggregateAndCommit(stores, [entry(9, 'DELIVERED')], T0 + 10);
    expect((await stores.log.memory(ACCOUNT)).open.size).toBe(0);
  });

  test('is kept until the next delivery is due', async () => {
    const due = T0 + 3 * ABANDON_AFTER_MS;
    const stores = memoryStores();
    await aggregateAndCommit(stores, [entry(0, 'CREATED', { nextDeliveryTime: due })], T0 + 5);
    expect(await stores.log.expired(ACCOUNT, due + ABANDON_AFTER_MS, 10)).toEqual([]);
    expect(
      (await stores.log.expired(ACCOUNT, due + ABANDON_AFTER_MS + 1, 10)).map(({ messageId }) => messageId),
    ).toEqual(['msg-1']);
  });
});

describe('messages of a canary', () => {
  const url = 'https://hooks.example.com/hooks/canary/production/';
  const ordinary = [entry(0, 'CREATED'), entry(10, 'ACTIVE'), entry(20, 'ERROR', { responseStatus: 500 })];
  const canary = (more: Partial<LogEntry>): StatedEntry[] => [
    entry(1, 'CREATED', { messageId: 'c', ...more }),
    entry(11, 'ACTIVE', { messageId: 'c', ...more }),
    entry(21, 'ERROR', { messageId: 'c', responseStatus: 503, ...more }),
    entry(22, 'FAILED', { messageId: 'c', ...more }),
  ];

  test.each([
    ['with its label', { labels: ['opsd-canary', 'opsd-canary-1'], url: `${url}home` }],
    ['without a label, a callback', { url: `${url}home/callback` }],
    ['of another daemon, a callback', { url: 'https://other.example/opsd/hooks/canary/eu/away/callback' }],
  ])('%s count by state only', async (_title, more) => {
    const dimension = { dimension: 'label' as const };
    const labeled = ordinary.map((one) => ({ ...one, labels: ['billing'] }));
    const alone = await aggregation(memoryStores(), labeled, dimension);
    const both = await aggregation(memoryStores(), [...labeled, ...canary(more)], dimension);
    const byState = ({ metric }: { readonly metric: string }) => metric === 'msgsvc_log_events_total';
    expect(both.increments.filter((one) => !byState(one))).toEqual(alone.increments.filter((one) => !byState(one)));
    expect(both.histograms).toEqual(alone.histograms);
    expect(both.attempts).toEqual(alone.attempts);
    expect(both.increments.filter(byState)).toEqual([
      { metric: 'msgsvc_log_events_total', labels: ['CREATED'], by: 2 },
      { metric: 'msgsvc_log_events_total', labels: ['ACTIVE'], by: 2 },
      { metric: 'msgsvc_log_events_total', labels: ['ERROR'], by: 2 },
      { metric: 'msgsvc_log_events_total', labels: ['FAILED'], by: 1 },
    ]);
    expect(both.hours.reduce((sum, { count }) => sum + count, 0)).toBe(7);
  });

  test('are never in flight', async () => {
    const more = { messageId: 'c', labels: ['opsd-canary'] };
    const { opened } = await aggregation(memoryStores(), [entry(1, 'CREATED', more)]);
    expect(opened).toHaveLength(1);
    expect(opened[0]).not.toHaveProperty('dueAt');
    expect(opened[0]).not.toHaveProperty('createdAt');
  });

  test.each(['build', 'build/', 'a/b/c', 'a/b/callback/more', 'a/b/callback?to=x'])(
    'to /hooks/canary/%s are ordinary messages',
    async (path) => {
      const other = `https://app.example.com/hooks/canary/${path}`;
      const { attempts } = await aggregation(memoryStores(), canary({ url: other }));
      expect(attempts).toMatchObject([{ host: 'app.example.com', failed: 1, lost: 1 }]);
    },
  );
});

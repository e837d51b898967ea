import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import type { StatedEntry } from '#observe/aggregation/log-entry.ts';
import { ABANDON_AFTER_MS, WindowAggregation, type LogAggregate, type LogWindow } from '#observe/aggregation/log.ts';
import { entriesByState, SUM_COLUMNS, type MinuteSum } from '#observe/aggregation/minute-sums.ts';
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

/** Entries of a message from texts: time, state, status if it has one, and `>` with the next delivery. */
function life(text: string, more: Partial<LogEntry> = {}): StatedEntry[] {
  return text.split(', ').map((step) => {
    const [time, state, ...rest] = step.split(' ');
    const next = rest.find((one) => one.startsWith('>'));
    const status = rest.find((one) => !one.startsWith('>'));
    return entry(Number(time), state as MessageState, {
      ...(status !== undefined && { responseStatus: Number(status) }),
      ...(next !== undefined && { nextDeliveryTime: T0 + Number(next.slice(1)) }),
      ...more,
    });
  });
}

/** Commits windows one after the other, and returns the stores. */
async function committed(...windows: readonly (readonly StatedEntry[])[]): Promise<MemoryStores> {
  const stores = memoryStores();
  for (const entries of windows) await aggregateAndCommit(stores, entries, end);
  return stores;
}

function counters(stores: MemoryStores): Record<string, number> {
  return countersOf(stores.counters(ACCOUNT));
}

/** Returns the sums of the history, as the counters and histograms have them. */
function countedSums(stores: MemoryStores): Record<string, number> {
  const counted = (metric: string): number =>
    stores.counters(ACCOUNT).reduce((sum, one) => (one.metric === metric ? sum + one.value : sum), 0);
  const buckets = (metric: string): number[] => {
    const all = stores.histograms(ACCOUNT).filter((one) => one.metric === metric);
    return Array.from({ length: 16 }, (_, index) => all.reduce((sum, one) => sum + (one.buckets[index] ?? 0), 0));
  };
  const error = counted('msgsvc_message_attempt_failures_total');
  const durations = buckets('msgsvc_message_delivery_duration_seconds').map((count, index) => [`d${index}`, count]);
  const canaries = ['created', 'delivered', 'error', 'cancelled'].map((state) => [`canary_${state}`, 0]);
  return {
    created: counted('msgsvc_messages_created_total'),
    delivered: counted('msgsvc_message_attempts_total') - error,
    error,
    cancelled: counted('msgsvc_message_cancellations_total'),
    failed: counted('msgsvc_message_failures_total'),
    retried: buckets('msgsvc_message_retry_delay_seconds').reduce((sum, count) => sum + count, 0),
    ...(Object.fromEntries([...durations, ...canaries]) as Record<string, number>),
  };
}

const openIn = async (stores: MemoryStores): Promise<number> => (await stores.log.memory(ACCOUNT)).open.size;

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
          for (const step of [60_000, 3_600_000]) expect(stores.sums(ACCOUNT, step)).toEqual(countedSums(stores));
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
      ...life(`1 CREATED, 2 ACTIVE, 3 ERROR 500 >${MINUTE}, 4 RETRY, ${MINUTE} DELIVERED 200`),
      ...life('5 DELIVERED', { messageId: 'msg-2', url: 'https://other.example:8443/?q' }),
      ...life('6 CANCELLED', { messageId: 'msg-3' }),
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
    expect(await attempts(life('1 FAILED'))).toEqual([failed]);
    expect(await attempts(life('2 FAILED, 1 ERROR'))).toEqual([failed]);
    const lost = [{ ...failed, failed: 0, failedFrom: Infinity, reasons: new Map() }];
    expect(await attempts(life('9 FAILED'), await committed(life('1 ERROR >5')))).toEqual(lost);
    const past = await committed(life('1 CREATED, 2 ACTIVE, 3 ERROR 500'));
    expect(await openIn(past)).toBe(0);
    expect(await attempts(life('9 FAILED'), past)).toEqual(lost);
  });

  const stamps = ['billing', 'opsd:here:lin-1:2'];

  test.each([
    ['1 CREATED, 2 ERROR', stamps, 'failed'],
    ['2 FAILED, 1 ERROR', stamps, 'failed'],
    ['2 ERROR >9', stamps, undefined],
    ['2 ERROR, 3 DELIVERED', stamps, 'delivered'],
    ['3 DELIVERED, 2 ERROR', stamps, 'delivered'],
    ['3 ERROR', ['billing'], undefined],
    // Where the service adds labels, the stamps of earlier resumes precede the newest.
    ['2 FAILED', ['opsd:here:lin-1:1', 'opsd:here:lin-1:2'], 'failed'],
  ])('a resume ends as a message with its stamp does: %s, %j', async (text, labels, ended) => {
    const { resumeEnds } = await aggregation(memoryStores(), life(text, { labels }));
    const resume = { instance: 'here', lineage: 'lin-1', attempt: 2, url: 'https://api.example.com/x', end: ended };
    expect(resumeEnds).toEqual(ended === undefined ? [] : [resume]);
  });

  test('a cancellation with a stamp ends no resume', async () => {
    const entries = [...life('2 CANCELLED', { labels: stamps }), ...life('3 ERROR', { labels: ['billing'] })];
    expect((await aggregation(memoryStores(), entries)).resumeEnds).toEqual([]);
  });

  test('entries that were counted are not counted again', async () => {
    const stores = await committed(life('1 CREATED, 2 DELIVERED'));
    expect(await attempts(life('2 DELIVERED'), stores)).toEqual([]);
  });
});

describe('the end of a message', () => {
  const failures = 'msgsvc_message_failures_total api.example.com http 500';
  const finished = 'msgsvc_messages_finished_total api.example.com';
  const canceling = '0 CREATED, 10 ACTIVE, 15 CANCEL_REQUESTED, 20 ERROR 500';

  test.each<[title: string, windows: readonly string[], failed: number, ended: number]>([
    ['is an ERROR without a next delivery', ['10 ERROR 500'], 1, 1],
    ['is not an ERROR with one', ['10 ERROR 500 >99'], 0, 0],
    ['is not an ERROR with a RETRY', ['10 ERROR 500, 10 RETRY'], 0, 0],
    ['is not an ERROR after which the message continued', ['10 ERROR 500, 15 ACTIVE'], 0, 0],
    ['is one when ERROR and FAILED both report it, in one window', ['10 ERROR 500, 12 FAILED 500'], 1, 1],
    ['is one when ERROR and FAILED report it in two windows', ['10 ERROR 500', '12 FAILED 500'], 1, 1],
    ['is one when FAILED and ERROR report it in two windows', ['12 FAILED 500', '10 ERROR 500'], 1, 1],
    ['has the reason of the last ERROR in a FAILED without status', ['10 ERROR 500 >99', '30 FAILED'], 1, 1],
    ['is a cancellation during an attempt, in one window', [`${canceling}, 20 CANCELLED`], 0, 1],
    ['is a cancellation during an attempt, in two windows', [canceling, '20 CANCELLED'], 0, 1],
  ])('%s', async (_title, windows, failed, ended) => {
    const counted = counters(await committed(...windows.map((text) => life(text))));
    const told = (state: string): number => (windows.join(', ').includes(` ${state}`) ? 1 : 0);
    expect([counted[failures] ?? 0, counted[finished] ?? 0]).toEqual([failed, ended]);
    expect(counted['msgsvc_log_events_total FAILED'] ?? 0).toBe(told('FAILED'));
    expect(counted['msgsvc_message_cancellations_total api.example.com'] ?? 0).toBe(told('CANCELLED'));
  });
});

test('an attempt that begins in the millisecond of the previous failure is another one', async () => {
  const stores = await committed(life('0 CREATED, 10 ACTIVE, 20 ERROR 503 >20, 20 ACTIVE, 25 DELIVERED'));
  const attempts = stores.histograms(ACCOUNT).find(({ metric }) => metric.includes('attempt_duration'))!;
  expect([attempts.buckets[0], attempts.sum]).toEqual([2, 0.015]);
});

describe('labels', () => {
  test('a destination beyond the limit is aggregated', async () => {
    const { increments } = await aggregation(
      memoryStores(),
      [...life('1 CREATED'), ...life('1 CREATED', { messageId: 'msg-2', url: 'https://b.example.com' })],
      { admit: (_label, value) => (value === 'b.example.com' ? 'other' : value) },
    );
    const created = increments.filter(({ metric }) => metric === 'msgsvc_messages_created_total');
    expect(created.map(({ labels, by }) => [...labels, by])).toEqual([
      ['api.example.com', 1],
      ['other', 1],
    ]);
  });

  test('an entry without a destination has that of its message; a message that never names one is unknown', async () => {
    const known = await committed(life('1 CREATED'), life('10 DELIVERED 200', { url: undefined }));
    expect(counters(known)['msgsvc_messages_finished_total api.example.com']).toBe(1);
    const unknown = await committed(life('1 CREATED', { url: 'not a url' }));
    expect(counters(unknown)['msgsvc_messages_created_total unknown']).toBe(1);
  });
});

describe('repetitions', () => {
  const repeated = (stores: MemoryStores): number | undefined =>
    stores.counters(ACCOUNT).find(({ metric }) => metric === 'opsd_log_duplicate_entries_total')?.value;

  test('within a window, and of another window, are counted as such', async () => {
    const stores = await committed(life('1 CREATED, 1 CREATED'));
    expect(repeated(stores)).toBe(1);
    await aggregateAndCommit(stores, life('1 CREATED'), T0 + 9);
    expect(repeated(stores)).toBe(2);
  });

  test('at the border of two windows are not new', async () => {
    const stores = await committed(life('5 CREATED'));
    await aggregateAndCommit(stores, life('5 CREATED'), T0 + 9, { from: T0 + 5 });
    expect(repeated(stores)).toBeUndefined();
    expect(counters(stores)['msgsvc_log_events_total CREATED']).toBe(1);
  });

  test('entries that differ in endpoint, status, state or time are not duplicates', async () => {
    const different = [
      ...life('1 CREATED', { url: undefined, endpointName: 'a' }),
      ...life('1 CREATED', { url: undefined, endpointName: 'b' }),
      ...life('1 CREATED, 2 CREATED, 2 ACTIVE, 3 ERROR 500 >9, 3 ERROR 502 >9'),
    ];
    expect((await aggregation(memoryStores(), different)).seen.size).toBe(different.length);
  });
});

describe('entries that appear later than their successors', () => {
  const begun =
    '0 CREATED, 10 ACTIVE, 30 ERROR 503 >1000, 30 RETRY >1000, 1007 ACTIVE, 1300 ERROR 503 >70000, 1300 RETRY >70000, 70001 ACTIVE';
  const failure = '70500 ERROR 503, 70500 FAILED 503';
  const pairs = (of: readonly StatedEntry[]): number[][] => of.flatMap((_a, at) => of.map((_b, other) => [at, other]));

  test.each([
    ['delivered', `${begun}, 70500 DELIVERED 200`],
    ['failed', `${begun}, ${failure}`],
    ['failed at once', `0 CREATED, 10 ACTIVE, ${failure}`],
    ['cancelled', `${begun.split(', ').slice(0, 4).join(', ')}, 500 CANCEL_REQUESTED, 500 CANCELLED`],
  ])('do not change the measurements of a message that is %s, whichever two they are', async (_end, text) => {
    const all = life(text);
    const atOnce = await committed(all);
    for (const late of pairs(all)) {
      const stores = await committed(all.filter((_, at) => !late.includes(at)));
      for (const at of late) await aggregateAndCommit(stores, [all[at]!], end, { isSweep: true });
      const doubts = stores.counters(ACCOUNT).filter(({ metric }) => /unjoined|revised/.test(metric));
      expect([late, doubts]).toEqual([late, []]);
      expect([late, measuredIn(stores)]).toEqual([late, measuredIn(atOnce)]);
    }
  });

  test('are not waited for where a RETRY is reported before its ERROR', async () => {
    const skewed = '0 CREATED, 10 ACTIVE, 29 RETRY >1000, 30 ERROR 503 >1000, 1007 ACTIVE, 1100 DELIVERED 200';
    const stores = await committed(life(skewed));
    expect(measuredIn(stores)['msgsvc_message_delivery_attempts']!.slice(0, 3)).toEqual([2_000, 0, 1]);
    expect(await openIn(stores)).toBe(0);
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
  const told = async (text: string, more: Partial<LogEntry> = {}) =>
    (await aggregateAndCommit(memoryStores(), [created, ...life(text, more)], end))[0]!;
  const first = { dueAt: T0, startedAt: T0 + 10, endedAt: T0 + 20 };
  const refused = { ...first, responseStatus: 503, failure: 'http' } as const;

  test('has the attempts of a delivered message', async () => {
    expect(await told('10 ACTIVE, 20 ERROR 503 >40, 21 RETRY, 40 ACTIVE, 55 DELIVERED 200')).toEqual({
      account: ACCOUNT,
      messageId: 'msg-1',
      createdAt: T0,
      dueAt: T0,
      end: { at: T0 + 55, outcome: 'delivered' },
      url: 'https://api.example.com/x?id=1&token=REDACTED',
      method: 'POST',
      traceparent: '00-abc',
      attempts: [refused, { dueAt: T0 + 40, startedAt: T0 + 40, endedAt: T0 + 55, responseStatus: 200 }],
      news: { created: true, attempts: [0, 1], outcomes: [0, 1], ended: true },
    });
  });

  test('the reason of a delay is remembered until the wait ends', async () => {
    const stores = await committed(life('0 CREATED >30', { postponedBy: 'not_before' }));
    const later = (await aggregation(stores, life('31 ACTIVE, 35 DELIVERED'))).progress();
    expect(later).toMatchObject([{ postponedBy: 'not_before', dueAt: T0 + 30 }]);
  });

  test('has the failure that ended it, whether FAILED comes in the same window or not', async () => {
    const error = { error: 'ECONNRESET' };
    const one = await told('10 ACTIVE, 20 ERROR, 21 FAILED', error);
    const stores = memoryStores();
    const two = [
      ...(await aggregateAndCommit(stores, [created, ...life('10 ACTIVE, 20 ERROR', error)], T0 + 20)),
      ...(await aggregateAndCommit(stores, life('21 FAILED', error), T0 + 30)),
    ];
    expect(two).toEqual([one]);
    expect(one.end).toEqual({ at: T0 + 20, outcome: 'failed' });
    expect(one.attempts).toEqual([{ ...first, failure: 'connection' }]);
  });

  test.each<[title: string, text: string, outcome: string, at: number, attempts: readonly object[]]>([
    [
      'a FAILED without a preceding ERROR is an attempt',
      '10 ACTIVE, 20 FAILED 489',
      'failed',
      20,
      [{ ...refused, responseStatus: 489 }],
    ],
    [
      'an attempt without a known start does not use that of the previous one',
      '10 ACTIVE, 20 ERROR 503 >40, 45 DELIVERED 200',
      'delivered',
      45,
      [refused, { dueAt: T0 + 40, endedAt: T0 + 45, responseStatus: 200 }],
    ],
    [
      'a FAILED after the ERROR of the attempt is not another attempt',
      '10 ACTIVE, 20 ERROR 503 >40, 30 FAILED 503',
      'failed',
      30,
      [refused],
    ],
    ['a canceled message may have no attempts', '5 CANCEL_REQUESTED, 6 CANCELLED', 'cancelled', 6, []],
  ])('%s', async (_title, text, outcome, at, attempts) => {
    expect(await told(text)).toMatchObject({ end: { at: T0 + at, outcome }, attempts });
    expect((await told(text)).attempts).toEqual(attempts);
  });

  test('has no start if the creation was not seen', async () => {
    const [only] = await aggregateAndCommit(memoryStores(), life('5 DELIVERED'), T0 + 30);
    expect(only).toMatchObject({ end: { at: T0 + 5, outcome: 'delivered' } });
    expect(only).not.toHaveProperty('createdAt');
    expect(only).not.toHaveProperty('dueAt');
  });
});

describe('progress', () => {
  const stepsOf = (stores: MemoryStores) => async (text: string) => {
    const [progress] = (await aggregation(stores, life(text))).progress();
    await aggregateAndCommit(stores, life(text), T0 + 99);
    return progress;
  };

  test('reports the new facts with each commit', async () => {
    const step = stepsOf(memoryStores());
    expect(await step('0 CREATED >5, 6 ACTIVE')).toEqual({
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
    expect(await step('9 ERROR 503 >40')).toMatchObject({
      attempts: [failed],
      news: { created: false, attempts: [0], outcomes: [0], ended: false },
    });
    expect(await step('41 ACTIVE, 44 DELIVERED 200')).toMatchObject({
      attempts: [failed, { dueAt: T0 + 40, startedAt: T0 + 41, endedAt: T0 + 44, responseStatus: 200 }],
      end: { at: T0 + 44, outcome: 'delivered' },
      news: { created: false, attempts: [1], outcomes: [1], ended: true },
    });
  });

  test('separates a late start from a new outcome, and marks past facts as past', async () => {
    const step = stepsOf(memoryStores());
    await step('0 CREATED, 9 DELIVERED');
    expect((await step('5 ACTIVE'))?.news).toMatchObject({ attempts: [0], outcomes: [], ended: false });
    expect((await step('10 FAILED'))?.news).toMatchObject({ isPast: true });
  });
});

test('fresh entries are counted by the hour of their time and by state', async () => {
  const hour = 3_600_000;
  const entries = [
    ...life(`0 CREATED, ${hour} ACTIVE, ${hour + 1} DELIVERED`),
    ...life(`${hour - 1} CREATED`, { messageId: 'msg-2' }),
  ];
  const stores = await committed([...entries, entries[0]!], entries);
  const hours = await stores.log.hourCounts(ACCOUNT);
  expect([...hours.get(T0)!]).toEqual([['CREATED', 2]]);
  expect(Object.fromEntries(hours.get(T0 + hour)!)).toEqual({ DELIVERED: 1 });
});

describe('the record of an open message', () => {
  test('holds no secret and no error text', async () => {
    const { opened } = await aggregation(memoryStores(), [
      ...life('0 CREATED', { url: 'https://user:pw@api.example.com/x?api_key=s3cret' }),
      ...life('9 ERROR >50', { error: 'password s3cret refused' }),
    ]);
    expect(opened[0]?.record).not.toMatch(/s3cret|user|pw/);
  });

  test('is removed when the end comes in a later window', async () => {
    expect(await openIn(await committed(life('0 CREATED, 1 ACTIVE')))).toBe(1);
    expect(await openIn(await committed(life('0 CREATED, 1 ACTIVE'), life('9 DELIVERED')))).toBe(0);
  });

  test('is kept until the next delivery is due', async () => {
    const due = T0 + 3 * ABANDON_AFTER_MS;
    const { log } = await committed(life(`0 CREATED >${3 * ABANDON_AFTER_MS}`));
    expect(await log.expired(ACCOUNT, due + ABANDON_AFTER_MS, 10)).toEqual([]);
    expect(await log.expired(ACCOUNT, due + ABANDON_AFTER_MS + 1, 10)).toMatchObject([{ messageId: 'msg-1' }]);
  });
});

describe('messages of a canary', () => {
  const url = 'https://hooks.example.com/hooks/canary/production/';
  const canary = (more: Partial<LogEntry>): StatedEntry[] =>
    life('1 CREATED, 11 ACTIVE, 21 ERROR 503, 22 FAILED', { messageId: 'c', ...more });

  test.each([
    ['with its label', { labels: ['opsd-canary', 'opsd-canary-1'], url: `${url}home` }],
    ['without a label, a callback', { url: `${url}home/callback` }],
    ['of another daemon, a callback', { url: 'https://other.example/opsd/hooks/canary/eu/away/callback' }],
  ])('%s count by state only', async (_title, more) => {
    const dimension = { dimension: 'label' as const };
    const labeled = life('0 CREATED, 10 ACTIVE, 20 ERROR 500', { labels: ['billing'] });
    const alone = await aggregation(memoryStores(), labeled, dimension);
    const both = await aggregation(memoryStores(), [...labeled, ...canary(more)], dimension);
    const byState = ({ metric }: { readonly metric: string }) => metric === 'msgsvc_log_events_total';
    expect(both.increments.filter((one) => !byState(one))).toEqual(alone.increments.filter((one) => !byState(one)));
    expect(both.histograms).toEqual(alone.histograms);
    expect(both.attempts).toEqual(alone.attempts);
    const states = both.increments.filter(byState).map(({ labels, by }) => [...labels, by].join(' '));
    expect(states).toEqual(['CREATED 2', 'ACTIVE 2', 'ERROR 2', 'FAILED 1']);
    // The comparison with the statistics has the canary, and the charts have not.
    const entries = both.minutes.map(({ values }) => Object.fromEntries(entriesByState(values)));
    expect(entries).toEqual([{ CREATED: 2, ERROR: 2 }]);
    const own = ({ values }: MinuteSum) => values.slice(0, SUM_COLUMNS.indexOf('canary_created'));
    expect(both.minutes.map(own)).toEqual(alone.minutes.map(own));
  });

  test('are never in flight', async () => {
    const more = { messageId: 'c', labels: ['opsd-canary'] };
    const { opened } = await aggregation(memoryStores(), life('1 CREATED', more));
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

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { logs } from '#observe/collectors/logs.ts';
import { WindowAggregation } from '#observe/aggregation/log.ts';
import { endsOf, hasEnded, histories, truthOf, type HistoryEntry } from '../../support/log-history.ts';
import { memoryStores, type MemoryStores } from '../../support/memory-aggregation-stores.ts';
import { ACCOUNT, context } from './fake-context.ts';
import { clientOf, FakeServiceError } from './fake-service.ts';
import { begun, entry, LAG, SECOND, T0, world } from './log-world.ts';

describe('the first run', () => {
  test('counts no earlier entries', async () => {
    const w = world();
    w.log.entries.push(entry(-3_600_000), entry(-20_000));
    expect(await w.run()).toEqual({ watermark: T0 - LAG });
    await w.after(60 * SECOND);
    expect(w.counters()).toEqual({});
  });

  test('initializes the totals at 0', async () => {
    const w = await begun();
    const zero = w.stores.counters(ACCOUNT).map(({ metric, labels, value }) => [metric, ...labels, value].join(' '));
    expect(zero).toContain('msgsvc_log_events_total DELIVERED 0');
    expect(zero).toContain('opsd_log_pages_total 0');
    expect(zero).toContain('opsd_log_windows_halved_total 0');
    expect(zero).toContain('opsd_log_duplicate_entries_total 0');
  });
});

describe('each further run', () => {
  test('reads from the watermark to the lag, both included', async () => {
    const w = await begun();
    await w.clock.advance(30 * SECOND);
    w.log.entries.push(entry(-15_000), entry(15_000), entry(15_001), entry(14_999));
    expect(await w.run()).toMatchObject({ watermark: T0 + 15_000 });
    expect(w.log.queries.at(-1)).toMatchObject({ fromDate: T0 - LAG, toDate: T0 + 15_000, count: 100 });
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(3);
    await w.after(30 * SECOND);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(4);
  });

  test('reports the attempts that ended, and the start of the observation', async () => {
    const w = await begun();
    await w.clock.advance(30 * SECOND);
    w.log.entries.push(entry(10_000, { state: 'DELIVERED' }), entry(11_000, { state: 'ERROR' }));
    await w.run();
    const attempts = [
      {
        host: 'a.example',
        minute: T0,
        delivered: 1,
        failed: 1,
        failedFrom: T0 + 11_000,
        lost: 0,
        reasons: new Map([['no_response', 1]]),
      },
    ];
    const failures = [entry(11_000, { state: 'ERROR' })];
    expect(w.reads).toEqual([{ from: T0 - LAG, watermark: T0 + 15_000, attempts, resumeEnds: [], failures }]);
  });

  test('with a sweep for late entries reports them as watched since the watermark, not since the sweep', async () => {
    const w = await begun();
    for (let minute = 1; minute <= 6; minute += 1) {
      await w.clock.advance(60 * SECOND);
      if (minute === 5) w.log.entries.push(entry(30_000, { state: 'DELIVERED' }));
      await w.run();
    }
    const [sweep] = w.reads.filter(({ attempts }) => attempts.length > 0);
    expect(sweep?.attempts).toMatchObject([{ host: 'a.example', minute: T0, delivered: 1, failed: 0 }]);
    expect(sweep?.from).toBe(sweep?.watermark);
    for (const [at, { from }] of w.reads.entries()) expect(from).toBe(w.reads[at - 1]?.watermark ?? T0 - LAG);
  });

  test('continues after a restart', async () => {
    const w = await begun();
    w.log.entries.push(entry(1_000), entry(4_000_000));
    await w.after(30 * SECOND);
    w.restart();
    await w.after(4_100 * SECOND);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(2);
  });

  test('that fails changes nothing', async () => {
    const w = await begun({ pageSize: 1 });
    w.log.entries.push(entry(1_000), entry(2_000));
    await w.clock.advance(30 * SECOND);
    w.log.beforeAnswer = () => {
      throw new FakeServiceError('server_error');
    };
    await expect(w.run()).rejects.toMatchObject({ code: 'server_error' });
    expect(w.counters()).toEqual({});
    expect((await w.stores.log.loadLogState(ACCOUNT)).watermark).toBe(T0 - LAG);
    w.log.beforeAnswer = () => undefined;
    await w.run();
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(2);
  });

  test('a repeated cursor is an error, and nothing is counted', async () => {
    const w = await begun({ pageSize: 1 });
    await w.clock.advance(30 * SECOND);
    const loop = { value: [entry(1_000)], dropped: 0, cursor: 'again' };
    const listLogs = (): Promise<typeof loop> => Promise.resolve(loop);
    const { client } = w.log;
    const looping = { ...client, message: { ...client.message!, listLogs } };
    const at = context<'logs'>({ clock: w.clock, stores: w.stores });
    await expect(logs.collect(looping, at)).rejects.toMatchObject({ code: 'cursor_loop' });
    expect(w.counters()).toEqual({});
  });

  test('reports an end with the commit that counts it', async () => {
    const w = await begun();
    w.log.entries.push(
      entry(1_000, { messageId: 'm' }),
      entry(2_000, { messageId: 'm', state: 'DELIVERED', responseStatus: 200 }),
    );
    await w.clock.advance(30 * SECOND);
    const failing = w.failCommits();
    await expect(w.run()).rejects.toThrow('disk full');
    expect(w.ends()).toEqual([]);
    failing.mockRestore();
    await w.run();
    expect(w.ends()).toEqual([{ id: 'm', outcome: 'delivered' }]);
  });

  test('removes expired keys and open messages', async () => {
    const w = await begun({ skew: 0 });
    w.log.entries.push(entry(1_000), entry(86_400_000));
    await w.after(30 * SECOND);
    expect(await w.sizes()).toEqual({ seen: 1, open: 1 });
    await w.after(86_400_000 + 60 * SECOND);
    expect(await w.sizes()).toEqual({ seen: 1, open: 1 });
    await w.after(86_400_000 + 60 * SECOND);
    expect(await w.sizes()).toEqual({ seen: 0, open: 0 });
  });
});

describe('clocks that disagree', () => {
  test.each([
    ['behind', -120_000],
    ['ahead', 120_000],
  ])('the service’s is %s: no entry is lost', async (_how, skew) => {
    const w = await begun({ skew });
    for (let n = 0; n < 40; n += 1) {
      // An entry is written now, by the service's clock.
      w.log.entries.push(entry(w.clock.now() + skew - T0));
      await w.clock.advance(7 * SECOND);
      if (n % 3 === 0) await w.run();
    }
    await w.after(300 * SECOND);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(40);
  });

  test('a local clock that is ahead does not put the watermark ahead', async () => {
    const w = await begun({ skew: -3_600_000 });
    expect((await w.stores.log.loadLogState(ACCOUNT)).watermark).toBe(T0 - 3_600_000 - LAG);
  });
});

test('a local clock that was ahead for a while does not stop the search for late entries', async () => {
  const day = 86_400_000;
  let ahead = 0;
  const w = world({ skew: () => -ahead, lateBy: () => 120 * SECOND });
  const jump = (ms: number): void => {
    ahead += ms;
    w.clock.jump(ms);
  };
  await w.run();
  jump(day);
  await w.after(360 * SECOND);
  jump(-day);
  w.log.entries.push(entry(400 * SECOND));
  for (let n = 0; n < 30; n += 1) {
    await w.after(30 * SECOND);
  }
  expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(1);
  expect(w.own('opsd_log_late_entries_total')).toBe(1);
});

describe('more than a run can read', () => {
  test('the window is halved until it fits: late, and nothing lost', async () => {
    const w = await begun({ pageSize: 10, pageBudget: 4 });
    for (let n = 0; n < 1_000; n += 1) w.log.entries.push(entry(n * 50));
    await w.clock.advance(70 * SECOND);
    const runs = await w.runUntil(T0 + 50_000);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(1_000);
    expect(w.own('opsd_log_windows_halved_total')).toBeGreaterThan(1);
    expect(runs).toBeLessThan(100);
  });

  test('no run exceeds its pages, and all read entries are counted', async () => {
    const w = await begun({ pageSize: 10, pageBudget: 4 });
    for (let n = 0; n < 300; n += 1) w.log.entries.push(entry(n * 50));
    await w.clock.advance(70 * SECOND);
    let before = w.log.queries.length;
    for (let n = 0; n < 30; n += 1) {
      await w.run();
      expect(w.log.queries.length - before).toBeLessThanOrEqual(4);
      before = w.log.queries.length;
      await w.clock.advance(SECOND);
    }
    // The first run sent one request to learn the service's time. This request is not a page.
    expect(w.own('opsd_log_pages_total')).toBe(w.log.queries.length - 1);
  });

  test('a time with too many entries is an error that names the remedy', async () => {
    const w = await begun({ pageSize: 1, pageBudget: 3 });
    for (let n = 0; n < 9; n += 1) w.log.entries.push(entry(1_000, { messageId: `m-${n}` }));
    await w.clock.advance(30 * SECOND);
    await expect(w.runUntil(T0 + 2_000)).rejects.toThrow(/raise collectors\.logs\.pageBudget/);
  });
});

describe('entries without a state', () => {
  test('get it from the filters, and entries that no filter returns have failed', async () => {
    const w = await begun({ withState: false });
    w.log.entries.push(
      entry(1_000, { messageId: 'm' }),
      entry(2_000, { messageId: 'm', state: 'ACTIVE' }),
      entry(3_000, { messageId: 'm', state: 'FAILED', responseStatus: 500 }),
    );
    await w.after(30 * SECOND);
    expect(w.counters()).toMatchObject({
      'msgsvc_log_events_total CREATED': 1,
      'msgsvc_log_events_total ACTIVE': 1,
      'msgsvc_log_events_total FAILED': 1,
      'msgsvc_message_failures_total a.example http 500': 1,
    });
    const asked = w.log.queries.map(({ state }) => state);
    expect(asked).not.toContain('IN_PROGRESS');
    expect(asked).not.toContain('FAILED');
  });

  test('cost no passes while there are none', async () => {
    const w = await begun({ withState: false });
    await w.after(30 * SECOND);
    expect(w.log.queries).toHaveLength(2);
  });
});

describe('late entries', () => {
  test('are found by a sweep every five minutes, and counted as late', async () => {
    const w = await begun({ lateBy: ({ messageId }) => (messageId === 'late' ? 120 * SECOND : 0) });
    w.log.entries.push(entry(1_000), entry(2_000, { messageId: 'late' }));
    await w.after(60 * SECOND);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(1);
    await w.after(240 * SECOND);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(2);
    expect(w.own('opsd_log_late_entries_total')).toBe(1);
    expect(w.own('opsd_log_duplicate_entries_total')).toBe(0);
    const asked = w.log.queries.length;
    await w.after(30 * SECOND);
    expect(w.log.queries.length).toBe(asked + 1);
  });

  test('a sweep reads nothing from before the start of counting, and a restart does not delay it', async () => {
    const w = world();
    w.log.entries.push(entry(-60_000));
    await w.run();
    await w.after(200 * SECOND);
    w.restart();
    await w.after(101 * SECOND);
    expect(w.log.queries.at(-2)).toMatchObject({ fromDate: T0 - LAG, toDate: T0 + 200 * SECOND - LAG });
    expect(w.counters()).toEqual({});
  });

  test.each([
    ['fifteen minutes, as it is', undefined, 15 * 60],
    ['as the configuration says', { every: '40s', reach: '100s' }, 100],
  ])('are found by any sequence of sweeps, when they are late by at most %s', async (_what, sweep, lateSeconds) => {
    const w = await begun({ ...(sweep && { sweep }), lateBy: () => lateSeconds * SECOND });
    for (let n = 0; n < 100; n += 1) w.log.entries.push(entry(n * 7_000));
    for (let n = 0; n < 90; n += 1) {
      await w.after(30 * SECOND);
    }
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(100);
    expect(w.own('opsd_log_late_entries_total')).toBe(100);
    expect(w.own('opsd_log_duplicate_entries_total')).toBe(0);
  });

  test('are found by a sweep that is pending when catch-up has passed the range of recognized entries', async () => {
    const timeOf = (n: number): number => Math.round((n * n) / 4);
    const late = new Set([570, 585, 599].map((n) => `msg-${timeOf(n)}`));
    const w = await begun({
      pageSize: 10,
      pageBudget: 12,
      lateBy: ({ messageId, state }) => (late.has(messageId) || state === 'ERROR' ? 90_000 : 0),
    });
    // The density decreases, so that a run sweeps more than one window and the later hours are nearly empty.
    for (let n = 1; n <= 600; n += 1) w.log.entries.push(entry(timeOf(n)));
    for (let n = 0; n < 30; n += 1) w.log.entries.push(entry(6_000_000 + n * 300_000));
    // Its last entry appears before the previous one.
    for (const state of ['CREATED', 'ACTIVE', 'ERROR', 'FAILED'] as const) {
      w.log.entries.push(entry(timeOf(599), { messageId: 'failed', state }));
    }
    while (w.clock.now() < T0 + 90_000 + LAG) await w.clock.advance(SECOND);
    await w.runUntil(T0 + 90_000);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(598);
    // An outage of hours: the sweep precedes new entries and takes more than one run.
    await w.clock.advance(15_000 * SECOND);
    let ahead = 0;
    const sweepAt = async (): Promise<number | undefined> => (await w.stores.log.loadLogState(ACCOUNT)).sweep?.at;
    for (let row = await w.run(); (await sweepAt()) !== undefined; row = await w.run()) {
      ahead = Math.max(ahead, row.watermark - (await sweepAt())!);
      await w.clock.advance(SECOND);
    }
    await w.runUntil(T0 + 15_000_000);
    expect(ahead).toBeGreaterThan(3_600_000);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(631);
    expect(w.counters()['msgsvc_messages_finished_total a.example']).toBe(1);
    expect(w.own('opsd_log_late_entries_total')).toBe(4);
    expect(w.own('opsd_log_duplicate_entries_total')).toBe(0);
  });

  test('are found if they arrived in an outage that interrupted a sweep', async () => {
    const isLate = ({ messageId }: { readonly messageId: string }): boolean => messageId === 'late';
    const w = await begun({ pageSize: 10, lateBy: (row) => (isLate(row) ? 900 * SECOND : 0) });
    for (let n = 0; n < 600; n += 1) w.log.entries.push(entry(n * 500));
    for (let n = 0; n < 50; n += 1) w.log.entries.push(entry(300_000 + n * 40_000));
    w.log.entries.push(entry(100_250, { messageId: 'late' }));
    for (let n = 0; n < 9; n += 1) await w.after(30 * SECOND);
    w.log.beforeAnswer = ({ fromDate = 0 }) => {
      if (fromDate > T0 + 150_000) throw new FakeServiceError('server_error');
    };
    const state = () => w.stores.log.loadLogState(ACCOUNT);
    await w.after(30 * SECOND).catch(() => undefined);
    expect((await state()).sweep!.at).toBeGreaterThan(T0 + 101_000);
    w.log.beforeAnswer = () => undefined;
    // One run after the outage moves the watermark far beyond what it recognized before.
    await w.clock.advance(2_000 * SECOND);
    for (let n = 0; n < 4; n += 1) await w.after(30 * SECOND);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(651);
    expect(w.own('opsd_log_duplicate_entries_total')).toBe(0);
  });

  test('a sweep of more pages than remain continues in the next run', async () => {
    const w = await begun({
      pageSize: 10,
      pageBudget: 12,
      lateBy: ({ messageId }) => (messageId === 'late' ? 90 * SECOND : 0),
    });
    for (let n = 0; n < 600; n += 1) {
      w.log.entries.push(entry(n * 500, { messageId: n % 50 === 7 ? 'late' : `m-${n}` }));
    }
    for (let n = 0; n < 320; n += 1) {
      await w.after(3 * SECOND);
    }
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(600);
    expect(w.own('opsd_log_late_entries_total')).toBe(12);
    expect(w.own('opsd_log_duplicate_entries_total')).toBe(0);
  });

  test('a delivery whose creation never appears is counted, and then removed', async () => {
    const w = await begun({ skew: 0 });
    w.log.entries.push(
      entry(2_000, { messageId: 'm', state: 'ACTIVE' }),
      entry(3_000, { messageId: 'm', state: 'DELIVERED' }),
    );
    await w.after(60 * SECOND);
    expect(w.own('opsd_log_unjoined_deliveries_total')).toBe(0);
    expect((await w.sizes()).open).toBe(1);
    await w.after(1_300 * SECOND);
    expect(w.own('opsd_log_unjoined_deliveries_total')).toBe(1);
    expect(w.own('opsd_messages_abandoned_total')).toBe(0);
    expect((await w.sizes()).open).toBe(0);
  });
});

describe('the entry mode of the log', () => {
  const life = [
    entry(1_000, { messageId: 'm' }),
    entry(2_000, { messageId: 'm', state: 'ACTIVE' }),
    entry(3_000, { messageId: 'm', state: 'DELIVERED', responseStatus: 200 }),
  ];

  test.each([true, false])(
    'is learned from a delivered message: transitions (state in entries: %s)',
    async (withState) => {
      const w = await begun({ withState });
      w.log.entries.push(...life);
      expect(await w.after(30 * SECOND)).toMatchObject({ entryMode: 'transitions', inFlight: [] });
      expect(w.counts()).toMatchObject({
        'msgsvc_message_delivery_duration_seconds a.example': 1,
        'msgsvc_message_attempt_duration_seconds a.example': 1,
        'msgsvc_message_queue_wait_seconds a.example': 1,
      });
      const asked = w.log.queries.length;
      w.restart();
      expect(await w.after(30 * SECOND)).toMatchObject({ entryMode: 'transitions' });
      expect(w.log.queries.length).toBe(asked + 1);
    },
  );

  test.each([true, false])('or snapshots: durations are withheld, ends are counted once (%s)', async (withState) => {
    const w = await begun({ withState, presentOnly: true });
    w.log.entries.push(...life, entry(70_000, { messageId: 'n' }), entry(75_000, { messageId: 'n', state: 'ACTIVE' }));
    expect(await w.after(30 * SECOND)).not.toHaveProperty('inFlight');
    await w.clock.advance(60 * SECOND);
    w.log.entries.push(entry(92_000, { messageId: 'n', state: 'DELIVERED', responseStatus: 200 }));
    await w.run();
    expect(await w.after(60 * SECOND)).toMatchObject({ entryMode: 'snapshot' });
    expect(w.counts()).toEqual({});
    expect(w.counters()).toMatchObject({
      'msgsvc_log_events_total DELIVERED': 2,
      'msgsvc_messages_finished_total a.example': 2,
      'msgsvc_message_attempts_total a.example': 2,
    });
    expect(w.own('opsd_log_unjoined_deliveries_total')).toBe(0);
    expect((await w.sizes()).open).toBe(0);
  });
});

test('an entry that is listed twice does not count as two states of a message', async () => {
  const w = world({ presentOnly: true });
  const once = w.log.client.message!;
  w.through(
    clientOf({
      message: {
        listLogs: async (...asked) => {
          const page = await once.listLogs(...asked);
          return { ...page, value: page.value.flatMap((row) => [row, row]) };
        },
      },
    }),
  );
  await w.run();
  w.log.entries.push(entry(1_000, { state: 'DELIVERED', responseStatus: 200 }));
  expect(await w.after(30 * SECOND)).toMatchObject({ entryMode: 'snapshot' });
});

describe('messages in flight', () => {
  test('are reported by destination, with the due time of the oldest', async () => {
    const w = await begun();
    w.log.entries.push(
      entry(1_000),
      entry(2_000),
      entry(3_000, { url: 'https://b.example/x', nextDeliveryTime: T0 + 3_600_000 }),
      entry(4_000, { messageId: 'r' }),
      entry(5_000, { messageId: 'r', state: 'ACTIVE' }),
      entry(6_000, { messageId: 'r', state: 'ERROR', responseStatus: 500, nextDeliveryTime: T0 + 8_000 }),
      entry(9_000, { messageId: 'd' }),
      entry(9_500, { messageId: 'd', state: 'DELIVERED' }),
    );
    const { inFlight } = await w.after(30 * SECOND);
    expect(inFlight).toEqual([
      { destination: 'a.example', messages: 3, oldestDueAt: T0 + 1_000 },
      { destination: 'b.example', messages: 1 },
    ]);
  });
});

describe('catching up', () => {
  test('reads windows of different times concurrently, each entry once', async () => {
    const w = await begun({ pageSize: 10, pageBudget: 60 });
    for (let n = 0; n < 4_000; n += 1) w.log.entries.push(entry(n * 250));
    await w.clock.advance(1_100 * SECOND);
    let underWay = 0;
    let most = 0;
    const { client } = w.log;
    const message = client.message!;
    w.through({
      ...client,
      message: {
        ...message,
        listLogs: async (query, call) => {
          most = Math.max(most, ++underWay);
          try {
            return await message.listLogs(query, call);
          } finally {
            underWay -= 1;
          }
        },
      },
    });
    await w.runUntil(T0 + 1_000_000);
    expect(most).toBe(4);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(4_000);
    expect(w.own('opsd_log_duplicate_entries_total')).toBe(0);
  });
});

describe('an additional dimension', () => {
  test.each([
    ['queueName', { 'queueName jobs CREATED': 2 }],
    ['label', { 'label blue CREATED': 2, 'label red CREATED': 1 }],
  ])('%s is counted when the configuration names it', async (dimension, expected) => {
    const w = await begun({ dimension });
    w.log.entries.push(
      entry(1_000, { queueName: 'jobs', labels: ['blue', 'red'] }),
      entry(2_000, { queueName: 'jobs', labels: ['blue'] }),
      entry(3_000),
    );
    await w.after(30 * SECOND);
    const counted = Object.entries(w.counters()).filter(([name]) =>
      name.startsWith('msgsvc_log_events_by_dimension_total '),
    );
    expect(Object.fromEntries(counted.map(([name, value]) => [name.split(' ').slice(1).join(' '), value]))).toEqual(
      expected,
    );
  });
});

describe('in any sequence of events', () => {
  const course = fc.record({
    pageSize: fc.integer({ min: 4, max: 40 }),
    pageBudget: fc.integer({ min: 80, max: 200 }),
    order: fc.constantFrom('newest first', 'oldest first', 'none'),
    withState: fc.boolean(),
    repeatEvery: fc.constantFrom(2, 5, 1_000),
    skew: fc.constantFrom(undefined, 0, -40_000, 40_000),
    /** Every n-th entry is late, by at most the time that a sweep is certain to find. */
    lateEvery: fc.constantFrom(2, 7, 1_000),
    lateMs: fc.integer({ min: 0, max: 300_000 }),
  });
  type Trouble = 'none' | 'lost answer' | 'crash before commit' | 'restart';
  const steps = fc.array(
    fc.record({
      wait: fc.integer({ min: 0, max: 120_000 }),
      trouble: fc.constantFrom<Trouble>('none', 'none', 'lost answer', 'crash before commit', 'restart'),
    }),
    { minLength: 1, maxLength: 15 },
  );

  test('the counters match the history, every end is reported once, measurements are right or counted as unknown', async () => {
    await fc.assert(
      fc.asyncProperty(histories(T0 + 60_000, 15), course, steps, async (messages, how, course) => {
        const { skew, lateEvery, lateMs, ...options } = how;
        const all = messages.flatMap(({ entries }) => entries);
        const late = new Set(all.filter((_, at) => (at * 7_919) % lateEvery === 1));
        const lateBy = (found: HistoryEntry): number => (late.has(found) ? lateMs : 0);
        const w = await begun({ ...options, lateBy, ...(skew !== undefined && { skew }) });
        w.log.entries.push(...all);
        for (const { wait, trouble } of course) {
          await w.clock.advance(wait);
          let asked = 0;
          w.log.beforeAnswer = () => {
            asked += 1;
            if (trouble === 'lost answer' && asked === 2) throw new FakeServiceError('timeout');
          };
          if (trouble === 'crash before commit') w.failCommits();
          await w.run().catch(() => undefined);
          if (trouble === 'crash before commit' || trouble === 'restart') w.restart();
        }
        w.log.beforeAnswer = () => undefined;
        const last = Math.max(...all.map(({ time }) => time));
        // Runs until the last sweep that may find an entry is over.
        for (let end = last + 900_000; w.clock.now() < end; await w.clock.advance(60 * SECOND)) await w.run();
        expect(w.counters()).toEqual(truthOf(messages));
        const ended = messages.filter(hasEnded).map(({ messageId }) => messageId);
        const told = w.ends().map(({ id }) => id);
        expect(told.toSorted()).toEqual(ended.toSorted());
        const open = messages.filter((message) => !hasEnded(message)).map(({ messageId }) => messageId);
        const inFlight = [...(await w.stores.log.memory(ACCOUNT)).open].filter(([, { dueAt }]) => dueAt !== undefined);
        expect(inFlight.map(([messageId]) => messageId).toSorted()).toEqual(open.toSorted());
        const measured = (metric: string): number =>
          w.stores
            .histograms(ACCOUNT)
            .filter((histogram) => histogram.metric === metric)
            .reduce((sum, { buckets }) => sum + buckets.reduce((total, count) => total + count, 0), 0);
        const unjoined = w.own('opsd_log_unjoined_attempts_total') ?? 0;
        const { delivered, attempts } = endsOf(messages);
        expect(measured('msgsvc_message_delivery_duration_seconds')).toBe(delivered);
        expect(measured('msgsvc_message_attempt_duration_seconds') + unjoined).toBe(attempts);
        if (unjoined + (w.own('opsd_log_revised_durations_total') ?? 0) > 0) return;
        const atOnce = memoryStores();
        const aggregation = new WindowAggregation({
          account: ACCOUNT,
          from: 0,
          memory: await atOnce.log.memory(ACCOUNT),
          admit: (_, value) => value,
        });
        for (const one of all) aggregation.take(one);
        const { progress: _progress, attempts: _attempts, ...aggregated } = aggregation.finish(new Map());
        await atOnce.log.commitLog({ account: ACCOUNT, watermark: last, keptFrom: 0, ...aggregated });
        expect(histogramsOf(w.stores)).toEqual(histogramsOf(atOnce));
      }),
      { numRuns: 30 },
    );
  });
});

function histogramsOf({ histograms }: MemoryStores): Record<string, unknown> {
  return Object.fromEntries(
    histograms(ACCOUNT).map(({ metric, labels, buckets, sum }) => [
      [metric, ...labels].join(' '),
      [...buckets, Math.round(sum * 1_000)],
    ]),
  );
}

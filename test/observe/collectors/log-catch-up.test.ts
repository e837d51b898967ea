/** Counting the log of a service that is slow, expires its cursors, or fails at times: each run must make progress. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import { histories, truthOf } from '../../support/log-history.ts';
import { ACCOUNT } from './fake-context.ts';
import { FakeServiceError } from './fake-service.ts';
import { begun, entry, SECOND, T0, world, type WorldOptions } from './log-world.ts';

const PAGE = 10;
const ENTRIES = 150 * PAGE;

/** A world whose log is behind by 150 pages of ten entries, over an hour and a half. */
async function behind(options: WorldOptions = {}) {
  const w = world({ pageSize: PAGE, ...options });
  await w.slowRun();
  for (let n = 0; n < ENTRIES; n += 1) w.log.entries.push(entry(n * 3_600));
  await w.clock.advance(5_500 * SECOND);
  const created = (): number => w.counters()['msgsvc_log_events_total CREATED'] ?? 0;
  /** Runs until all entries are counted once. Returns the number of runs, and of runs that counted nothing. */
  const countAll = async (): Promise<{ readonly runs: number; readonly idle: number }> => {
    let runs = 0;
    let idle = 0;
    for (let counted = 0; counted < ENTRIES; counted = created()) {
      await w.slowRun();
      runs += 1;
      idle += created() > counted ? 0 : 1;
      if (idle > 100) throw new Error('the watermark does not get there');
      await w.clock.advance(30 * SECOND);
    }
    expect(created()).toBe(ENTRIES);
    expect(w.own('opsd_log_late_entries_total')).toBe(0);
    return { runs, idle };
  };
  return { ...w, created, countAll };
}

/** Fails every n-th response. */
function failEvery(n: number, code: ServiceErrorCode): () => void {
  let answers = 0;
  return () => {
    answers += 1;
    if (answers % n === 0) throw new FakeServiceError(code);
  };
}

describe('a backlog of 150 pages, with the default settings', () => {
  test('of 2.5 s each: every run makes progress until all is counted', async () => {
    const w = await behind({ answerMs: 2_500 });
    expect(await w.countAll()).toMatchObject({ idle: 0 });
  });

  test('of 2.5 s each, in no order', async () => {
    const w = await behind({ answerMs: 2_500, order: 'none' });
    expect(await w.countAll()).toMatchObject({ idle: 0 });
  });

  test('with cursors that expire after 3 s', async () => {
    const w = await behind({ answerMs: 2_500, cursorMs: 3_000 });
    expect(await w.countAll()).toMatchObject({ idle: 0 });
  });

  // A run ends when its first page fails, or when the service requires fewer requests.
  test.each<[code: ServiceErrorCode, every: number, mostIdle: number]>([
    ['server_error', 20, 0],
    ['server_error', 8, 0],
    ['timeout', 7, 0],
    ['rate_limited', 10, 3],
  ])('with occasional failed pages: %s, one of %d', async (code, every, mostIdle) => {
    const w = await behind({ answerMs: 500 });
    w.log.beforeAnswer = failEvery(every, code);
    const { idle } = await w.countAll();
    expect(idle).toBeLessThanOrEqual(mostIdle);
  });

  test('with a response that never arrives: the timeout of the run shrinks the window', async () => {
    const w = await behind({ answerMs: 100 });
    const { client } = w.log;
    w.through({
      ...client,
      message: {
        ...client.message!,
        listLogs: (_query, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      },
    });
    expect(await w.slowRun()).toMatchObject({ name: 'TimeoutError' });
    expect((await w.stores.log.loadLogState(ACCOUNT)).windowMs).toBeLessThan(3_000 * SECOND);
    w.through(client);
    expect(await w.countAll()).toMatchObject({ idle: 0 });
  });
});

test('facts that a run learned about the service survive a restart', async () => {
  const w = await behind({ answerMs: 2_500, cursorMs: 3_000 });
  await w.slowRun();
  const halved = w.own('opsd_log_windows_halved_total');
  expect(halved).toBeGreaterThan(0);
  w.restart();
  const { windowMs } = await w.stores.log.loadLogState(ACCOUNT);
  const asked = w.log.queries.length;
  await w.slowRun();
  const next = w.log.queries.slice(asked).find(({ fromDate }) => fromDate === w.log.queries[asked]!.fromDate)!;
  expect(next.toDate! - next.fromDate!).toBe(windowMs);
});

test('windows grow again when the service recovers', async () => {
  const w = await behind({ answerMs: 2_500 });
  w.log.beforeAnswer = () => {
    throw new FakeServiceError('server_error');
  };
  for (let n = 0; n < 30; n += 1) {
    await w.slowRun();
    await w.clock.advance(30 * SECOND);
  }
  expect((await w.stores.log.loadLogState(ACCOUNT)).windowMs).toBeLessThan(600 * SECOND);
  expect(w.created()).toBe(0);
  w.log.beforeAnswer = () => undefined;
  expect((await w.countAll()).runs).toBeLessThan(10);
  expect((await w.stores.log.loadLogState(ACCOUNT)).windowMs).toBeGreaterThan(60 * SECOND);
});

test.each(['newest first', 'oldest first'] as const)(
  'a burst within one moment is not read again with each smaller window (%s)',
  async (order) => {
    const w = world({ pageSize: 10, pageBudget: 200, answerMs: 100, order });
    await w.slowRun();
    for (let n = 0; n < 40; n += 1) w.log.entries.push(entry(n * 60 * SECOND));
    for (let n = 0; n < 300; n += 1) w.log.entries.push(entry(1_200 * SECOND, { messageId: `burst-${n}` }));
    await w.clock.advance(2_500 * SECOND);
    const before = w.log.queries.length;
    await w.slowRun();
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(340);
    // The window that broke off, and the burst alone: 25 and 30 pages.
    expect(w.log.queries.length - before).toBeLessThan(90);
  },
);

test('a first page that fails hardly narrows the windows: the failure does not depend on the width', async () => {
  const w = await behind({ answerMs: 500 });
  await w.slowRun();
  const { windowMs } = await w.stores.log.loadLogState(ACCOUNT);
  w.log.beforeAnswer = () => {
    throw new FakeServiceError('server_error');
  };
  for (let n = 0; n < 3; n += 1) await w.slowRun();
  expect((await w.stores.log.loadLogState(ACCOUNT)).windowMs).toBeGreaterThan(0.7 * windowMs!);
});

describe('a time whose entries cannot be read completely', () => {
  test('is reported with the remedy, and everything before it is counted', async () => {
    const w = world({ pageSize: 1, answerMs: 2_500, cursorMs: 3_000 });
    await w.slowRun();
    w.log.entries.push(entry(500));
    for (let n = 0; n < 9; n += 1) w.log.entries.push(entry(1_000, { messageId: `m-${n}` }));
    await w.clock.advance(30 * SECOND);
    let failure: unknown;
    for (let n = 0; n < 20; n += 1) {
      failure = await w.slowRun();
      await w.clock.advance(30 * SECOND);
    }
    expect(failure).toMatchObject({ code: 'client_error' });
    expect(String(failure)).toMatch(/the moment 2026-11-20T10:00:01.000Z alone cannot be read .* counting stops there/);
    expect((await w.stores.log.loadLogState(ACCOUNT)).watermark).toBe(T0 + 999);
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(1);
  });

  test('with more pages than the maximum of a window is read with all pages of a run', async () => {
    const w = world({ pageSize: 1, pageBudget: 200, answerMs: 100 });
    await w.slowRun();
    for (let n = 0; n < 150; n += 1) w.log.entries.push(entry(1_000, { messageId: `m-${n}` }));
    await w.clock.advance(30 * SECOND);
    for (let n = 0; n < 10; n += 1) {
      await w.slowRun();
      await w.clock.advance(30 * SECOND);
    }
    expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(150);
  });
});

test('a failed search for late entries does not stop the counting, and fails its run', async () => {
  const w = await begun({ skew: 0 });
  for (let n = 0; n < 60; n += 1) w.log.entries.push(entry(n * 10_000));
  await w.after(200 * SECOND);
  const watermark = (await w.stores.log.loadLogState(ACCOUNT)).watermark!;
  w.log.beforeAnswer = ({ fromDate }) => {
    if (fromDate! < watermark) throw new FakeServiceError('server_error');
  };
  await expect(w.after(200 * SECOND)).rejects.toMatchObject({ code: 'server_error' });
  expect((await w.stores.log.loadLogState(ACCOUNT)).watermark).toBe(w.clock.now() - 15 * SECOND);
});

test('an unknown entry mode does not stop the counting', async () => {
  const w = await begun();
  w.log.entries.push(entry(1_000), entry(2_000, { messageId: 'msg-1000', state: 'DELIVERED' }));
  w.log.beforeAnswer = ({ messageId }) => {
    if (messageId !== undefined) throw new FakeServiceError('client_error');
  };
  expect(await w.after(30 * SECOND)).not.toHaveProperty('entryMode');
  expect(w.counters()['msgsvc_log_events_total DELIVERED']).toBe(1);
});

test('any service that answers some of its pages is counted completely and exactly', async () => {
  const service = fc.record({
    pageSize: fc.integer({ min: 5, max: 40 }),
    order: fc.constantFrom<'newest first' | 'oldest first' | 'none'>('newest first', 'oldest first', 'none'),
    repeatEvery: fc.constantFrom(3, 1_000),
    skew: fc.constantFrom(undefined, 0),
    answerMs: fc.constantFrom(0, 400, 2_500, 12_000),
    /** Pages that a listing has before its cursors expire. */
    pagesOfCursor: fc.constantFrom(1, 3, Infinity),
    pageBudget: fc.constantFrom(60, 200),
  });
  const trouble = fc.record({
    withState: fc.boolean(),
    /** Share of the responses that fail, after the client's own retries. */
    failing: fc.constantFrom(0, 0.05, 0.3),
    code: fc.constantFrom<ServiceErrorCode>('server_error', 'timeout', 'rate_limited', 'malformed', 'not_found'),
    restartEvery: fc.constantFrom(2, 1_000),
    seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
  });
  await fc.assert(
    fc.asyncProperty(histories(T0 + 60_000, 15), service, trouble, async (messages, how, what) => {
      const { pagesOfCursor, skew, ...options } = how;
      // Without states a window takes eight listings, which must all succeed at once.
      const failing = what.withState ? what.failing : what.failing / 6;
      const w = world({
        ...options,
        ...(skew !== undefined && { skew }),
        withState: what.withState,
        cursorMs: pagesOfCursor * Math.max(1, options.answerMs),
      });
      await w.slowRun();
      const all = messages.flatMap(({ entries }) => entries);
      w.log.entries.push(...all);
      await w.clock.advance(1_200 * SECOND);
      let random = what.seed;
      w.log.beforeAnswer = () => {
        random = (random * 48_271) % 2_147_483_647;
        if (random / 2_147_483_647 < failing) throw new FakeServiceError(what.code);
      };
      const last = Math.max(...all.map(({ time }) => time));
      for (let runs = 1; (await w.stores.log.loadLogState(ACCOUNT)).watermark! < last; runs += 1) {
        // If every third response fails and each cursor lasts one page, windows stay at milliseconds: slow, not stuck.
        if (runs === 4_000) throw new Error('the watermark does not get there');
        if (runs % what.restartEvery === 0) w.restart();
        await w.slowRun();
        await w.clock.advance(30 * SECOND);
      }
      expect(w.counters()).toEqual(truthOf(messages));
      expect(w.own('opsd_log_late_entries_total')).toBe(0);
    }),
    { numRuns: 6 },
  );
});

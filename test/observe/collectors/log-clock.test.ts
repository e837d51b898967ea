/** Clocks that are wrong for a while: the local one with a service that sends no date, or both. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasEnded, histories, truthOf, type HistoryEntry } from '../../support/log-history.ts';
import { begun, entry, LAG, SECOND, T0, world, type WorldOptions } from './log-world.ts';

const DAY = 86_400 * SECOND;

/** A world whose local clock can be set ahead or behind. The service keeps its own time. */
function clocks(options: WorldOptions = {}) {
  let ahead = 0;
  const w = world({ skew: () => -ahead, isDated: false, ...options });
  /** Sets the local clock ahead of the service's by these milliseconds. */
  const setAhead = (ms: number): void => {
    w.clock.jump(ms - ahead);
    ahead = ms;
  };
  const serviceNow = (): number => w.clock.now() - ahead;
  /** Runs every half minute, with an entry written before each run. */
  const runs = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      await w.clock.advance(30 * SECOND);
      w.log.entries.push(entry(serviceNow() - SECOND - T0));
      await w.run();
    }
  };
  const created = (): number => w.counters()['msgsvc_log_events_total CREATED'] ?? 0;
  return { ...w, setAhead, serviceNow, runs, created };
}

describe('a service without a date, and a local clock that is two days ahead', () => {
  test('and back: the watermark is set back and reported, and skipped entries are counted once', async () => {
    const w = clocks();
    await w.run();
    await w.runs(20);
    w.setAhead(2 * DAY);
    await w.runs(5);
    expect((await w.stores.log.loadLogState('production')).watermark).toBeGreaterThan(T0 + DAY);
    w.setAhead(0);
    await w.runs(40);
    await w.after(30 * SECOND);
    expect(w.created()).toBe(65);
    expect(w.own('opsd_log_watermark_resets_total')).toBe(1);
    expect(w.resets).toEqual([{ from: expect.any(Number) as number, to: expect.any(Number) as number }]);
    expect(w.resets[0]!.from).toBeGreaterThan(T0 + DAY);
    expect(w.resets[0]!.to).toBeLessThan(T0 + 1_000 * SECOND);
    expect((await w.stores.log.loadLogState('production')).watermark).toBe(w.clock.now() - LAG);
  });

  test('permanently: the search for late entries finds them all, once', async () => {
    const w = clocks();
    await w.run();
    await w.runs(20);
    w.setAhead(2 * DAY);
    await w.runs(40);
    await w.after(330 * SECOND);
    expect(w.created()).toBe(60);
  });

  test('and back while the daemon does not run', async () => {
    const w = clocks();
    await w.run();
    await w.runs(20);
    w.setAhead(2 * DAY);
    await w.runs(5);
    w.restart();
    w.setAhead(0);
    await w.clock.advance(3 * DAY);
    await w.runs(20);
    await w.after(30 * SECOND);
    expect(w.created()).toBe(45);
  });

  test('from the first run on: counting restarts when it is correct', async () => {
    const w = clocks();
    w.setAhead(2 * DAY);
    await w.run();
    await w.runs(5);
    w.setAhead(0);
    await w.after(60 * SECOND);
    await w.runs(20);
    await w.after(30 * SECOND);
    expect(w.created()).toBe(20);
    expect(w.own('opsd_log_watermark_resets_total')).toBe(1);
  });

  test('an open message is not abandoned, and ends once', async () => {
    const w = clocks();
    await w.run();
    w.log.entries.push(entry(1_000, { messageId: 'm' }), entry(2_000, { messageId: 'm', state: 'ACTIVE' }));
    await w.runs(2);
    w.setAhead(2 * DAY);
    await w.runs(2);
    w.log.entries.push(entry(w.serviceNow() - T0, { messageId: 'm', state: 'DELIVERED', responseStatus: 200 }));
    w.setAhead(0);
    await w.runs(20);
    expect(w.own('opsd_messages_abandoned_total')).toBe(0);
    expect(w.own('opsd_log_unjoined_deliveries_total')).toBe(0);
    expect(w.ends()).toEqual([{ id: 'm', outcome: 'delivered' }]);
  });
});

test('a service whose date was ahead too: the run fails with the reason, and nothing is counted twice', async () => {
  let ahead = 0;
  const w = world({ skew: 0 });
  const jump = (ms: number): void => {
    w.clock.jump(ms);
    ahead += ms;
  };
  await w.run();
  w.log.entries.push(entry(10_000));
  await w.after(30 * SECOND);
  jump(2 * DAY);
  w.log.entries.push(entry(ahead + 20_000));
  await w.after(60 * SECOND);
  jump(-2 * DAY);
  await expect(w.after(30 * SECOND)).rejects.toThrow(
    /counted up to 2026-11-22T10:01:15.000Z, which is 1d23h ahead of the local/,
  );
  expect(w.counters()['msgsvc_log_events_total CREATED']).toBe(2);
  expect(w.own('opsd_log_watermark_resets_total')).toBe(0);
});

test('a local clock that is slightly behind for a while fails no run', async () => {
  const w = await begun({ skew: 0 });
  await w.after(30 * SECOND);
  w.clock.jump(-50 * SECOND);
  await expect(w.run()).resolves.toMatchObject({ watermark: T0 + LAG });
});

test('with any local clock, each entry is counted once', async () => {
  const course = fc.array(
    fc.record({
      wait: fc.integer({ min: 0, max: 120 }),
      ahead: fc.constantFrom(undefined, undefined, 0, 20, 600, 86_400, 172_800, -40, -3_600),
      isRestart: fc.boolean(),
    }),
    { minLength: 1, maxLength: 15 },
  );
  const late = fc.record({ every: fc.constantFrom(2, 7, 1_000), ms: fc.integer({ min: 0, max: 300_000 }) });
  await fc.assert(
    fc.asyncProperty(histories(T0 + 60_000, 10), course, late, async (messages, steps, { every, ms }) => {
      const all = messages.flatMap(({ entries }) => entries);
      const isLate = new Set(all.filter((_, at) => (at * 7_919) % every === 1));
      const w = clocks({ lateBy: (found: HistoryEntry) => (isLate.has(found) ? ms : 0) });
      await w.run();
      w.log.entries.push(...all);
      for (const { wait, ahead, isRestart } of steps) {
        await w.clock.advance(wait * SECOND);
        if (ahead !== undefined) w.setAhead(ahead * SECOND);
        if (isRestart) w.restart();
        await w.run().catch(() => undefined);
      }
      w.setAhead(0);
      const last = Math.max(...all.map(({ time }) => time));
      for (let end = last + 1_500_000; w.clock.now() < end; await w.clock.advance(60 * SECOND)) await w.run();
      expect(w.counters()).toEqual(truthOf(messages));
      const ended = messages.filter(hasEnded).map(({ messageId }) => messageId);
      expect(
        w
          .ends()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual(ended.toSorted());
    }),
    { numRuns: 6 },
  );
});

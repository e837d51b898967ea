/** Selection of watched flow-control keys, and the waiting time of their messages. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { flowControl } from '#observe/collectors/flow-control.ts';
import { logs } from '#observe/collectors/logs.ts';
import { workflowDlq } from '#observe/collectors/workflow-dlq.ts';
import type { FlowControlKey } from '#foundation/domain/flow-control.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';
import { ACCOUNT, context, target } from './fake-context.ts';
import { answer, clientOf, FakeServiceError } from './fake-service.ts';

const T0 = Date.UTC(2026, 10, 20, 10);
const SECOND = 1_000;

function world(options: { readonly keys?: readonly string[]; readonly discover?: number } = {}) {
  const { keys = ['a'], discover = 10 } = options;
  const clock = new ManualClock(T0);
  let stores = memoryStores();
  const live = new Map<string, Partial<FlowControlKey>>(keys.map((key) => [key, {}]));
  const asked: string[][] = [];
  const watched = target({ flowControlKeys: keys, settings: { flowControl: { discover } } });
  const client = clientOf({
    message: {
      getFlowControl: async (key) => {
        asked.at(-1)!.push(key);
        const row = live.get(key);
        if (row === undefined) throw new FakeServiceError('not_found');
        if (row.waitListSize === -1) throw new FakeServiceError('server_error');
        return answer({ flowControlKey: key, waitListSize: 0, ...row });
      },
    },
  });
  return {
    clock,
    live,
    asked,
    watched,
    stores: () => stores,
    restart: () => void (stores = stores.restarted()),
    /** Runs the collector, after so many seconds. */
    run: async (afterSeconds = 0) => {
      if (afterSeconds > 0) await clock.advance(afterSeconds * SECOND);
      asked.push([]);
      return flowControl.collect(client, context<'flowControl'>({ target: watched, clock, stores }));
    },
    saturated: () =>
      Object.fromEntries(
        stores
          .counters(ACCOUNT)
          .filter(({ metric }) => metric === 'msgsvc_flow_control_saturated_seconds_total')
          .map(({ labels, value }) => [labels.join(' '), value]),
      ),
    unwatched: () =>
      stores.counters(ACCOUNT).find(({ metric }) => metric === 'opsd_flow_control_keys_unwatched_total')?.value,
  };
}

describe('the time that messages wait', () => {
  const cases: readonly (readonly [string, Partial<FlowControlKey>])[] = [
    ['parallelism', { parallelismMax: 2, parallelismCount: 2, rateMax: 9, rateCount: 9 }],
    ['rate', { parallelismMax: 2, parallelismCount: 1, rateMax: 9, rateCount: 9 }],
    ['paused', { parallelismMax: 2, parallelismCount: 2, isPaused: true }],
    ['other', { parallelismMax: 2, parallelismCount: 1, rateMax: 9, rateCount: 8 }],
  ];

  test.each(cases)('belongs to %s where two readings show it', async (constraint, row) => {
    const w = world();
    w.live.set('a', { waitListSize: 4, ...row });
    await w.run();
    expect(w.saturated()).toEqual({ 'a other': 0, 'a parallelism': 0, 'a paused': 0, 'a rate': 0 });
    await w.run(15);
    await w.run(20);
    w.live.set('a', { ...row, waitListSize: 0 });
    await w.run(15);
    expect(w.saturated()).toMatchObject({ [`a ${constraint}`]: 35 });
    expect(Object.values(w.saturated()).reduce((a, b) => a + b)).toBe(35);
  });

  test('is other where the readings show different constraints', async () => {
    const w = world();
    w.live.set('a', { waitListSize: 1, isPaused: true });
    await w.run();
    w.live.set('a', { waitListSize: 1, rateMax: 1, rateCount: 1 });
    await w.run(15);
    expect(w.saturated()).toMatchObject({ 'a other': 15, 'a rate': 0, 'a paused': 0 });
  });

  test('is not guessed across an outage or a restart, but a failed run between loses nothing', async () => {
    const w = world();
    w.live.set('a', { waitListSize: 1, isPaused: true });
    await w.run();
    await w.run(3600);
    expect(w.saturated()).toMatchObject({ 'a paused': 0 });
    w.live.set('a', { waitListSize: -1 });
    await expect(w.run(15)).rejects.toMatchObject({ code: 'server_error' });
    w.live.set('a', { waitListSize: 1, isPaused: true });
    await w.run(15);
    expect(w.saturated()).toMatchObject({ 'a paused': 30 });
    w.restart();
    await w.run(15);
    await w.run(15);
    expect(w.saturated()).toMatchObject({ 'a paused': 45 });
  });

  test('is measured on the monotonic clock', async () => {
    const w = world();
    w.live.set('a', { waitListSize: 1 });
    await w.run();
    w.clock.jump(-7_200 * SECOND);
    await w.run(15);
    expect(w.saturated()).toMatchObject({ 'a other': 15 });
  });

  test('is the time between readings that both show a waiting list, whatever holds it', async () => {
    const reading = fc.record({
      afterMs: fc.integer({ min: 1, max: 200_000 }),
      waitListSize: fc.nat(2),
      isPaused: fc.boolean(),
      parallelismCount: fc.nat(2),
      rateCount: fc.nat(2),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(reading, { maxLength: 20 }), async (readings) => {
        const w = world();
        let expected = 0;
        let waited = false;
        for (const { afterMs, ...row } of readings) {
          w.live.set('a', { ...row, parallelismMax: 2, rateMax: 2 });
          await w.clock.advance(afterMs);
          await w.run();
          if (waited && row.waitListSize > 0 && afterMs <= 180_000) expected += afterMs;
          waited = row.waitListSize > 0;
        }
        const sum = Object.values(w.saturated()).reduce((a, b) => a + b, 0);
        expect(sum).toBeCloseTo(expected / 1_000, 6);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the watched keys', () => {
  test('are the configured ones first, then those in entries, up to the maximum', async () => {
    const w = world({ keys: ['a'], discover: 2 });
    const at = w.clock.now();
    const entries = ['b', 'a', 'c', 'd', 'c'].map((flowControlKey, index) => ({
      dlqId: `d${index}`,
      workflowRunId: 'run',
      workflowUrl: 'https://w.example',
      createdAt: at,
      labels: [],
      flowControlKey,
    }));
    const client = clientOf({ message: { listWorkflowDlq: async () => ({ value: entries, dropped: 0 }) } });
    await w.run();
    expect(w.unwatched()).toBe(0);
    await workflowDlq.collect(client, context({ clock: w.clock, stores: w.stores() }));
    for (const key of ['b', 'c', 'd']) w.live.set(key, {});
    const { rows, dropped } = await w.run();
    expect(rows).toEqual([
      { flowControlKey: 'a', waitListSize: 0 },
      { flowControlKey: 'b', waitListSize: 0, isDiscovered: true },
      { flowControlKey: 'c', waitListSize: 0, isDiscovered: true },
    ]);
    expect(dropped).toBe(0);
    await w.run();
    expect(w.asked).toEqual([['a'], ['a', 'b', 'c'], ['a', 'b', 'c']]);
    expect(w.unwatched()).toBe(1);
  });

  test('are found in the log too', async () => {
    const w = world({ keys: [] });
    const client = clientOf({
      message: {
        listLogs: async ({ fromDate = 0 }) => ({
          value: [{ messageId: 'm', time: fromDate, state: 'CREATED' as const, labels: [], flowControlKey: 'billing' }],
          dropped: 0,
        }),
      },
    });
    const at = context<'logs'>({ clock: w.clock, stores: w.stores() });
    await logs.collect(client, at);
    await w.clock.advance(60 * SECOND);
    await logs.collect(client, at);
    w.live.set('billing', {});
    expect((await w.run()).rows).toEqual([{ flowControlKey: 'billing', waitListSize: 0, isDiscovered: true }]);
  });

  test('lose a discovered one that does not exist, or that no entry has carried for a day', async () => {
    const w = world({ keys: ['a'], discover: 1 });
    const { seen } = w.stores().flowControl.memory(ACCOUNT);
    seen.add('gone', w.clock.monotonic());
    seen.add('b', w.clock.monotonic());
    expect(await w.run()).toMatchObject({ rows: [{ flowControlKey: 'a' }], dropped: 0 });
    w.live.set('b', {});
    await w.run();
    await w.clock.advance(86_400_001);
    await w.run();
    expect(w.asked).toEqual([['a', 'gone'], ['a', 'b'], ['a']]);
  });

  test.each(['client_error', 'invalid_request'])(
    'are still read when a discovered one cannot be requested (%s); a configured one reports the error',
    async (code) => {
      const w = world({ keys: ['a'] });
      const refuse = (key: string) =>
        clientOf({
          message: {
            getFlowControl: async (asked) => {
              if (asked === key) throw Object.assign(new Error('refused'), { code });
              return answer({ flowControlKey: asked, waitListSize: 1 });
            },
          },
        });
      const at = context<'flowControl'>({ target: w.watched, clock: w.clock, stores: w.stores() });
      const { seen } = w.stores().flowControl.memory(ACCOUNT);
      seen.add('..', w.clock.monotonic());
      seen.add('b', w.clock.monotonic());
      const { rows, dropped } = await flowControl.collect(refuse('..'), at);
      expect(rows.map(({ flowControlKey }) => flowControlKey)).toEqual(['a', 'b']);
      expect(dropped).toBe(0);
      await expect(flowControl.collect(refuse('a'), at)).rejects.toMatchObject({ code });
    },
  );

  test('are bounded, however many entries carry', () => {
    const { seen } = memoryStores().flowControl.memory(ACCOUNT);
    for (let n = 0; n < 5_000; n++) seen.add(`key-${n}`, 0);
    const { keys, newlyUnwatched } = seen.choose([], 3, 1);
    expect(keys).toEqual(['key-0', 'key-1', 'key-2']);
    expect(newlyUnwatched).toBe(997);
    expect(seen.choose([], 3, 1).newlyUnwatched).toBe(0);
  });
});

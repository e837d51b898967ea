/** Statistics of a real service on its own clock, through the real client, into counters of a real store. */
import { join } from 'node:path';
import { onTestFinished, describe, expect, test } from 'vitest';
import { collectors } from '#observe/collectors/index.ts';
import type { AccountStats } from '#foundation/domain/statistics.ts';
import type { Fact } from '#emulator/statistics/facts.ts';
import { readPoints } from '#observe/aggregation/series-record.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { createSeriesStore } from '#storage/series-store.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { ACCOUNT as ID, MANAGEMENT, START, world } from '../../../emulator/test/world.ts';
import { memoryStores, type MemoryStores } from '../../support/memory-aggregation-stores.ts';
import { storedCounters } from '../../support/stored-totals.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { testClient } from '../../support/test-emulator.ts';
import { ACCOUNT, context, target } from './fake-context.ts';
import { answer, clientOf, FakeServiceError } from './fake-service.ts';

const MINUTE = 60_000;

async function watched() {
  const { emulator } = await world({ clock: systemClock, time: 'virtual', startAt: START });
  const client = testClient(emulator.url, { management: MANAGEMENT });
  const path = join(tempDir(), 'opsd.db');
  let store = openStore(path);
  let totals = createTotals(store);
  let series = createSeriesStore(store, totals);
  onTestFinished(() => store[Symbol.dispose]());
  const others = memoryStores();
  return {
    emulator,
    now: (): number => emulator.control.clock().now,
    series: () => series,
    async collect(): Promise<void> {
      const watchedTarget = target({ accountId: ID, hasMessageApi: false });
      await collectors.accountStats.collect(
        client,
        context<'accountStats'>({ target: watchedTarget, stores: { ...others, series } }),
      );
    },
    /** Closes the store and opens it again. */
    restart() {
      store[Symbol.dispose]();
      store = openStore(path);
      totals = createTotals(store);
      series = createSeriesStore(store, totals);
    },
    counter: (metric: string, ...labels: readonly string[]) =>
      counterIn({ counters: (account) => storedCounters(store, account) }, metric, ...labels) ?? NaN,
  };
}

/** Returns a counter of the account; undefined when it was never committed. */
function counterIn({ counters }: Pick<MemoryStores, 'counters'>, metric: string, ...labels: readonly string[]) {
  return counters(ACCOUNT).find((one) => one.metric === metric && one.labels.join() === labels.join())?.value;
}

/** Returns the facts of a minute, which rarely repeat. */
function factsOf(at: number, random: () => number): readonly (readonly [Fact, number])[] {
  const workflow = random() < 0.3;
  const times = Math.floor(random() * 30);
  const outcome = (['delivered', 'delivered', 'retry', 'failed'] as const)[Math.floor(random() * 4)]!;
  return [
    [{ kind: 'created', at, workflow, run: workflow, bytes: 100 }, times],
    [{ kind: 'attempt', at, workflow, outcome, bytes: 50 }, times],
    [{ kind: 'canceled', at, workflow }, random() < 0.05 ? 1 : 0],
  ];
}

describe('counters of the account', () => {
  test.each([
    [1, 'late'],
    [2, 'late'],
    [3, 'late, absent and twice'],
  ])(
    "equal the service's activity: over outages to 20 h and restarts (%s, %s)",
    async (seed, how) => {
      const random = seededRandom(seed);
      const service = await watched();
      const happened: (readonly [Fact, number])[] = [];
      /** Facts that are not visible yet, with the time of their appearance. */
      let underWay: { readonly shows: number; readonly fact: Fact; readonly times: number }[] = [];
      const live = async (ms: number, isQuiet = false): Promise<void> => {
        const from = service.now();
        await service.emulator.advance(ms);
        for (let at = from; at < from + ms; at += MINUTE) {
          for (const [fact, times] of isQuiet ? [] : factsOf(at, random)) {
            happened.push([fact, times]);
            underWay.push({ shows: at + (random() < 0.2 ? random() * 12 * MINUTE : 0), fact, times });
          }
        }
        for (const { fact, times } of underWay.filter(({ shows }) => shows <= service.now())) {
          service.emulator.statistics.record(ID, fact, times);
        }
        underWay = underWay.filter(({ shows }) => shows > service.now());
      };

      await live(2 * 60 * MINUTE);
      const { faults } = service.emulator.control;
      if (how !== 'late') {
        faults.add({ operations: ['get-account-stats'], fault: { kind: 'late', ms: 9 * MINUTE, share: 0.4 } });
        faults.add({ operations: ['get-account-stats'], fault: { kind: 'duplicate', share: 0.3 } });
      }
      for (let poll = 0; poll < 130; poll++) {
        await service.collect();
        if (poll % 13 === 12) service.restart();
        const isOutage = poll >= 70 && poll % 20 === 0;
        await live(isOutage ? Math.floor(random() * 20 * 60) * MINUTE + 1_234 : Math.ceil(random() * 2) * MINUTE);
      }
      await live(30 * MINUTE, true);
      expect(faults.list().every(({ hits }) => hits > 100)).toBe(true);
      faults.clear();
      await service.collect();

      const states = await service.series().loadSeries(ACCOUNT, [ID]);
      const { base, watermark } = readPoints(states.find(({ source }) => source === 'used')!.record)!;
      expect(watermark).toBeGreaterThan(service.now() - 4 * MINUTE);
      const sum = (amount: (fact: Fact) => number): number =>
        happened
          .filter(([{ at }]) => at >= base && at < watermark)
          .reduce((total, [fact, times]) => total + times * amount(fact), 0);
      const is = (kind: Fact['kind'], workflow: boolean, ...outcomes: string[]) =>
        sum((fact) =>
          fact.kind === kind &&
          fact.workflow === workflow &&
          (outcomes.length === 0 || (fact.kind === 'attempt' && outcomes.includes(fact.outcome)))
            ? 1
            : 0,
        );
      const counter = (metric: string, ...labels: readonly string[]) => service.counter(metric, ...labels);
      expect(sum(() => 1)).toBeGreaterThan(10_000);
      expect(counter('msgsvc_account_used_messages_total')).toBe(is('attempt', false));
      expect(counter('msgsvc_account_used_workflow_messages_total')).toBe(is('attempt', true));
      expect(counter('msgsvc_account_bandwidth_bytes_total')).toBe(
        sum((fact) => (fact.kind === 'canceled' ? 0 : fact.bytes)),
      );
      for (const workflow of [false, true]) {
        const metric = workflow ? 'msgsvc_account_workflow_messages_total' : 'msgsvc_account_messages_total';
        expect(counter(metric, 'created')).toBe(is('created', workflow));
        expect(counter(metric, 'delivered')).toBe(is('attempt', workflow, 'delivered'));
        expect(counter(metric, 'error')).toBe(is('attempt', workflow, 'retry', 'failed'));
        expect(counter(metric, 'canceled')).toBe(is('canceled', workflow));
      }
      expect(counter('opsd_stats_points_missed_total', 'used')).toBe(0);
      expect(counter('opsd_stats_points_revised_total', 'used')).toBeGreaterThan(0);
      expect(counter('opsd_stats_points_backfilled_total', 'used')).toBeGreaterThan(60);
    },
    60_000,
  );

  test('billing continues over the turn of a month', async () => {
    const service = await watched();
    const attempts = (times: number): void =>
      service.emulator.statistics.record(
        ID,
        { kind: 'attempt', at: service.now(), workflow: false, outcome: 'delivered', bytes: 1 },
        times,
      );
    const untilTurn = Date.UTC(2026, 11, 1) - START;
    await service.emulator.advance(untilTurn - 60 * MINUTE);
    attempts(500_000);
    await service.collect();
    expect(service.counter('msgsvc_account_billing_dollars_total')).toBe(0);
    attempts(200_000);
    await service.collect();
    service.restart();
    await service.emulator.advance(90 * MINUTE);
    attempts(900_000);
    await service.collect();
    expect(service.counter('msgsvc_account_billing_dollars_total')).toBeCloseTo(2 + 9, 6);
    expect(service.counter('opsd_stats_corrections_total', 'billing')).toBe(0);
  });
});

describe('a response', () => {
  const T0 = Date.UTC(2026, 10, 20, 10);
  const points = (now: number, value: (at: number) => number) =>
    Array.from({ length: 60 }, (_, index) => {
      const at = Math.floor(now / MINUTE) * MINUTE - (59 - index) * MINUTE;
      return { at, value: value(at) };
    });

  function fake() {
    const stores = memoryStores();
    const clock = new ManualClock(T0);
    const asked: string[] = [];
    let stats: (period: string) => AccountStats = () => ({ dlqMessages: 0 });
    const client = clientOf({
      management: {
        getAccountStats: async (_id, period) => {
          asked.push(period);
          return answer(stats(period));
        },
      },
    });
    return {
      stores,
      clock,
      asked,
      say: (next: (period: string) => AccountStats) => void (stats = next),
      /** Says the same amount in each minute until now. */
      used: (amount: number): AccountStats => ({ used: points(clock.now(), () => amount) }),
      named: (id: string, amount: (at: number) => number) => ({ id, points: points(clock.now(), amount) }),
      collect: (logs: object = {}) =>
        collectors.accountStats.collect(
          client,
          context<'accountStats'>({ clock, target: target({ settings: { logs } }), stores }),
        ),
    };
  }

  test('commits nothing when a request of several fails', async () => {
    const { stores, clock, collect, say, asked, used } = fake();
    say(() => used(1));
    await collect();
    const before = counterIn(stores, 'msgsvc_account_used_messages_total');
    await clock.advance(5 * 60 * MINUTE);
    say((period) => {
      if (period !== '1h') throw new FakeServiceError('server_error');
      return used(1);
    });
    await expect(collect()).rejects.toThrow('server_error');
    expect(asked).toEqual(['1h', '1h', '12h']);
    expect([before, counterIn(stores, 'msgsvc_account_used_messages_total')]).toEqual([expect.any(Number), before]);
  });

  test('without a field leaves its counter unchanged, and the gap is filled when the field is back', async () => {
    const { stores, clock, collect, say, asked, used } = fake();
    say(() => used(1));
    await collect();
    await clock.advance(40 * MINUTE);
    say(() => ({ dlqMessages: 1 }));
    await collect();
    await clock.advance(5 * MINUTE);
    say(() => used(1));
    await collect();
    expect(counterIn(stores, 'msgsvc_account_used_messages_total')).toBe(45);
    expect(asked).toEqual(['1h', '1h', '1h', '3h', '1h']);
  });

  test('with a new series had nothing in it before, and is counted from its start', async () => {
    const { stores, clock, collect, say, named } = fake();
    say(() => ({ messages: [] }));
    await collect();
    await clock.advance(10 * MINUTE);
    const first = clock.now() - 5 * MINUTE;
    say(() => ({ messages: [named('canceled', (at) => (at >= first ? 2 : 0))] }));
    await collect();
    expect(counterIn(stores, 'msgsvc_account_messages_total', 'canceled')).toBe(6);
    // A series of the first response brings its history.
    const second = fake();
    second.say(() => ({ messages: [second.named('canceled', () => 2)] }));
    await second.collect();
    expect(counterIn(second.stores, 'msgsvc_account_messages_total', 'canceled')).toBe(0);
  });

  test('that lists a series twice counts it once', async () => {
    const { clock, collect, say, stores, named } = fake();
    say(() => ({ messages: [1, 2].map(() => named('delivered', () => 2)) }));
    await collect();
    await clock.advance(10 * MINUTE);
    await collect();
    expect(counterIn(stores, 'msgsvc_account_messages_total', 'delivered')).toBe(20);
  });

  test('that lists a series without a point requests no longer periods: they could fill nothing', async () => {
    const { clock, collect, say, asked, stores, named } = fake();
    say(() => ({ messages: [named('canceled', () => 2)] }));
    await collect();
    await clock.advance(90 * MINUTE);
    say(() => ({ messages: [{ id: 'canceled', points: [] }] }));
    await collect();
    expect(asked).toEqual(['1h', '1h']);
    say(() => ({ messages: [named('canceled', () => 2)] }));
    await collect();
    expect(asked).toEqual(['1h', '1h', '1h', '3h', '1h']);
    expect(counterIn(stores, 'msgsvc_account_messages_total', 'canceled')).toBeGreaterThan(0);
  });

  test('with more named series than the maximum drops the rest, and reports it', async () => {
    const { clock, collect, say, stores, named } = fake();
    say(() => ({ messages: Array.from({ length: 103 }, (_, index) => named(`s${index}`, () => 1)) }));
    const { dropped } = await collect();
    expect(dropped).toBe(3);
    await clock.advance(2 * MINUTE);
    expect((await collect()).dropped).toBe(3);
    expect(counterIn(stores, 'msgsvc_account_messages_total', 's99')).toBe(2);
    expect(counterIn(stores, 'msgsvc_account_messages_total', 's100')).toBeUndefined();
  });

  test('is compared with the log once entries as late as the sweep looks for have arrived', async () => {
    const { clock, collect, say, stores, named } = fake();
    say(() => ({ messages: [named('created', () => 5)] }));
    const counted = async (logs: object) => {
      const counted = { account: ACCOUNT, watermark: clock.now(), keptFrom: 0, increments: [] };
      await stores.log.commitLog({ ...counted, entryMode: 'transitions' });
      return collect(logs);
    };
    const reach = (time: string) => ({ sweep: { every: '5m', reach: time } });
    await counted({});
    for (let hours = 0; hours < 2; hours += 1) {
      await clock.advance(55 * MINUTE);
      await counted({});
    }
    await clock.advance(40 * MINUTE);
    // It is 12:30.
    const hourOf = async (logs: object) => (await counted(logs)).rows[0]?.reconciled?.[0]?.hour;
    expect(await hourOf(reach('15m'))).toBe(T0 + 60 * MINUTE);
    expect(await hourOf(reach('30m'))).toBe(T0);
  });

  test('reports how far each series is counted', async () => {
    const { collect, say, used } = fake();
    say(() => used(1));
    expect((await collect()).rows[0]?.aggregated).toEqual([{ source: 'used', series: '', at: T0 - 3 * MINUTE }]);
  });

  test('of another account id restarts', async () => {
    const { stores, collect, say, used } = fake();
    say(() => used(1));
    await collect();
    expect(await stores.series.loadSeries(ACCOUNT, ['acc-1'])).toHaveLength(1);
    expect(await stores.series.loadSeries(ACCOUNT, ['acc-2'])).toHaveLength(0);
  });
});

describe('vector indexes', () => {
  test('are counted from increases of their monthly totals, each once however often it is named', async () => {
    const stores = memoryStores();
    const clock = new ManualClock(Date.UTC(2026, 10, 20, 10));
    let queries = 100;
    const client = clientOf({
      management: {
        getVectorStats: async (index) =>
          answer({ index, monthQueries: queries, latencyMean: {}, latencyP99: {}, throughput: {} }),
      },
    });
    const collect = () =>
      collectors.vectorStats.collect(
        client,
        context<'vectorStats'>({ clock, target: target({ vectorIndexes: ['vec-1', 'vec-1'] }), stores }),
      );
    await collect();
    expect(counterIn(stores, 'msgsvc_vector_index_queries_total', 'vec-1')).toBe(0);
    queries = 130;
    expect((await collect()).rows).toHaveLength(1);
    expect(counterIn(stores, 'msgsvc_vector_index_queries_total', 'vec-1')).toBe(30);
    expect(counterIn(stores, 'msgsvc_vector_index_updates_total', 'vec-1')).toBeUndefined();
  });
});

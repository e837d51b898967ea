import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Dispatcher } from '#emulator/delivery/dispatcher.ts';
import { FlowLane, FlowLanes } from '#emulator/state/flow-lane.ts';
import type { FlowControlSetting } from '#emulator/state/message.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { START, world } from '../world.ts';

interface Job {
  readonly key: number;
  readonly arrivesMs: number;
  readonly takesMs: number;
}

const setting = fc.record({
  parallelism: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  rate: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  periodMs: fc.integer({ min: 50, max: 2_000 }),
});

const load = fc.record({
  workers: fc.integer({ min: 1, max: 4 }),
  settings: fc.array(setting, { minLength: 1, maxLength: 3 }),
  jobs: fc.array(fc.record({ key: fc.nat(2), arrivesMs: fc.nat(3_000), takesMs: fc.integer({ min: 1, max: 400 }) }), {
    maxLength: 60,
  }),
});

/** Builds the limits of a key. A setting without limits becomes one of parallelism. */
function flowControl(
  key: number,
  settings: readonly { parallelism: number | undefined; rate: number | undefined; periodMs: number }[],
): FlowControlSetting {
  const { parallelism, rate, periodMs } = settings[key % settings.length]!;
  if (parallelism === undefined && rate === undefined) return { key: `k${key}`, parallelism: 1 };
  return {
    key: `k${key}`,
    ...(parallelism !== undefined && { parallelism }),
    ...(rate !== undefined && { rate, periodMs }),
  };
}

describe('flow control', () => {
  test('no key exceeds its parallelism or its rate, each is first in first out, and all jobs end', async () => {
    await fc.assert(
      fc.asyncProperty(load, async ({ workers, settings, jobs }) => {
        const clock = new ManualClock(START);
        const lanes = new FlowLanes<Job>(clock, 86_400_000);
        const started: { job: Job; at: number }[] = [];
        const running = new Map<number, number>();
        let total = 0;
        const dispatcher = new Dispatcher<Job>({
          clock,
          workers,
          start: (job, lane) => {
            started.push({ job, at: clock.monotonic() });
            running.set(job.key, (running.get(job.key) ?? 0) + 1);
            expect(++total).toBeLessThanOrEqual(workers);
            const { parallelism } = flowControl(job.key, settings);
            if (parallelism !== undefined) expect(running.get(job.key)).toBeLessThanOrEqual(parallelism);
            expect(lane.figures().parallelismCount).toBe(running.get(job.key));
            clock.after(job.takesMs, () => {
              total--;
              running.set(job.key, running.get(job.key)! - 1);
              dispatcher.done(job, lane);
            });
          },
        });
        // Keys are created at the start, so that their periods begin at 0.
        for (const key of [0, 1, 2]) lanes.use(flowControl(key, settings));
        for (const job of jobs) {
          clock.after(job.arrivesMs, () => dispatcher.offer(job, lanes.use(flowControl(job.key, settings))));
        }
        while (clock.nextIn !== undefined) await clock.advance(clock.nextIn);

        expect(started).toHaveLength(jobs.length);
        for (const key of [0, 1, 2]) {
          const { rate, periodMs } = flowControl(key, settings);
          const mine = started.filter(({ job }) => job.key === key);
          const arrivals = jobs.filter((job) => job.key === key).sort((a, b) => a.arrivesMs - b.arrivesMs);
          expect(mine.map(({ job }) => job)).toEqual(arrivals);
          const perPeriod = Map.groupBy(mine, ({ at }) => Math.floor(at / (periodMs ?? 1)));
          if (rate === undefined) continue;
          for (const dispatched of perPeriod.values()) expect(dispatched.length).toBeLessThanOrEqual(rate);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('among many keys every one has its turn: no list gets more than one item ahead of another that waits', () => {
    const lists = fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(300)), {
      minLength: 2,
      maxLength: 200,
    });
    fc.assert(
      fc.property(lists, fc.integer({ min: 1, max: 7 }), (lengths, workers) => {
        const clock = new ManualClock(START);
        const lanes = lengths.map(() => new FlowLane<string>(clock));
        const begun = lengths.map(() => 0);
        const running: { readonly item: string; readonly lane: FlowLane<string> }[] = [];
        const dispatcher = new Dispatcher<string>({
          clock,
          workers,
          start: (item, lane) => {
            begun[lanes.indexOf(lane)]!++;
            running.push({ item, lane });
          },
        });
        for (const [key, length] of lengths.entries()) {
          for (let count = 0; count < length; count++) dispatcher.offer(`${key}-${count}`, lanes[key]!);
        }
        // Items that began before the other lists existed do not count as turns.
        begun.fill(0);
        while (running.length > 0) {
          const { item, lane } = running.shift()!;
          dispatcher.done(item, lane);
          const least = Math.min(...begun.filter((_, key) => lanes[key]!.waiting.size > 0));
          expect(Math.max(...begun) - Math.min(least, Math.max(...begun))).toBeLessThanOrEqual(1);
        }
        expect(lanes.every((lane) => lane.idle)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test('a clock with fractions never wakes a key at the same time forever', () => {
    let monotonic = 0;
    const clock: Clock = { now: () => START, monotonic: () => monotonic, after: () => expect.unreachable() };
    const random = seededRandom(1);
    for (let turn = 0; turn < 10_000; turn++) {
      monotonic = random() * 1e6 + random() * 1e-5;
      const lane = new FlowLane<string>(clock);
      lane.configure({ key: 'k', rate: 1, periodMs: 1_000 });
      lane.take('a');
      monotonic += random() * 900 + random() * 1e-5;
      for (let wakes = 0; wakes < 2; wakes++) {
        const admission = lane.admission();
        if (!admission.open) monotonic += admission.inMs!;
      }
      expect(lane.admission()).toEqual({ open: true });
    }
  });

  test('a key whose limits are raised releases waiting messages at once', () => {
    const clock = new ManualClock(START);
    const started: string[] = [];
    const dispatcher = new Dispatcher<string>({ clock, workers: 9, start: (item) => void started.push(item) });
    const lanes = new FlowLanes<string>(clock, 1_000);
    const lane = lanes.use({ key: 'k', rate: 1, periodMs: 60_000 });
    for (const item of ['a', 'b', 'c']) dispatcher.offer(item, lane);
    expect(started).toEqual(['a']);
    dispatcher.wake(lanes.use({ key: 'k', rate: 3, periodMs: 60_000 }));
    expect(started).toEqual(['a', 'b', 'c']);
    expect(clock.timers).toBe(0);
  });

  test('changing the period back and forth gives no more than the rate', () => {
    const clock = new ManualClock(START);
    const lanes = new FlowLanes<string>(clock, 1_000);
    for (let turn = 0; turn < 4; turn++) {
      const lane = lanes.use({ key: 'k', rate: 2, periodMs: turn % 2 === 0 ? 60_000 : 30_000 });
      lane.waiting.add(`${turn}`);
      if (lane.admission().open) lane.take(`${turn}`);
    }
    expect(lanes.get('k')!.figures()).toMatchObject({ rateCount: 2, waitListSize: 2 });
  });

  test('idle keys are removed, busy ones are not', async () => {
    const clock = new ManualClock(START);
    const lanes = new FlowLanes<string>(clock, 1_000);
    lanes.use({ key: 'idle', parallelism: 1 });
    await clock.advance(2_000);
    lanes.use({ key: 'busy', parallelism: 1 }).waiting.add('x');
    await clock.advance(2_000);
    lanes.use({ key: 'new', parallelism: 1 });
    expect(['idle', 'busy', 'new'].map((key) => lanes.get(key) !== undefined)).toEqual([false, true, true]);
  });

  test('the key is read with all its figures while messages run and wait', async () => {
    const held: (() => void)[] = [];
    const sink = await httpSink((_request, response) => void held.push(() => response.end()));
    const service = await world();
    const headers = {
      'Svc-Flow-Control-Key': 'tenant/14',
      'Svc-Flow-Control-Value': 'parallelism=2, rate=3, period=1m',
    };
    await service.clock.advance(61_500);
    for (let index = 0; index < 5; index++) {
      expect((await service.call('POST', `/v2/publish/${sink.url}/x`, { headers })).status).toBe(200);
    }
    const path = '/v2/flowControl/tenant%2F14';
    const periodStart = Math.floor((START + 61_500) / 1_000);
    expect((await service.call('GET', path)).json).toEqual({
      flowControlKey: 'tenant/14',
      waitListSize: 3,
      parallelismMax: 2,
      parallelismCount: 2,
      rateMax: 3,
      rateCount: 2,
      ratePeriod: 60,
      ratePeriodStart: periodStart,
      isPinnedParallelism: false,
      isPinnedRate: false,
      isPaused: false,
    });
    const release = async (count: number): Promise<void> => {
      await expect.poll(() => held.length).toBe(count);
      for (const end of held.splice(0)) end();
    };
    await release(2);
    await release(1);
    await service.emulator.idle();
    // The rate delays the last two until the next period.
    expect((await service.call('GET', path)).json).toMatchObject({
      waitListSize: 2,
      parallelismCount: 0,
      rateCount: 3,
    });
    expect(sink.requests).toHaveLength(3);
    // The start of a period does not depend on the time of the request.
    await service.clock.advance(30_400);
    expect((await service.call('GET', path)).json).toMatchObject({ rateCount: 3, ratePeriodStart: periodStart });
    await service.clock.advance(29_600);
    await release(2);
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(5);
    expect((await service.call('GET', path)).json).toMatchObject({ rateCount: 2, ratePeriodStart: periodStart + 60 });
  });

  test('pinned limits override those of messages until they are removed, and a paused key starts nothing', () => {
    const clock = new ManualClock(START);
    const lanes = new FlowLanes<number>(clock, 1_000);
    const lane = lanes.use({ key: 'k', parallelism: 5, rate: 9, periodMs: 1_000 });
    lanes.hold('k', { paused: false, parallelism: 1, rate: { max: 1, periodMs: 60_000 } });
    lanes.use({ key: 'k', parallelism: 3, rate: 4, periodMs: 2_000 });
    const pinned = { parallelismMax: 1, isPinnedParallelism: true, rateMax: 1, ratePeriod: 60, isPinnedRate: true };
    expect(lane.figures()).toMatchObject(pinned);
    lane.waiting.add(1);
    expect(lane.admission()).toEqual({ open: true });
    lane.take(1);
    lane.release();
    expect(lane.admission()).toEqual({ open: false, inMs: 60_000 });
    lanes.hold('k', { paused: true });
    expect(lane.figures()).toMatchObject({ parallelismMax: 3, rateMax: 4, ratePeriod: 2, isPaused: true });
    expect(lane.admission()).toEqual({ open: false });
    lanes.hold('k', { paused: false });
    expect(lane.admission()).toEqual({ open: true });
  });

  test('a paused key is not removed, and does not keep the others', async () => {
    const clock = new ManualClock(START);
    const lanes = new FlowLanes<number>(clock, 1_000);
    lanes.hold('held', { paused: true });
    lanes.use({ key: 'old', parallelism: 1 });
    await clock.advance(5_000);
    lanes.use({ key: 'new', parallelism: 1 });
    expect(lanes.all().map(([key]) => key)).toEqual(['held', 'new']);
  });
});

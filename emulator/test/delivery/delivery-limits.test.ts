/** Limits of a plan on deliveries: excess deliveries wait, none is rejected, and none waits without need. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Dispatcher } from '#emulator/delivery/dispatcher.ts';
import { FlowLanes } from '#emulator/state/flow-lane.ts';
import { createLimits } from '#emulator/state/limits.ts';
import { OpenLanes } from '#emulator/state/open-lanes.ts';
import { SharedLimits } from '#emulator/delivery/shared-limits.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { ACCOUNT, START, TOKEN, world } from '../world.ts';

interface Job {
  readonly accountId: string;
  readonly url: string;
  readonly bytes: number;
  readonly key: number | undefined;
  readonly arrivesMs: number;
  readonly takesMs: number;
}

const PAID = createLimits({ enforced: true })({
  id: ACCOUNT,
  token: TOKEN,
  readOnlyToken: '',
  plan: 'paid',
  firstPlan: 'paid',
  budgetUsd: 0,
  customerId: '',
  createdBy: '',
});

const job = fc.record({
  accountId: fc.constantFrom('a', 'b'),
  url: fc.constantFrom('u1', 'u2', 'u3'),
  bytes: fc.nat(60),
  key: fc.option(fc.nat(1), { nil: undefined }),
  arrivesMs: fc.nat(3_000),
  takesMs: fc.integer({ min: 1, max: 900 }),
});
const figures = fc.record({
  parallelism: fc.integer({ min: 1, max: 3 }),
  globalParallelism: fc.integer({ min: 1, max: 4 }),
  bytesPerSecond: fc.integer({ min: 30, max: 150 }),
});
const change = fc.record({ atMs: fc.nat(4_000), accountId: fc.constantFrom('a', 'b'), to: figures });

test('no limit is ever exceeded, nothing waits that can begin, and all jobs end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(job, { maxLength: 60 }),
      fc.tuple(figures, figures),
      fc.array(change, { maxLength: 3 }),
      fc.integer({ min: 1, max: 6 }),
      async (jobs, [ofA, ofB], changes, workers) => {
        const clock = new ManualClock(START);
        const limits = new Map([
          ['a', { ...PAID, ...ofA }],
          ['b', { ...PAID, ...ofB }],
        ]);
        const shared = new SharedLimits(clock, (accountId) => limits.get(accountId)!);
        const open = new Map(['a', 'b'].map((id) => [id, new OpenLanes<Job>(clock)]));
        const keyed = new Map(['a', 'b'].map((id) => [id, new FlowLanes<Job>(clock, 1e9)]));
        const laneOf = ({ accountId, url, key }: Job) =>
          key === undefined
            ? open.get(accountId)!.of(url)
            : keyed.get(accountId)!.use({ key: `k${key}`, parallelism: key + 1 });
        const running = new Set<Job>();
        const done = new Set<Job>();
        const bytes = new Map<string, number[]>();
        const dispatcher = new Dispatcher<Job>({
          clock,
          workers,
          shared: {
            holding: (item) => shared.holding(item),
            begin: (item) => shared.begin(item),
            end: (item) => shared.end(item),
          },
          start: (item, lane) => {
            running.add(item);
            const { parallelism, globalParallelism, bytesPerSecond } = limits.get(item.accountId)!;
            const mine = [...running].filter((other) => other.accountId === item.accountId);
            expect(running.size).toBeLessThanOrEqual(workers);
            expect(mine.length).toBeLessThanOrEqual(globalParallelism);
            expect(mine.filter((other) => other.url === item.url).length).toBeLessThanOrEqual(parallelism);
            const second = `${item.accountId} ${Math.floor(clock.monotonic() / 1_000)}`;
            const sent = [...(bytes.get(second) ?? []), item.bytes];
            bytes.set(second, sent);
            const total = sent.reduce((sum, size) => sum + size, 0);
            const alone = total === item.bytes;
            expect(alone || total <= bytesPerSecond).toBe(true);
            clock.after(item.takesMs, () => {
              running.delete(item);
              done.add(item);
              dispatcher.done(item, lane);
            });
          },
        });
        for (const { atMs, accountId, to } of changes) {
          clock.after(atMs, () => {
            limits.set(accountId, { ...PAID, ...to });
            dispatcher.wakeHeld();
          });
        }
        for (const item of jobs) clock.after(item.arrivesMs, () => dispatcher.offer(item, laneOf(item)));
        while (clock.nextIn !== undefined) {
          await clock.advance(clock.nextIn);
          if (running.size === workers) continue;
          for (const item of jobs) {
            const lane = laneOf(item);
            if (!lane.waiting.has(item) || !lane.admission().open) continue;
            // An item that exceeds a second's bytes blocks all smaller items behind it.
            const ofBytes = jobs.some(
              (other) =>
                other.accountId === item.accountId &&
                laneOf(other).waiting.has(other) &&
                shared.holding(other)?.opensInMs !== undefined,
            );
            expect(ofBytes || shared.holding(item) !== undefined).toBe(true);
          }
        }
        expect(done.size).toBe(jobs.length);
      },
    ),
    { numRuns: 300 },
  );
});

describe('over HTTP', () => {
  /** Starts a sink that holds its responses until they are released. */
  async function holdingSink() {
    const held: (() => void)[] = [];
    const sink = await httpSink((_request, response) => void held.push(() => response.end()));
    return { sink, held };
  }

  test("the free plan's ten concurrent deliveries to all URLs; the next begin as those end, or as the plan grows", async () => {
    const { sink, held } = await holdingSink();
    const service = await world({ enforceLimits: true, accounts: [{ id: ACCOUNT, token: TOKEN, plan: 'free' }] });
    for (let index = 0; index < 30; index++) {
      const answer = await service.call('POST', `/v2/publish/${sink.url}/${index % 3}`);
      expect(answer.status).toBe(200);
    }
    const active = (): number => service.emulator.messages(ACCOUNT).filter(({ state }) => state === 'ACTIVE').length;
    await expect.poll(() => held.length).toBe(10);
    expect(active()).toBe(10);
    held.shift()!();
    await expect.poll(() => sink.requests.length).toBe(11);
    expect(active()).toBe(10);
    service.emulator.accounts.setPlan(ACCOUNT, { plan: 'paid', now: START });
    expect(active()).toBe(29);
    await expect.poll(() => held.length).toBe(29);
    for (const end of held) end();
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(30);
  });

  test("the paid plan's hundred to one URL delay neither another URL nor a message with a key", async () => {
    const { sink, held } = await holdingSink();
    const other = await httpSink();
    const service = await world({ enforceLimits: true });
    const headers = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'parallelism=200' };
    for (let index = 0; index < 104; index++) {
      await service.call('POST', `/v2/publish/${sink.url}/`, index % 2 === 0 ? {} : { headers });
    }
    expect((await service.call('POST', `/v2/publish/${other.url}/`)).status).toBe(200);
    await service.call('POST', `/v2/publish/${other.url}/`, { headers });
    await expect.poll(() => [held.length, other.requests.length]).toEqual([100, 2]);
    for (const end of held.splice(0)) end();
    await expect.poll(() => held.length).toBe(4);
    for (const end of held) end();
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(104);
  });

  test('deliveries beyond the bytes of a second wait for the next second', async () => {
    const sink = await httpSink();
    const service = await world({ enforceLimits: true, accounts: [{ id: ACCOUNT, token: TOKEN, plan: 'free' }] });
    // The free plan allows 10 MiB per second, and each message has 1 MiB.
    const body = new Uint8Array(1_048_576);
    const answers = Array.from({ length: 12 }, () => service.call('POST', `/v2/publish/${sink.url}/`, { body }));
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(12).fill(200));
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(10);
    await service.clock.advance(999);
    expect(sink.requests).toHaveLength(10);
    await service.clock.advance(1);
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(12);
  });
});

test('lanes of idle URLs are removed, busy ones are not', () => {
  const lanes = new OpenLanes<number>(new ManualClock(START));
  const busy = lanes.of('busy');
  busy.waiting.add(1);
  for (let index = 0; index < 5_000; index++) lanes.of(`http://a.example/${index}`);
  expect(lanes.size).toBeLessThanOrEqual(1_000);
  expect(lanes.of('busy')).toBe(busy);
});

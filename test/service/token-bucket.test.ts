/** The local rate limit: never more than its rate, in order of arrival, slower after a 429. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TokenBucket } from '#service/token-bucket.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { call, clientUnderTest, json } from './client-under-test.ts';

const { signal } = call;

/** A bucket of one request a second, whose first one was taken. */
async function emptied() {
  const clock = new ManualClock(0);
  const bucket = new TokenBucket(1, clock);
  await bucket.take(signal);
  return { clock, bucket };
}

describe('token bucket', () => {
  test('under any arrivals: in order, none lost, never more than capacity + rate × time, none later than it must be', async () => {
    const arrivals = fc.array(fc.record({ after: fc.integer({ min: 0, max: 3_000 }), leaves: fc.boolean() }), {
      minLength: 1,
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0.2, max: 20, noNaN: true }), arrivals, async (rate, plan) => {
        const clock = new ManualClock(0);
        const bucket = new TokenBucket(rate, clock);
        const granted: { readonly id: number; readonly at: number }[] = [];
        const left: number[] = [];
        for (const [id, { after, leaves }] of plan.entries()) {
          await clock.advance(after);
          const controller = new AbortController();
          bucket.take(controller.signal).then(
            () => granted.push({ id, at: clock.monotonic() }),
            () => left.push(id),
          );
          await clock.advance(0);
          if (leaves) controller.abort(new Error('left'));
        }
        // The longest possible queue drains at the rate.
        await clock.advance((plan.length / rate) * 1_000 + 1);

        expect(granted.length + left.length).toBe(plan.length);
        expect(granted.map(({ id }) => id)).toEqual(granted.map(({ id }) => id).toSorted((a, b) => a - b));
        const capacity = Math.max(1, rate);
        for (const [from, first] of granted.entries()) {
          for (let to = from; to < granted.length; to += 1) {
            const seconds = (granted[to]!.at - first.at) / 1_000;
            expect(to - from + 1).toBeLessThanOrEqual(capacity + rate * seconds + 1e-3);
          }
        }
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  test('a full bucket serves its capacity at once, then one a period', async () => {
    const clock = new ManualClock(0);
    const bucket = new TokenBucket(2, clock);
    const waits: number[] = [];
    for (let taken = 0; taken < 4; taken += 1) void bucket.take(signal).then((wait) => waits.push(wait));
    await clock.advance(0);
    expect(waits).toEqual([0, 0]);
    await clock.advance(499);
    expect(waits).toHaveLength(2);
    await clock.advance(1);
    expect(waits).toEqual([0, 0, 500]);
    await clock.advance(500);
    expect(waits).toEqual([0, 0, 500, 1_000]);
  });

  test('slower than one a second still holds one', async () => {
    const clock = new ManualClock(0);
    const bucket = new TokenBucket(0.1, clock);
    expect(await bucket.take(signal)).toBe(0);
    const second = bucket.take(signal);
    await clock.advance(10_000);
    expect(await second).toBe(10_000);
  });

  test('a waiter that leaves costs nothing, and an aborted one does not queue', async () => {
    const { clock, bucket } = await emptied();
    const controller = new AbortController();
    const leaver = bucket.take(controller.signal);
    const next = bucket.take(signal);
    const reason = new Error('left');
    controller.abort(reason);
    await expect(leaver).rejects.toBe(reason);
    await expect(bucket.take(controller.signal)).rejects.toBe(reason);
    await clock.advance(1_000);
    expect(await next).toBe(1_000);
    expect(clock.timers).toBe(0);
  });

  test('the last waiter that leaves leaves no timer behind', async () => {
    const { clock, bucket } = await emptied();
    const controller = new AbortController();
    const leaver = bucket.take(controller.signal);
    controller.abort(new Error('left'));
    await expect(leaver).rejects.toThrow('left');
    expect(clock.timers).toBe(0);
  });

  test('no waiter overtakes, even when the timer is late', async () => {
    let now = 0;
    const due: (() => void)[] = [];
    const late: Clock = {
      now: () => now,
      monotonic: () => now,
      after: (_ms, run) => {
        due.push(run);
        return { cancel: () => undefined, [Symbol.dispose]: () => undefined };
      },
    };
    const bucket = new TokenBucket(1, late);
    await bucket.take(signal);
    const served: string[] = [];
    const second = bucket.take(signal).then(() => served.push('second'));
    now = 1_000;
    const third = bucket.take(signal).then(() => served.push('third'));
    due.at(-1)!();
    await second;
    now = 2_000;
    due.at(-1)!();
    await third;
    expect(served).toEqual(['second', 'third']);
  });

  test('a jump of the wall clock changes nothing', async () => {
    const { clock, bucket } = await emptied();
    let served = false;
    void bucket.take(signal).then(() => {
      served = true;
    });
    clock.jump(86_400_000);
    await clock.advance(999);
    expect(served).toBe(false);
    await clock.advance(1);
    expect(served).toBe(true);
  });

  test('halves, once for all requests in progress, with a lower bound, and recovers by a twentieth', async () => {
    const clock = new ManualClock(0);
    const bucket = new TokenBucket(10, clock);
    await clock.advance(10);
    bucket.slowDown(5);
    bucket.slowDown(6);
    expect(bucket.rate).toBe(5);
    for (let again = 0; again < 50; again += 1) {
      await clock.advance(1);
      bucket.slowDown(clock.monotonic());
    }
    expect(bucket.rate).toBeCloseTo(10 / 32);
    bucket.recover();
    expect(bucket.rate).toBeCloseTo(10 / 32 + 0.5);
    for (let good = 0; good < 50; good += 1) bucket.recover();
    expect(bucket.rate).toBe(10);
  });

  test('waiting requests already use the lower rate', async () => {
    const { clock, bucket } = await emptied();
    const waiting = bucket.take(signal);
    await clock.advance(500);
    bucket.slowDown(500);
    await clock.advance(1_000);
    expect(await waiting).toBe(1_500);
  });
});

describe('in the client', () => {
  test('a request that had to wait reports it; each API has its own bucket', async () => {
    const clock = new ManualClock(0);
    const client = await clientUnderTest({ clock, limits: { requestsPerSecond: 1 }, answer: json('{"deleted":0}') });
    await client.message.deleteWorkflowDlq(['a'], call);
    const second = client.message.deleteWorkflowDlq(['a'], call);
    client.sink.answerWith(json('"OK"'));
    await client.management.updateBudget('a', 20, call);
    client.sink.answerWith(json('{"deleted":0}'));
    expect(client.eventsOf('api.throttled')).toEqual([]);
    await clock.advance(1_000);
    await second;
    expect(client.eventsOf('api.throttled')).toEqual([
      { type: 'api.throttled', account: 'production', api: 'message', waitMs: 1_000 },
    ]);
  });

  test('an urgent request waits only for others of its kind', async () => {
    const { clock, bucket } = await emptied();
    const served: string[] = [];
    const take = (name: string, urgent: boolean) => bucket.take(signal, urgent).then(() => served.push(name));
    const all = [take('read 1', false), take('read 2', false), take('write 1', true), take('write 2', true)];
    await clock.advance(4_000);
    await Promise.all(all);
    expect(served).toEqual(['write 1', 'write 2', 'read 1', 'read 2']);
  });

  test('a 429 halves the rate, successes restore it', async () => {
    const clock = new ManualClock(0);
    const client = await clientUnderTest({ clock, limits: { requestsPerSecond: 1 }, answer: json('', 429) });
    await client.message.deleteWorkflowDlq(['a'], call).catch(() => undefined);
    client.sink.answerWith(json('{"deleted":0}'));
    const second = client.message.deleteWorkflowDlq(['a'], call);
    await clock.advance(2_000);
    await second;
    const third = client.message.deleteWorkflowDlq(['a'], call);
    await clock.advance(2_000);
    await third;
    const waits = client.eventsOf('api.throttled').map((event) => event.waitMs);
    expect(waits[0]).toBe(2_000);
    expect(waits[1]).toBeCloseTo(1_000 / 0.55);
  });
});

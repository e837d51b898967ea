import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SteerableClock } from '#emulator/control/steerable-clock.ts';
import { TimerQueue } from '#emulator/control/timer-queue.ts';
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { START } from '../world.ts';

const atOnce = async (): Promise<void> => undefined;

describe('the timer queue', () => {
  test('returns active timers in the order of time, then of insertion, whatever number is canceled', () => {
    const operation = fc.record({ due: fc.nat(50), cancel: fc.boolean() });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const queue = new TimerQueue();
        const taken: number[] = [];
        const timers = operations.map(({ due }, index) => queue.add(due, () => taken.push(index)));
        for (const [index, { cancel }] of operations.entries()) if (cancel) timers[index]!.cancel();
        const left = operations.map(({ due, cancel }, index) => ({ due, cancel, index })).filter((one) => !one.cancel);
        expect(queue.size).toBe(left.length);
        for (let run = queue.takeDue(25); run !== undefined; run = queue.takeDue(25)) run();
        const due = left.filter((one) => one.due <= 25).sort((a, b) => a.due - b.due || a.index - b.index);
        expect(taken).toEqual(due.map((one) => one.index));
      }),
    );
  });

  test('removes canceled timers', () => {
    const queue = new TimerQueue();
    const kept = queue.add(7, () => undefined);
    for (let index = 0; index < 10_000; index++) queue.add(1_000_000 - index, () => undefined).cancel();
    expect(queue.size).toBe(1);
    expect(queue.nextDue).toBe(7);
    kept.cancel();
    kept.cancel();
    expect([queue.size, queue.nextDue]).toEqual([0, undefined]);
  });
});

describe('the steerable clock', () => {
  test('has whole milliseconds, whatever fractions timers, moves and the real clock have', async () => {
    let monotonic = 7.3;
    const idle = { cancel: () => undefined, [Symbol.dispose]: () => undefined };
    const base = { now: () => 1_000, monotonic: () => (monotonic += 0.4), after: () => idle };
    const clock = new SteerableClock({ base, mode: 'real', startAt: START + 0.7 });
    const moments: number[] = [];
    for (const ms of [0.25, 12_182, 99.9]) clock.after(ms, () => moments.push(clock.now()));
    await clock.advance(50_000.5, atOnce);
    await clock.setMode('virtual');
    expect(moments).toHaveLength(3);
    expect([...moments, clock.now()].filter((moment) => !Number.isInteger(moment))).toEqual([]);
    expect(clock.now()).toBeGreaterThanOrEqual(START + 50_000);
  });

  test('begins at the requested time, in whole milliseconds, although the base continues', () => {
    let wall = 1_000;
    let monotonic = 7.3;
    const base = { now: () => wall++, monotonic: () => (monotonic += 0.4), after: () => expect.unreachable('armed') };
    const clock = new SteerableClock({ base, mode: 'virtual', startAt: START });
    expect(clock.now()).toBe(START);
    expect(Number.isInteger(clock.monotonic())).toBe(true);
    clock.after(12_182, () => undefined);
    expect(clock.nextIn).toBe(12_182);
  });

  test('virtual time stops while real time passes, and fires each timer at its due time', async () => {
    const base = new ManualClock(START);
    const clock = new SteerableClock({ base, mode: 'virtual', startAt: 1_000 });
    const seen: (readonly [string, number])[] = [];
    clock.after(50, () => {
      seen.push(['first', clock.now()]);
      clock.after(25, () => seen.push(['of the first', clock.now()]));
    });
    clock.after(90, () => seen.push(['canceled', clock.now()])).cancel();
    clock.after(100, () => seen.push(['last', clock.now()]));
    await base.advance(1_000_000);
    expect([clock.now(), clock.timers, seen]).toEqual([1_000, 2, []]);
    await clock.advance(99, atOnce);
    expect([clock.now(), clock.nextIn]).toEqual([1_099, 1]);
    await clock.advance(1, atOnce);
    expect(seen).toEqual([
      ['first', 1_050],
      ['of the first', 1_075],
      ['last', 1_100],
    ]);
  });

  test('skips to the next timer when that is allowed, and the next move awaits its work', async () => {
    const clock = new SteerableClock({ base: new ManualClock(START), mode: 'virtual' });
    const pending = Promise.withResolvers<void>();
    const seen: number[] = [];
    clock.after(10, () => seen.push(clock.now()));
    clock.after(70, () => seen.push(clock.now()));
    await clock.skip(() => false, atOnce);
    expect([clock.now(), seen]).toEqual([START, []]);
    const first = clock.skip(
      () => true,
      () => pending.promise,
    );
    const second = clock.skip(() => true, atOnce);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(seen).toEqual([START + 10]);
    pending.resolve();
    await Promise.all([first, second]);
    expect(seen).toEqual([START + 10, START + 70]);
    await clock.setMode('real');
    clock.after(5, () => expect.unreachable('skipped in real time'));
    await clock.skip(() => true, atOnce);
  });

  test('does not move while the work of a timer is pending', async () => {
    const clock = new SteerableClock({ base: new ManualClock(START), mode: 'virtual' });
    const pending = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    let work = Promise.resolve();
    clock.after(10, () => {
      work = pending.promise;
      reached.resolve();
    });
    const moved = clock.advance(1_000, () => work);
    await reached.promise;
    expect(clock.now()).toBe(START + 10);
    pending.resolve();
    await moved;
    expect(clock.now()).toBe(START + 1_000);
  });

  test('real time continues from the last virtual time, and can be moved too', async () => {
    const base = new ManualClock(START);
    const clock = new SteerableClock({ base, mode: 'virtual', startAt: START + 5_000 });
    const fired: number[] = [];
    clock.after(60_000, () => fired.push(clock.now()));
    await clock.advance(10_000, atOnce);
    await clock.setMode('real');
    await base.advance(20_000);
    expect([clock.mode, clock.now(), clock.monotonic()]).toEqual(['real', START + 35_000, 30_000]);
    await clock.advance(29_999, atOnce);
    expect([clock.now(), fired]).toEqual([START + 64_999, []]);
    await base.advance(1);
    expect(fired).toEqual([START + 65_000]);
    await clock.setMode('virtual');
    clock.after(1, () => fired.push(0));
    await base.advance(1_000);
    expect([clock.now(), fired.length, base.timers]).toEqual([START + 65_000, 1, 0]);
  });

  test('overlapping moves run in order, and a close ends them', async () => {
    const clock = new SteerableClock({ base: new ManualClock(START), mode: 'virtual' });
    clock.after(50, () => clock.close());
    clock.after(60, () => expect.unreachable('a timer fired after the close'));
    const both = [clock.advance(20, atOnce), clock.advance(20, atOnce)];
    await Promise.all(both);
    expect(clock.now()).toBe(START + 40);
    await clock.advance(100, atOnce);
    expect(clock.now()).toBe(START + 50);
  });
});

import { expect, test } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { sleep, TimeoutError, withTimeout } from '#foundation/platform/sleep.ts';

const never = new AbortController().signal;

test('the manual clock fires timers at their own times, in order, also those set in between', async () => {
  const clock = new ManualClock(1_000);
  const fired: string[] = [];
  clock.after(30, () => fired.push(`c@${clock.now()}`));
  clock.after(10, () => {
    fired.push(`a@${clock.now()}`);
    clock.after(5, () => fired.push(`b@${clock.now()}`));
  });
  const cancelled = clock.after(20, () => fired.push('cancelled'));
  cancelled.cancel();
  expect(clock.nextIn).toBe(10);
  await clock.advance(30);
  expect(fired).toEqual(['a@1010', 'b@1015', 'c@1030']);
  expect(clock.timers).toBe(0);
});

test('a jump of the wall clock moves no timer', async () => {
  const clock = new ManualClock(1_000);
  let fired = false;
  clock.after(10, () => (fired = true));
  clock.jump(3_600_000);
  await clock.advance(9);
  expect([clock.now(), clock.monotonic(), fired]).toEqual([3_601_009, 9, false]);
  await clock.advance(1);
  expect(fired).toBe(true);
});

test('sleep ends after its time, or with the reason of its signal, and leaves no timer', async () => {
  const clock = new ManualClock(0);
  const slept = sleep(clock, 100, never);
  await clock.advance(100);
  await slept;
  const controller = new AbortController();
  const stopped = sleep(clock, 100, controller.signal);
  controller.abort(new Error('shutting down'));
  await expect(stopped).rejects.toThrow('shutting down');
  await expect(sleep(clock, 1, controller.signal)).rejects.toThrow('shutting down');
  expect(clock.timers).toBe(0);
});

test('withTimeout aborts the work and reports how long it waited', async () => {
  const clock = new ManualClock(0);
  const late = withTimeout(clock, 50, never, (signal) => sleep(clock, 1_000, signal));
  await Promise.all([expect(late).rejects.toThrow(new TimeoutError('no result within 50 ms')), clock.advance(50)]);
  expect(await withTimeout(clock, 50, never, () => Promise.resolve('in time'))).toBe('in time');
  expect(clock.timers).toBe(0);
});

test('the system clock waits at least as long as requested, beyond the longest timer of Node too', async () => {
  const started = systemClock.monotonic();
  // Node fires a timer of more than 2^31 ms at once.
  let early = false;
  using _far = systemClock.after(2 ** 31 + 1_000, () => (early = true));
  const keepAlive = setInterval(() => undefined, 1_000);
  await sleep(systemClock, 20, never);
  clearInterval(keepAlive);
  expect(systemClock.monotonic() - started).toBeGreaterThanOrEqual(20);
  expect(early).toBe(false);
});

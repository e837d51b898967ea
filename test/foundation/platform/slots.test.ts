import { expect, test } from 'vitest';
import { Slots } from '#foundation/platform/slots.ts';

/** Work that ends when the test says so. */
function works(slots: Slots, signal?: AbortSignal) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const work = { hasBegun: false, end: resolve, fail: reject, done: Promise.resolve('') };
  work.done = slots.run(() => ((work.hasBegun = true), promise), signal);
  work.done.catch(() => undefined);
  return work;
}

test('a limited number runs at the same time, the rest in its order', async () => {
  const slots = new Slots(2);
  const [a, b, c, d] = [works(slots), works(slots), works(slots), works(slots)];
  const begun = () => [a, b, c, d].map(({ hasBegun }) => hasBegun);
  await Promise.resolve();
  expect(begun()).toEqual([true, true, false, false]);
  b.end('b');
  expect(await b.done).toBe('b');
  await Promise.resolve();
  expect(begun()).toEqual([true, true, true, false]);
  a.fail(new Error('a failed'));
  await expect(a.done).rejects.toThrow('a failed');
  await Promise.resolve();
  expect(begun()).toEqual([true, true, true, true]);
});

test('an aborted wait ends at once, and takes no slot', async () => {
  const slots = new Slots(1);
  const controller = new AbortController();
  const first = works(slots);
  const second = works(slots, controller.signal);
  const third = works(slots);
  controller.abort(new Error('too late'));
  await expect(second.done).rejects.toThrow('too late');
  expect(second.hasBegun).toBe(false);
  first.end('');
  await first.done;
  await Promise.resolve();
  expect(third.hasBegun).toBe(true);
  await expect(slots.run(async () => '', controller.signal)).rejects.toThrow('too late');
});

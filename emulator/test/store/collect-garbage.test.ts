import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { collectGarbage } from '#emulator/store/collect-garbage.ts';

test('collects unreferenced objects at once, and leaves no function behind', async () => {
  const left = new WeakRef({ large: Array.from({ length: 100_000 }, () => 0) });
  const kept = new WeakRef({ large: [1] });
  const held = kept.deref();
  // An inspected object stays until the end of its turn.
  await turn();
  collectGarbage();
  expect(left.deref()).toBeUndefined();
  expect(kept.deref()).toBe(held);
  expect(globalThis).not.toHaveProperty('gc');
});

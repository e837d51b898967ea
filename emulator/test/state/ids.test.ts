/** Ids that contain their time: later ones sort after earlier ones, and no two are equal. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { orderedId, randomId } from '#emulator/state/ids.ts';
import { seededRandom } from '#foundation/platform/random.ts';

test('ids of messages sort by their time, byte by byte', () => {
  const moment = fc.integer({ min: 0, max: 8_640_000_000_000 });
  fc.assert(
    fc.property(moment, moment, fc.integer(), (a, b, seed) => {
      fc.pre(a !== b);
      const random = seededRandom(seed);
      expect(orderedId('msg_', a, random) < orderedId('msg_', b, random)).toBe(a < b);
    }),
  );
});

test('ids of the same time differ, and look like all others', () => {
  const random = seededRandom(1);
  const ids = new Set(Array.from({ length: 10_000 }, () => orderedId('msg_', 1_795_176_000_000, random)));
  expect(ids.size).toBe(10_000);
  for (const id of [...ids].slice(0, 10)) expect(id).toMatch(/^msg_[1-9A-HJ-NP-Za-km-z]{22}$/);
  expect(randomId('msg_', random)).toMatch(/^msg_[1-9A-HJ-NP-Za-km-z]{22}$/);
});

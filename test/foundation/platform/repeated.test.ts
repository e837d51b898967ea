/** The texts that several items of a list have, even if different texts have the same hash. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { repeated } from '#foundation/platform/repeated.ts';

/** Different texts with one FNV-1a hash. */
const COLLIDING = ['costarring', 'liquid', 'declinate', 'macallums', 'altarage', 'zinke'];

test('every text of several items, and no other', () => {
  const texts = fc.array(fc.oneof(fc.constantFrom(...COLLIDING), fc.string({ maxLength: 2 })));
  fc.assert(
    fc.property(texts, (list) => {
      const wanted = list.filter((text, index) => list.indexOf(text) !== index);
      expect(repeated(list, (text) => text)).toEqual(new Set(wanted));
    }),
  );
});

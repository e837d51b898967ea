/** The scan for bounds agrees with the parser about depth and number of values, for any JSON. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exceededJsonBound } from '#foundation/platform/json-bounds.ts';

const ANY = Number.MAX_SAFE_INTEGER;

/** Short and long texts that resemble structure. */
const text = fc
  .array(fc.constantFrom('"', '\\', '\\"', ',', '[', ']', '{', '}', 'é', '😀', 'x'.repeat(40), 'y'.repeat(9)), {
    maxLength: 8,
  })
  .map((parts) => parts.join(''));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, text, fc.double(), fc.constantFrom(null, true), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(text, tie('value'), { maxKeys: 4 }),
}));

function depthOf(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 0;
  return 1 + Math.max(0, ...Object.values(json).map(depthOf));
}

/** Counts objects and lists, and their members after the first. */
function valuesOf(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 0;
  const members = Object.values(json);
  return 1 + Math.max(0, members.length - 1) + members.reduce<number>((sum, member) => sum + valuesOf(member), 0);
}

test('bounds equal to a value hold, and one less does not', () => {
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 2), (json, indent) => {
      const bytes = Buffer.from(JSON.stringify(json, null, indent));
      const [depth, values] = [depthOf(json), valuesOf(json)];
      expect(exceededJsonBound(bytes, { depth, values })).toBeUndefined();
      if (depth === 0) return;
      expect(exceededJsonBound(bytes, { depth: depth - 1, values: ANY })).toContain('levels');
      expect(exceededJsonBound(bytes, { depth: ANY, values: values - 1 })).toContain('values');
    }),
    { numRuns: 2_000 },
  );
});

test('any part of broken JSON that the parser accepts is within the bounds', () => {
  const bounds = { depth: 3, values: 6 };
  fc.assert(
    fc.property(value, fc.nat(), fc.constantFrom('', '"', '\\', ']', '[[[[', ',,,,,,,'), (json, at, junk) => {
      const whole = JSON.stringify(json);
      const cut = at % (whole.length + 1);
      const broken = whole.slice(0, cut) + junk + whole.slice(cut);
      let parsed: unknown;
      try {
        parsed = JSON.parse(broken);
      } catch {
        return;
      }
      if (exceededJsonBound(Buffer.from(broken), bounds) !== undefined) return;
      expect(depthOf(parsed)).toBeLessThanOrEqual(bounds.depth);
      // A repeated key is one member, but two are counted.
      expect(valuesOf(parsed)).toBeLessThanOrEqual(bounds.values);
    }),
    { numRuns: 2_000 },
  );
});

test('a text that is cut has no end, and no bound', () => {
  for (const text of ['"', '"\\', '["abc', `["${'x'.repeat(100)}`, `["${'x'.repeat(100)}\\"`]) {
    expect(exceededJsonBound(Buffer.from(text), { depth: 1, values: 1 })).toBeUndefined();
  }
});

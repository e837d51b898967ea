import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatStamp, isStamp, parseStamp } from '#foundation/domain/lineage.ts';
import { leastMode, POLICY_MODES } from '#foundation/domain/plan.ts';

test('the lowest of several modes applies, in any order', () => {
  expect(leastMode('enforce', 'audit', 'approve')).toBe('audit');
  expect(leastMode('enforce', 'enforce')).toBe('enforce');
  const mode = fc.constantFrom(...POLICY_MODES);
  fc.assert(
    fc.property(fc.array(mode, { minLength: 1 }), mode, (modes, other) => {
      const least = leastMode(...modes, other);
      expect(POLICY_MODES.indexOf(least)).toBeLessThanOrEqual(POLICY_MODES.indexOf(other));
      expect([...modes, other]).toContain(least);
    }),
  );
});

test('a stamp survives its way through a label, and no other text is parsed as one', () => {
  const word = fc.stringMatching(/^[\w-]{1,20}$/);
  fc.assert(
    fc.property(word, word, fc.integer({ min: 1, max: 9_999 }), (instance, lineage, attempt) => {
      const label = formatStamp({ instance, lineage, attempt });
      expect(isStamp(label)).toBe(true);
      expect(label).not.toContain(',');
      expect(parseStamp(label)).toEqual({ instance, lineage, attempt });
    }),
  );
  for (const label of [
    'billing',
    'opsd',
    'opsd:a:b',
    'opsd:a:b:c',
    'opsd:a:b:-1',
    'opsd:a:b:1:2',
    'xopsd:a:b:1',
    'opsd::b:1',
  ]) {
    expect(parseStamp(label), label).toBeUndefined();
  }
});

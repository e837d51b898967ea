import fc from 'fast-check';
import { expect, test } from 'vitest';
import { diffOf } from '#operate/show/diff.ts';

test('marks removed and added lines between common ones', () => {
  expect(diffOf('a\nb\nc', 'a\nB\nc\nd')).toBe('  a\n- b\n+ B\n  c\n+ d');
  expect(diffOf('same', 'same')).toBe('  same');
});

test('has all lines of both texts, in their order', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', '')).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffOf(before, after)!.split('\n');
      const of = (...marks: string[]) =>
        lines
          .filter((line) => marks.includes(line[0]!))
          .map((line) => line.slice(2))
          .join('\n');
      expect(of(' ', '-')).toBe(before);
      expect(of(' ', '+')).toBe(after);
    }),
  );
});

test('of long texts is not made', () => {
  expect(diffOf('a\n'.repeat(1_001), 'a')).toBeUndefined();
});

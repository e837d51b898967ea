import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '#foundation/domain/duration.ts';

test.each([
  ['30s', 30_000],
  ['1h30m', 5_400_000],
  ['1d1h30m', 91_800_000],
  ['250ms', 250],
  ['1.5h', 5_400_000],
  ['0s', 0],
])('%s is %d ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', '30', 's', '-5s', '5 s', '5S', '1h30', 'h1', '1e3s', '٣s', '5s '])('%j is not a duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test('a written duration can be parsed, and differs by less than its smallest unit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 * 86_400_000 }), (ms) => {
      const text = formatDuration(ms);
      const read = parseDuration(text)!;
      const least = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 }[
        text.at(-1) === 's' && text.endsWith('ms') ? 'x' : text.at(-1)!
      ];
      expect(Math.abs(read - ms)).toBeLessThanOrEqual(least ?? 1);
    }),
  );
});

import { expect, test } from 'vitest';
import { retryAfter } from '#foundation/platform/retry-after.ts';

const NOW = Date.UTC(2026, 10, 20, 10, 0, 0);

test.each([
  ['120', 120_000],
  ['600', 600_000],
  ['601', 600_000],
  ['9'.repeat(400), 600_000],
  ['Fri, 20 Nov 2026 10:00:09 GMT', 9_000],
  ['Friday, 20-Nov-26 10:00:09 GMT', 9_000],
  ['Fri Nov 20 10:00:09 2026', 9_000],
  ['Fri, 20 Nov 2099 10:00:00 GMT', 600_000],
  ['Fri, 20 Nov 2026 09:59:59 GMT', undefined],
  ['0', undefined],
  ['-1', undefined],
  ['-0', undefined],
  ['0.5', undefined],
  ['12.5', undefined],
  ['1e9', undefined],
  ['0x10', undefined],
  ['2099', 600_000],
  ['2099-01-01', undefined],
  ['1, 2', undefined],
  ['soon', undefined],
  ['Infinity', undefined],
  ['', undefined],
])('Retry-After %s is %j', (text, ms) => {
  expect(retryAfter(text, NOW)).toBe(ms);
});

test('no header is no wait', () => {
  expect(retryAfter(undefined, NOW)).toBeUndefined();
});

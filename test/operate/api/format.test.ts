import { describe, expect, test } from 'vitest';
import { formatAge, formatCount, formatTime } from '#operate/api/format.ts';

const NOW = Date.UTC(2026, 10, 18, 10, 30, 0);

describe('formatAge', () => {
  test.each([
    [0, 'now'],
    [400, 'now'],
    [12_000, '12 s ago'],
    [59_499, '59 s ago'],
    [60_000, '1 min ago'],
    [90_000, '1 min 30 s ago'],
    [120_000, '2 min ago'],
    [3_600_000, '1 h ago'],
    [3_627_000, '1 h ago'],
    [5_400_000, '1 h 30 min ago'],
    [6_027_000, '1 h 40 min ago'],
    [2 * 3_600_000 + 27_000, '2 h ago'],
    [10 * 3_600_000 - 1, '10 h ago'],
    [3 * 3_600_000, '3 h ago'],
    [47.6 * 3_600_000, '48 h ago'],
    [70 * 3_600_000, '2 d 22 h ago'],
    [10 * 24 * 3_600_000 - 1, '10 d ago'],
    [72 * 3_600_000, '3 d ago'],
    [-45_000, 'in 45 s'],
  ])('%d ms back is %s', (ms, text) => {
    expect(formatAge(NOW - ms, NOW)).toBe(text);
  });
});

test('times are UTC, and an invalid time stays a number', () => {
  expect(formatTime(NOW)).toBe('2026-11-18 10:30:00Z');
  expect(formatTime(1e20)).toBe('100000000000000000000');
  expect(formatTime(Number.NaN)).toBe('NaN');
});

test('counts have thousands', () => {
  expect(formatCount(1_234_567)).toBe('1,234,567');
});

import { describe, expect, test } from 'vitest';
import { formatAge, formatCount, formatTime } from '#operate/api/format.ts';

const NOW = Date.UTC(2026, 10, 18, 10, 30, 0);

describe('formatAge', () => {
  test.each([
    [0, 'now'],
    [400, 'now'],
    [12_000, '12 s ago'],
    [90_000, '90 s ago'],
    [120_000, '2 min ago'],
    [5_400_000, '90 min ago'],
    [3 * 3_600_000, '3 h ago'],
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

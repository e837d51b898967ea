/** Suggestions for mistyped names. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editDistance, nearest } from '#foundation/domain/suggest.ts';

const KEYS = ['name', 'messageApi', 'token', 'tokenFile', 'url', 'timeout', 'timezone', 'max'];

describe('nearest', () => {
  test.each([
    ['tokne', 'token'],
    ['token_file', 'tokenFile'],
    ['MessageAPI', 'messageApi'],
    ['timeuot', 'timeout'],
    ['nam', 'name'],
    ['ur', 'url'],
    ['every', undefined],
    ['x', undefined],
    ['', undefined],
    ['Api', undefined],
    ['File', 'tokenFile'],
  ])('%j suggests %s', (word, meant) => {
    expect(nearest(word, KEYS)).toBe(meant);
  });

  test('the nearest of two wins', () => {
    expect(nearest('timezonee', KEYS)).toBe('timezone');
  });
});

describe('editDistance', () => {
  test('counts a swap of neighbours once', () => {
    expect(editDistance('abcd', 'acbd')).toBe(1);
  });

  test('is a distance', () => {
    const word = fc.stringMatching(/^[abc]{0,6}$/);
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
        expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
      }),
    );
  });
});

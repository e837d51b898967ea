import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultBackoff, retryDelay } from '#emulator/delivery/backoff.ts';
import { compileRetryDelay, ExpressionError } from '#emulator/state/retry-delay.ts';

describe('retry-delay expressions', () => {
  test.each([
    ['1000', 3, 1000],
    ['1000 * (1 + retried)', 2, 3000],
    ['pow(2, retried) * 1000', 3, 8000],
    ['max(10000, pow(2, retried) * 100)', 1, 10_000],
    ['min(60e3, exp(retried) * 1000)', 0, 1000],
    ['sqrt(16) + abs(-2) + floor(1.9) + ceil(1.1) + round(2.5)', 0, 12],
    ['pow(3, retried)', 4, 81],
    ['exp(retried)', 2, Math.exp(2)],
    ['sqrt(retried)', 9, 3],
    ['abs(retried - 5)', 2, 3],
    ['abs(retried + 5)', 2, 7],
    ['floor(-1.5)', 0, -2],
    ['ceil(-1.5)', 0, -1],
    ['round(2.4)', 0, 2],
    ['round(2.6)', 0, 3],
    ['min(retried, 3)', 2, 2],
    ['min(retried, 3)', 4, 3],
    ['max(retried, 3)', 2, 3],
    ['max(retried, 3)', 4, 4],
    ['-retried + 10 - 3 - 2', 1, 4],
    ['7 % 4 * 2 / 3', 0, 2],
    [' ( ( .5 ) ) ', 0, 0.5],
    ['-(-(3))', 0, 3],
  ])('%s with retried=%d is %d', (source, retried, expected) => {
    expect(compileRetryDelay(source)(retried)).toBeCloseTo(expected);
  });

  test.each([
    ['', /ends too early/],
    ['1 +', /ends too early/],
    ['1 2', /did not expect 2/],
    ['pow(2)', /pow takes 2 values, not 1/],
    ['sqrt(1, 2)', /sqrt takes 1 value, not 2/],
    ['attempt * 2', /does not know attempt/],
    ['constructor(1)', /does not know constructor/],
    ['retried()', /did not expect \(/],
    ['pow 2', /expected \(/],
    ['(1', /expected \)/],
    ['1; process.exit()', /did not expect ;/],
    ['2 ** 3', /did not expect \*/],
    ['0/0', /is not a number/],
    ['('.repeat(100) + '1', /nested too deeply/],
    ['-'.repeat(100) + '1', /nested too deeply/],
    ['1+'.repeat(400) + '1', /longer than/],
    ['1 + attempt', /does not know attempt .*\(at character 5\)/],
    ['2 * pow(1)', /pow takes 2 values, not 1 \(at character 5\)/],
    ['1 + * 2', /did not expect \* \(at character 5\)/],
  ])('%s is rejected with its reason', (source, reason) => {
    expect(() => compileRetryDelay(source)).toThrow(reason);
  });

  test('any text is an expression or causes an ExpressionError', () => {
    const piece = fc.constantFrom(
      'retried',
      'pow(',
      'max(',
      ')',
      '(',
      ',',
      '+',
      '-',
      '*',
      '/',
      '%',
      '1',
      '2.5',
      ' ',
      'e',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((pieces) => pieces.join('')),
        ),
        (source) => {
          try {
            expect(typeof compileRetryDelay(source)(1)).toBe('number');
          } catch (error) {
            expect(error).toBeInstanceOf(ExpressionError);
          }
        },
      ),
    );
  });
});

describe('back-off', () => {
  test('grows from 12 s over 2 m 28 s, 30 m and 6 h to a day', () => {
    const seconds = [1, 2, 3, 4, 5, 6].map((n) => Math.round(defaultBackoff(n) / 1_000));
    expect(seconds).toEqual([12, 148, 1808, 22_026, 86_400, 86_400]);
  });

  const now = Date.UTC(2026, 10, 20);

  test.each([
    ['seconds', '30', 30_000],
    ['more than a day', '999999', 86_400_000],
    ['a date', 'Fri, 20 Nov 2026 00:01:00 GMT', 60_000],
    ['a date as RFC 850 has it', 'Friday, 20-Nov-26 00:01:00 GMT', 60_000],
    ['a date as asctime has it', 'Fri Nov 20 00:01:00 2026', 60_000],
    ['a date more than a day away', 'Mon, 23 Nov 2026 00:00:00 GMT', 86_400_000],
    ['a date in the past', 'Thu, 19 Nov 2026 00:00:00 GMT', 1],
    ['zero', '0', 1],
  ])('Retry-After: %s', (_what, retryAfter, expected) => {
    expect(retryDelay({ retried: 0, retryAfter, expression: () => 5, now })).toBe(expected);
  });

  test.each(['soon', '-5', '1.5', ''])('Retry-After: %s is invalid and the expression applies', (retryAfter) => {
    expect(retryDelay({ retried: 0, retryAfter, expression: () => 5, now })).toBe(5);
  });

  test.each([
    ['negative', () => -5, 1],
    ['endless', () => Infinity, 30 * 86_400_000],
    ['not a number later', () => Number.NaN, defaultBackoff(1)],
  ])('an expression that results in %s is bounded', (_what, expression, expected) => {
    expect(retryDelay({ retried: 0, expression, now })).toBe(expected);
  });
});

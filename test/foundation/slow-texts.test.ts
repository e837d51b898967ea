import { expect, test } from 'vitest';
import { slowTexts } from '../support/slow-texts.ts';

test('no text of others takes longer than its length allows', () => {
  expect(slowTexts(28, 15)).toEqual([]);
});

test('the search finds a quadratic pattern', () => {
  const pattern = /[. ]+$/;
  const found = slowTexts(28, 1, { pattern: ({ length }) => `${'.'.repeat(length)}x`.replace(pattern, '') });
  expect(found).toMatchObject([{ reader: 'pattern' }]);
});

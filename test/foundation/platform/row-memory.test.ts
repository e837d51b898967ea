import { expect, test } from 'vitest';
import { memoByText } from '#foundation/platform/memo.ts';
import { RowMemory } from '#foundation/platform/row-memory.ts';

test('rows are kept until their texts reach the maximum', () => {
  const memory = new RowMemory(100);
  expect(memory.keep([{ id: 'x'.repeat(40), labels: ['y'.repeat(20)], count: 7 }])).toBe(true);
  expect(memory.keep([{ id: 'x'.repeat(40) }])).toBe(true);
  expect(memory.keep([{ id: 'x' }])).toBe(false);
});

test('a long text with characters of two bytes takes twice the memory', () => {
  expect(new RowMemory(1_000).keep([{ id: `語${'x'.repeat(499)}` }])).toBe(true);
  expect(new RowMemory(999).keep([{ id: `語${'x'.repeat(499)}` }])).toBe(false);
});

test('up to a quarter of the maximum, the bytes of the response count twice', () => {
  const memory = new RowMemory(400);
  expect(memory.keep([{ id: 'x'.repeat(401) }], 49)).toBe(true);
  // Beyond it, the texts are measured.
  expect(memory.keep([{ id: 'x'.repeat(302) }], 2)).toBe(true);
  expect(memory.keep([{ id: 'x'.repeat(302) }], 2)).toBe(false);
});

test('long texts are not kept', () => {
  let found = 0;
  const length = memoByText(10, (text) => {
    found += 1;
    return text.length;
  });
  for (const text of ['short', 'short', 'x'.repeat(513), 'x'.repeat(513)]) expect(length(text)).toBe(text.length);
  expect(found).toBe(3);
});

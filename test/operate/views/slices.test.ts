/** Lists in slices: complete, in order, and stable when rows come and go. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { slicesOf } from '#operate/views/slices.ts';

interface Row {
  readonly id: string;
  readonly text?: string;
}

const row: fc.Arbitrary<Row> = fc.record({ id: fc.string(), text: fc.string() }, { requiredKeys: ['id'] });
const slice = (rows: readonly Row[]) => [...slicesOf(rows, ({ id }) => id)];
const many = (count: number): Row[] => Array.from({ length: count }, (_, index) => ({ id: `dlq-${index}` }));

test('the slices of any list have all of its rows, in order', () => {
  fc.assert(
    fc.property(fc.array(row), fc.integer({ min: 0, max: 3_000 }), (rows, count) => {
      const list = [...rows, ...many(count)];
      expect(slice(list).flatMap(({ text }) => JSON.parse(text) as Row[])).toEqual(list);
    }),
  );
});

test('slices of the same rows have the same id, and slices of other rows another one', () => {
  fc.assert(
    fc.property(fc.array(row), fc.array(row), (one, other) => {
      const ids = (rows: readonly Row[]) => slice(rows).map(({ id }) => id);
      expect(ids(one)).toEqual(ids(structuredClone(one)));
      expect(JSON.stringify(ids(one)) === JSON.stringify(ids(other))).toBe(
        JSON.stringify(one) === JSON.stringify(other),
      );
    }),
  );
});

test('a row that comes, goes, or changes replaces at most the slices around it', () => {
  const rows = many(5_000);
  const before = new Set(slice(rows).map(({ id }) => id));
  expect(before.size).toBeGreaterThan(10);
  fc.assert(
    fc.property(fc.nat(rows.length - 1), fc.constantFrom('comes', 'goes', 'changes'), (index, change) => {
      const added = change === 'goes' ? [] : [{ id: change === 'comes' ? 'new' : rows[index]!.id, text: 'new' }];
      const after = slice(rows.toSpliced(index, change === 'comes' ? 0 : 1, ...added));
      expect(after.filter(({ id }) => !before.has(id)).length).toBeLessThanOrEqual(2);
    }),
  );
});

test('a slice is bounded, whatever the ids and the size of the rows', () => {
  const same = Array.from({ length: 5_000 }, () => ({ id: 'b' }));
  expect(slice(same).map(({ text }) => (JSON.parse(text) as Row[]).length)).toEqual([2_048, 2_048, 904]);
  const large = many(8).map((one) => ({ ...one, id: 'b', text: 'x'.repeat(400_000) }));
  for (const { text } of slice(large)) expect(text.length).toBeLessThan(1_500_000);
});

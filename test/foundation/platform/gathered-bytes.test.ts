import fc from 'fast-check';
import { expect, test } from 'vitest';
import { freeBytes, GatheredBytes } from '#foundation/platform/gathered-bytes.ts';

/** Declared lengths, right and wrong. */
const expected = fc.option(fc.nat({ max: 300_000 }), { nil: undefined });

test('chunks of any size become one body', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 12 }), expected, (chunks, declared) => {
      const gathered = new GatheredBytes(declared);
      for (const chunk of chunks) gathered.add(chunk);
      const whole = Buffer.concat(chunks);
      expect(gathered.length).toBe(whole.length);
      expect(gathered.take().equals(whole)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test('a body of the expected length is in one block of that length, and an absurd length takes only one block', () => {
  const chunk = Buffer.alloc(65_536, 'x');
  const right = new GatheredBytes(3 * chunk.length);
  for (let n = 0; n < 3; n++) right.add(chunk);
  expect(right.take().buffer.byteLength).toBe(3 * chunk.length);
  const absurd = new GatheredBytes(1e15);
  absurd.add(chunk);
  expect(absurd.take().buffer.byteLength).toBe(1_048_576);
});

test('a body of many blocks is complete, and a discarded one holds no memory', () => {
  const chunk = Buffer.from(Array.from({ length: 300_001 }, (_, at) => at % 251));
  const whole = new GatheredBytes();
  const discarded = new GatheredBytes();
  for (let n = 0; n < 15; n++) {
    whole.add(chunk);
    discarded.add(chunk);
  }
  expect(whole.take().equals(Buffer.concat(Array.from({ length: 15 }, () => chunk)))).toBe(true);
  const first = new GatheredBytes();
  first.add(chunk.subarray(0, 10));
  const shown = first.take();
  first.discard();
  expect(shown).toHaveLength(0);
  const before = process.memoryUsage().arrayBuffers;
  discarded.discard();
  expect(before - process.memoryUsage().arrayBuffers).toBeGreaterThan(4_000_000);
});

test('a body that was read holds no memory once it is freed', () => {
  const gathered = new GatheredBytes();
  gathered.add(Buffer.from('what was read'));
  const body = gathered.take();
  freeBytes(body);
  expect([body.length, body.buffer.byteLength]).toEqual([0, 0]);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Compact } from '#emulator/state/compact.ts';

test('kept content is unchanged, whatever came before and after', () => {
  const size = fc.oneof(fc.nat(70), fc.nat(5_000));
  fc.assert(
    fc.property(fc.array(fc.tuple(size, fc.nat(255)), { maxLength: 80 }), (bodies) => {
      const compact = new Compact();
      const given = bodies.map(([length, byte]) => Buffer.alloc(length, byte));
      const kept = given.map((body) => compact.bytes(body));
      expect(kept.map((body) => Buffer.from(body).equals(given[kept.indexOf(body)]!))).not.toContain(false);
      expect(kept.map((body) => body.length)).toEqual(given.map((body) => body.length));
    }),
  );
});

test('a repeated small body is kept once, and nothing of its buffer is held', () => {
  const compact = new Compact();
  const first = compact.bytes(Buffer.from('{"ok":true}'));
  expect(compact.bytes(Buffer.from('{"ok":true}'))).toBe(first);
  const pooled = Buffer.from('x'.repeat(100));
  expect(compact.bytes(pooled).buffer).not.toBe(pooled.buffer);
});

test('shared content is bounded', () => {
  const compact = new Compact();
  for (let index = 0; index < 10_000; index++) {
    expect(compact.text(`text ${index}`)).toBe(`text ${index}`);
    expect(Buffer.from(compact.bytes(Buffer.from(`body ${index}`))).toString()).toBe(`body ${index}`);
  }
});

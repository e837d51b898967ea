/** The bytes of a span depend only on the span. A repeated send after a crash has equal bytes. */
import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameWriter } from '#observe/tracing/span-frames.ts';
import type { Attribute, Span } from '#observe/tracing/span.ts';
import { WireWriter } from '#observe/tracing/wire-writer.ts';

const SPAN: Span = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentSpanId: '599cd844c6ed473f',
  name: 'POST',
  kind: 'client',
  startMs: Date.UTC(2026, 4, 4, 12) + 250.125,
  endMs: Date.UTC(2026, 4, 4, 12) + 900,
  isError: true,
  common: [['messaging.system', 'msgsvc']],
  attributes: [
    ['http.response.status_code', 503],
    undefined,
    ['url.full', `https://h.example/grüße/${'p'.repeat(120)}`],
    ['messaging.msgsvc.open', true],
    ['ratio', 0.5],
  ],
  links: [{ traceId: '04a17600d5dbeacdae4de8c05175adfa', spanId: '3501ac49c7fd7bc2', sampled: true }],
};

/** Less than 128 bytes of its own. */
const { parentSpanId: _parent, ...rest } = SPAN;
const BARE: Span = { ...rest, name: '', links: [], isError: false };

function bytesOf(spans: readonly Span[], writer = new FrameWriter('http/protobuf')): Uint8Array {
  for (const span of spans) writer.add(span);
  return writer.take().body;
}

test('a span of every kind of value, byte for byte', () => {
  expect(hash('sha256', bytesOf([SPAN]))).toBe('0d24c99d5bc7c10e3508119bf7db782f2731ac28f0f4f05c96287841225033f3');
});

const attribute: fc.Arbitrary<Attribute> = fc.tuple(
  fc.string({ maxLength: 30 }),
  fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.double({ noNaN: true }), fc.boolean()),
);
/** Lengths around the limits of one, two and three bytes. */
const long = fc
  .constantFrom(0, 40, 90, 127, 128, 16_100, 16_300, 16_384, 70_000)
  .map((length): Attribute => ['long', 'x'.repeat(length)]);
const messages = fc.array(
  fc.tuple(
    fc.array(attribute, { maxLength: 3 }),
    fc.array(fc.array(fc.oneof(attribute, long), { maxLength: 3 }), { maxLength: 4 }),
  ),
  { maxLength: 4 },
);

test('spans before and after a span do not change its bytes', () => {
  const writer = new FrameWriter('http/protobuf');
  fc.assert(
    fc.property(messages, fc.boolean(), (all, isBare) => {
      const spans = all.flatMap(([common, own]) =>
        own.map((attributes): Span => ({ ...(isBare ? BARE : SPAN), common, attributes })),
      );
      const alone = Buffer.concat(spans.map((span) => bytesOf([span])));
      expect(alone.equals(bytesOf(spans, writer))).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('a batch inherits nothing from the previous one', () => {
  const writer = new FrameWriter('http/protobuf');
  bytesOf([SPAN], writer);
  const named: Span = { ...SPAN, name: 'x'.repeat(500) };
  expect(bytesOf([named], writer)).toEqual(bytesOf([named]));
});

test('times are exact to the microsecond', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 4_102_444_800_000, noNaN: true }), (ms) => {
      const writer = new WireWriter();
      writer.time(7, ms);
      expect(Buffer.from(writer.take()).readBigUInt64LE(1)).toBe(BigInt(Math.round(ms * 1_000)) * 1_000n);
    }),
  );
});

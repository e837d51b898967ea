/**
 * OTLP over protobuf (opentelemetry.proto.collector.trace.v1), written here and not by OpenTelemetry's encoder: spans
 * must be encoded one by one, in the transaction that learnt of them, and go out as those bytes.
 */
import {
  linkFlags,
  SPAN_KINDS,
  STATUS_ERROR,
  spanFlags,
  type Attributes,
  type AttributeValue,
  type Span,
  type SpanHead,
} from './span.ts';
import { WireWriter } from './wire-writer.ts';

/** A span as a field of `ScopeSpans`: tag and length stand before it. */
export function writeSpan(writer: WireWriter, span: Span): void {
  writer.tag(2, 2);
  const start = writer.open();
  writer.hex(1, span.traceId);
  writer.hex(2, span.spanId);
  if (span.parentSpanId !== undefined) writer.hex(4, span.parentSpanId);
  writer.text(5, span.name);
  writer.tag(6, 0);
  writer.varint(SPAN_KINDS[span.kind]);
  writer.time(7, span.startMs);
  writer.time(8, span.endMs);
  writeAttributes(writer, 9, span.attributes);
  for (const link of span.links) {
    writer.message(13, () => {
      writer.hex(1, link.traceId);
      writer.hex(2, link.spanId);
      writer.fixed32(6, linkFlags(link));
    });
  }
  if (span.isError) {
    writer.message(15, () => {
      writer.tag(3, 0);
      writer.varint(STATUS_ERROR);
    });
  }
  writer.fixed32(16, spanFlags(span));
  writer.close(start);
}

/** The body of a request: spans that were written before, under what they have in common. */
export function protobufRequest({ resource, scope }: SpanHead, spans: readonly Uint8Array[]): Uint8Array {
  const writer = new WireWriter();
  writer.message(1, () => {
    writer.message(1, () => writeAttributes(writer, 1, resource));
    writer.message(2, () => {
      writer.message(1, () => {
        writer.text(1, scope.name);
        writer.text(2, scope.version);
      });
      for (const span of spans) writer.raw(span);
    });
  });
  return writer.take();
}

function writeAttributes(writer: WireWriter, field: number, attributes: Attributes): void {
  for (const [key, value] of attributes) {
    writer.tag(field, 2);
    const pair = writer.open();
    writer.text(1, key);
    writer.tag(2, 2);
    const any = writer.open();
    writeValue(writer, value);
    writer.close(any);
    writer.close(pair);
  }
}

function writeValue(writer: WireWriter, value: AttributeValue): void {
  if (typeof value === 'string') {
    writer.text(1, value);
  } else if (typeof value === 'boolean') {
    writer.tag(2, 0);
    writer.varint(value ? 1 : 0);
  } else if (Number.isSafeInteger(value) && value >= 0) {
    writer.tag(3, 0);
    writer.varint(value);
  } else {
    writer.tag(4, 1);
    writer.double(value);
  }
}

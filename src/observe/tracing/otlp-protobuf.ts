/**
 * Encodes OTLP as protobuf (opentelemetry.proto.collector.trace.v1). OpenTelemetry's encoder is not used. Spans must be
 * encoded individually, in the transaction that learns of them, and are sent as those bytes.
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

/** Position of the previous span's common attributes in a writer. The next span most likely has the same. */
export interface WrittenCommon {
  common: Attributes | undefined;
  at: number;
  length: number;
}

/** Bytes for the length of a span: spans have a few hundred bytes. */
const LENGTH_BYTES = 2;

/**
 * Writes a span as a field of `ScopeSpans`, with its tag and length first.
 *
 * @param written state of this writer; must be reset when the writer's content is taken
 */
export function writeSpan(writer: WireWriter, span: Span, written: WrittenCommon): void {
  writer.tag(2, 2);
  const begin = writer.open(LENGTH_BYTES);
  writer.hex(1, span.traceId);
  writer.hex(2, span.spanId);
  if (span.parentSpanId !== undefined) writer.hex(4, span.parentSpanId);
  writer.text(5, span.name);
  writer.tag(6, 0);
  writer.varint(SPAN_KINDS[span.kind]);
  writer.time(7, span.startMs);
  writer.time(8, span.endMs);
  const isWritten = written.common === span.common;
  if (isWritten) {
    writer.again(written.at, written.length);
  } else {
    written.common = span.common;
    written.at = writer.length;
    writeAttributes(writer, 9, span.common);
    written.length = writer.length - written.at;
  }
  writeAttributes(writer, 9, span.attributes);
  for (const link of span.links) {
    writer.tag(13, 2);
    const start = writer.open();
    writer.hex(1, link.traceId);
    writer.hex(2, link.spanId);
    writer.fixed32(6, linkFlags(link));
    writer.close(start);
  }
  if (span.isError) {
    writer.tag(15, 2);
    const start = writer.open();
    writer.tag(3, 0);
    writer.varint(STATUS_ERROR);
    writer.close(start);
  }
  writer.fixed32(16, spanFlags(span));
  const moved = writer.close(begin, LENGTH_BYTES);
  if (!isWritten) written.at += moved;
}

/** Returns the body of a request: encoded spans with their common resource and scope. */
export function protobufRequest({ resource, scope, schemaUrl }: SpanHead, spans: readonly Buffer[]): Uint8Array {
  const writer = new WireWriter();
  writer.message(1, () => {
    writer.message(1, () => writeAttributes(writer, 1, resource));
    writer.message(2, () => {
      writer.message(1, () => {
        writer.text(1, scope.name);
        writer.text(2, scope.version);
      });
      for (const span of spans) writer.raw(span);
      writer.text(3, schemaUrl);
    });
    writer.text(3, schemaUrl);
  });
  return writer.take();
}

function writeAttributes(writer: WireWriter, field: number, attributes: Span['attributes']): void {
  for (const attribute of attributes) {
    if (attribute === undefined) continue;
    const [key, value] = attribute;
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

/** Encodes OTLP as JSON according to its mapping: ids in hex, times and integers as text. */
import {
  attributesOf,
  linkFlags,
  SPAN_KINDS,
  STATUS_ERROR,
  spanFlags,
  type Attributes,
  type AttributeValue,
  type Span,
  type SpanHead,
} from './span.ts';

export function jsonSpan(span: Span): string {
  return JSON.stringify({
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name.toWellFormed(),
    kind: SPAN_KINDS[span.kind],
    startTimeUnixNano: nanos(span.startMs),
    endTimeUnixNano: nanos(span.endMs),
    attributes: pairs(attributesOf(span)),
    links: span.links.map((link) => ({ traceId: link.traceId, spanId: link.spanId, flags: linkFlags(link) })),
    status: span.isError ? { code: STATUS_ERROR } : {},
    flags: spanFlags(span),
  });
}

/** Returns the body of a request: encoded spans with their common resource and scope. */
export function jsonRequest({ resource, scope, schemaUrl }: SpanHead, spans: readonly Buffer[]): Uint8Array {
  const schema = `"schemaUrl":${JSON.stringify(schemaUrl)}`;
  return Buffer.from(
    `{"resourceSpans":[{"resource":${JSON.stringify({ attributes: pairs(resource) })},` +
      `"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[${spans.join(',')}],${schema}}],${schema}}]}`,
  );
}

function nanos(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

function pairs(attributes: Attributes): readonly object[] {
  return attributes.map(([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) && value >= 0 ? { intValue: String(value) } : { doubleValue: value };
}

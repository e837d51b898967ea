/**
 * A real OTLP/HTTP endpoint for traces. It accepts protobuf and JSON, with or without gzip, and returns decoded spans.
 * It decodes the wire format itself, independent of the encoder.
 */
import { gunzipSync } from 'node:zlib';
import { httpSink, type Answer, type HttpSink, type SunkRequest } from './http-sink.ts';

type AttributeValue = string | number | boolean | readonly AttributeValue[] | null;

interface SunkLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

interface SunkSpan {
  /** Lower-case hex. */
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** Epoch milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly status: 'unset' | 'ok' | 'error';
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly links: readonly SunkLink[];
  readonly resource: Readonly<Record<string, AttributeValue>>;
  readonly scope: string;
  /** Schema URLs of the resource and of the scope. */
  readonly schemas: readonly [string, string];
}

export interface OtlpSink {
  /** Base URL for `telemetry.traces.otlp.url`. */
  readonly url: string;
  /** All requests, rejected ones included. */
  readonly requests: readonly SunkRequest[];
  /** Spans of the requests that were accepted, in order of arrival. */
  readonly spans: readonly SunkSpan[];
  /** Sets the response to further requests; `accept` restores the default. */
  readonly answerWith: (answer: Answer) => void;
  /** Responds 200 and keeps the spans. */
  readonly accept: Answer;
}

/** Ends when the test does. */
export async function otlpSink(): Promise<OtlpSink> {
  const spans: SunkSpan[] = [];
  const accept: Answer = (request, response) => {
    if (request.method !== 'POST' || request.url !== '/v1/traces') {
      response.writeHead(404).end();
      return;
    }
    spans.push(...decodeTraces(request));
    response.writeHead(200, { 'content-type': request.headers['content-type'] ?? 'text/plain' }).end();
  };
  const sink: HttpSink = await httpSink(accept);
  return { url: sink.url, requests: sink.requests, spans, answerWith: (answer) => sink.answerWith(answer), accept };
}

/** @throws {Error} when the body does not match its headers */
function decodeTraces({ headers, body }: Pick<SunkRequest, 'headers' | 'body'>): SunkSpan[] {
  const plain = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  if (headers['content-type'] === 'application/x-protobuf')
    return fromJson(decoded(plain, REQUEST) as unknown as JsonRequest);
  if (headers['content-type'] === 'application/json')
    return fromJson(JSON.parse(plain.toString('utf8')) as JsonRequest);
  throw new Error(`unexpected content type ${headers['content-type']}`);
}

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const STATUSES = ['unset', 'ok', 'error'] as const;

// JSON mapping of opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest

interface JsonValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly JsonValue[] };
}

interface JsonKeyValue {
  readonly key: string;
  readonly value: JsonValue;
}

interface JsonSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind?: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly JsonKeyValue[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string; readonly flags?: number }[];
  readonly status?: { readonly code?: number };
}

interface JsonRequest {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes?: readonly JsonKeyValue[] };
    readonly schemaUrl?: string;
    readonly scopeSpans: readonly {
      readonly scope?: { readonly name?: string };
      readonly spans: readonly JsonSpan[];
      readonly schemaUrl?: string;
    }[];
  }[];
}

/** Converts nanoseconds to milliseconds. A fraction below a millisecond remains visible. */
function millis(value: string): number {
  return Number(BigInt(value) / 1_000n) / 1_000;
}

function fromJson(request: JsonRequest): SunkSpan[] {
  return request.resourceSpans.flatMap(({ resource, scopeSpans, schemaUrl: ofResource = '' }) =>
    scopeSpans.flatMap(({ scope, spans, schemaUrl: ofScope = '' }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: KINDS[span.kind ?? 0]!,
        startMs: millis(span.startTimeUnixNano),
        endMs: millis(span.endTimeUnixNano),
        status: STATUSES[span.status?.code ?? 0]!,
        attributes: jsonAttributes(span.attributes),
        links: (span.links ?? []).map(({ traceId, spanId, flags = 0 }) => ({ traceId, spanId, flags })),
        resource: jsonAttributes(resource?.attributes),
        scope: scope?.name ?? '',
        schemas: [ofResource, ofScope] as const,
      })),
    ),
  );
}

function jsonAttributes(pairs: readonly JsonKeyValue[] = []): Record<string, AttributeValue> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, jsonValue(value)]));
}

function jsonValue(value: JsonValue): AttributeValue {
  if (value.intValue !== undefined) return Number(value.intValue);
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(jsonValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? null;
}

// Protobuf wire format, decoded to the JSON mapping

/** An integer as a number; fixed-width and nested values as bytes. */
type Field = bigint | Buffer;
/** Fields of a message by number: name, conversion, and whether it may repeat. */
type Shape = Readonly<Record<number, readonly [name: string, convert: (field: never) => unknown, repeats?: 'repeats']>>;

const hex = (bytes: Buffer): string => bytes.toString('hex');
const text = (bytes: Buffer): string => bytes.toString('utf8');
const nanos = (bytes: Buffer): string => String(bytes.readBigUInt64LE());
const anyValue = (bytes: Buffer): unknown => decoded(bytes, ANY_VALUE);
const message = (shape: Shape) => (bytes: Buffer) => decoded(bytes, shape);

const ANY_VALUE: Shape = {
  1: ['stringValue', text],
  2: ['boolValue', (value: bigint) => value === 1n],
  3: ['intValue', (value: bigint) => Number(BigInt.asIntN(64, value))],
  4: ['doubleValue', (bytes: Buffer) => bytes.readDoubleLE()],
  5: ['arrayValue', message({ 1: ['values', anyValue, 'repeats'] })],
};
const KEY_VALUE = message({ 1: ['key', text], 2: ['value', anyValue] });
const LINK = message({
  1: ['traceId', hex],
  2: ['spanId', hex],
  6: ['flags', (bytes: Buffer) => bytes.readUInt32LE()],
});
const SPAN = message({
  1: ['traceId', hex],
  2: ['spanId', hex],
  4: ['parentSpanId', hex],
  5: ['name', text],
  6: ['kind', Number],
  7: ['startTimeUnixNano', nanos],
  8: ['endTimeUnixNano', nanos],
  9: ['attributes', KEY_VALUE, 'repeats'],
  13: ['links', LINK, 'repeats'],
  15: ['status', message({ 3: ['code', Number] })],
});
const SCOPE_SPANS = message({
  1: ['scope', message({ 1: ['name', text] })],
  2: ['spans', SPAN, 'repeats'],
  3: ['schemaUrl', text],
});
const RESOURCE = message({ 1: ['attributes', KEY_VALUE, 'repeats'] });
const RESOURCE_SPANS = message({
  1: ['resource', RESOURCE],
  2: ['scopeSpans', SCOPE_SPANS, 'repeats'],
  3: ['schemaUrl', text],
});
const REQUEST: Shape = { 1: ['resourceSpans', RESOURCE_SPANS, 'repeats'] };

/** Returns the fields that the shape names. */
function decoded(buffer: Buffer, shape: Shape): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > buffer.length) throw new Error('a protobuf field ends after its message');
    at += length;
    return buffer.subarray(at - length, at);
  };
  const value = (wireType: number): Field => {
    switch (wireType) {
      case 0:
        return varint();
      case 1:
        return take(8);
      case 2:
        return take(Number(varint()));
      case 5:
        return take(4);
      default:
        throw new Error(`unexpected protobuf wire type ${wireType}`);
    }
  };
  while (at < buffer.length) {
    const tag = Number(varint());
    const field = value(tag & 7);
    const known = shape[tag >>> 3];
    if (known === undefined) continue;
    const [name, convert, repeats] = known;
    const converted = convert(field as never);
    if (repeats === undefined) fields[name] = converted;
    else fields[name] = [...((fields[name] as unknown[] | undefined) ?? []), converted];
  }
  return fields;
}

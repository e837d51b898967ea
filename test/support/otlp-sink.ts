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
  if (headers['content-type'] === 'application/x-protobuf') return fromProtobuf(plain);
  if (headers['content-type'] === 'application/json') return fromJson(JSON.parse(plain.toString('utf8')));
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

function fromJson(request: JsonRequest): SunkSpan[] {
  return request.resourceSpans.flatMap(({ resource, scopeSpans, schemaUrl: ofResource = '' }) =>
    scopeSpans.flatMap(({ scope, spans, schemaUrl: ofScope = '' }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: KINDS[span.kind ?? 0]!,
        startMs: millis(BigInt(span.startTimeUnixNano)),
        endMs: millis(BigInt(span.endTimeUnixNano)),
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

// Protobuf wire format: each message as its fields by number, in order

type Field = bigint | Buffer;
type Message = ReadonlyMap<number, readonly Field[]>;

function fromProtobuf(body: Buffer): SunkSpan[] {
  return messages(parse(body), 1).flatMap((resourceSpans) => {
    const resource = attributes(messages(resourceSpans, 1)[0] ?? new Map(), 1);
    return messages(resourceSpans, 2).flatMap((scopeSpans) => {
      const scope = text(messages(scopeSpans, 1)[0] ?? new Map(), 1);
      const schemas = [text(resourceSpans, 3), text(scopeSpans, 3)] as const;
      return messages(scopeSpans, 2).map((span) => ({ ...spanOf(span), resource, scope, schemas }));
    });
  });
}

function spanOf(span: Message): Omit<SunkSpan, 'resource' | 'scope' | 'schemas'> {
  const status = messages(span, 15)[0];
  return {
    traceId: bytes(span, 1).toString('hex'),
    spanId: bytes(span, 2).toString('hex'),
    parentSpanId: bytes(span, 4).toString('hex'),
    name: text(span, 5),
    kind: KINDS[Number(number(span, 6))]!,
    startMs: millis(number(span, 7)),
    endMs: millis(number(span, 8)),
    status: STATUSES[status === undefined ? 0 : Number(number(status, 3))]!,
    attributes: attributes(span, 9),
    links: messages(span, 13).map((link) => ({
      traceId: bytes(link, 1).toString('hex'),
      spanId: bytes(link, 2).toString('hex'),
      flags: Number(number(link, 6)),
    })),
  };
}

function attributes(message: Message, field: number): Record<string, AttributeValue> {
  return Object.fromEntries(
    messages(message, field).map((pair) => [text(pair, 1), anyValue(messages(pair, 2)[0] ?? new Map())]),
  );
}

function anyValue(value: Message): AttributeValue {
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return number(value, 2) === 1n;
  if (value.has(3)) return Number(BigInt.asIntN(64, number(value, 3)));
  if (value.has(4)) {
    const bits = Buffer.alloc(8);
    bits.writeBigUInt64LE(number(value, 4));
    return bits.readDoubleLE();
  }
  if (value.has(5)) return messages(messages(value, 5)[0] ?? new Map(), 1).map(anyValue);
  return null;
}

/** Converts nanoseconds to milliseconds. A fraction below a millisecond remains visible. */
function millis(nanos: bigint): number {
  return Number(nanos / 1_000n) / 1_000;
}

function messages(message: Message, field: number): Message[] {
  return (message.get(field) ?? []).map((value) => parse(value as Buffer));
}

function bytes(message: Message, field: number): Buffer {
  return (message.get(field)?.at(-1) as Buffer | undefined) ?? Buffer.alloc(0);
}

function text(message: Message, field: number): string {
  return bytes(message, field).toString('utf8');
}

function number(message: Message, field: number): bigint {
  return (message.get(field)?.at(-1) as bigint | undefined) ?? 0n;
}

function parse(buffer: Buffer): Message {
  const fields = new Map<number, Field[]>();
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
        return take(8).readBigUInt64LE();
      case 2:
        return take(Number(varint()));
      case 5:
        return BigInt(take(4).readUInt32LE());
      default:
        throw new Error(`unexpected protobuf wire type ${wireType}`);
    }
  };
  while (at < buffer.length) {
    const tag = Number(varint());
    const field = tag >>> 3;
    const parsed = value(tag & 7);
    const known = fields.get(field);
    if (known === undefined) fields.set(field, [parsed]);
    else known.push(parsed);
  }
  return fields;
}

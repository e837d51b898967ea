/**
 * A real OTLP/HTTP endpoint for traces. It accepts protobuf and JSON, with or without gzip, and returns decoded spans.
 * It decodes with a package, independent of the encoder.
 */
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
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
  if (headers['content-type'] === 'application/x-protobuf') return fromJson(decoded(plain));
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

/** The fields of opentelemetry.proto that this sink reads, by their names in the JSON mapping. */
const PROTO = `syntax = "proto3";
message Request { repeated ResourceSpans resourceSpans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopeSpans = 2; string schemaUrl = 3; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schemaUrl = 3; }
message Scope { string name = 1; }
message Span {
  bytes traceId = 1;
  bytes spanId = 2;
  bytes parentSpanId = 4;
  string name = 5;
  int32 kind = 6;
  fixed64 startTimeUnixNano = 7;
  fixed64 endTimeUnixNano = 8;
  repeated KeyValue attributes = 9;
  repeated Link links = 13;
  Status status = 15;
}
message Link { bytes traceId = 1; bytes spanId = 2; fixed32 flags = 6; }
message Status { int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string stringValue = 1;
    bool boolValue = 2;
    int64 intValue = 3;
    double doubleValue = 4;
    ArrayValue arrayValue = 5;
  }
}
message ArrayValue { repeated AnyValue values = 1; }`;
const REQUEST = protobuf.parse(PROTO, { keepCase: true }).root.lookupType('Request');

/** Returns the request in the JSON mapping. Ids are bytes there, and hex in OTLP/JSON. */
function decoded(body: Buffer): JsonRequest {
  const request = REQUEST.toObject(REQUEST.decode(body), { longs: String, arrays: true });
  return JSON.parse(JSON.stringify(request, (_key, value: unknown) => hexOf(value))) as JsonRequest;
}

/** JSON.stringify has made an object of a buffer before it calls its replacer. */
function hexOf(value: unknown): unknown {
  const { type, data } = (value ?? {}) as { readonly type?: string; readonly data?: readonly number[] };
  return type === 'Buffer' ? Buffer.from(data!).toString('hex') : value;
}

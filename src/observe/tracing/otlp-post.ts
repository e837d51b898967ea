/** Sends one OTLP/HTTP request and interprets the response. */
import { gzipSync } from 'node:zlib';
import type { Clock } from '#foundation/platform/clock.ts';
import { createHttpPost, type PostAnswer } from '#foundation/platform/http-post.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';
import type { OtlpEndpoint } from './otlp-endpoint.ts';

type PostResult =
  /** Accepted, except for spans that the receiver permanently rejected. */
  | { readonly kind: 'accepted'; readonly rejected: number }
  | { readonly kind: 'rejected'; readonly cause: string }
  /** Worth a retry, after the delay that the receiver requests. */
  | { readonly kind: 'later'; readonly cause: string; readonly afterMs?: number };

export interface OtlpPost extends Disposable {
  /** Host and port of the receiver, for messages. */
  readonly host: string;
  /** Sends a request. Never rejects: a request without a response can be retried. */
  send(protocol: OtlpEndpoint['protocol'], body: Uint8Array, signal: AbortSignal): Promise<PostResult>;
}

const CONTENT_TYPES = { 'http/protobuf': 'application/x-protobuf', 'http/json': 'application/json' } as const;
/** Status codes that OTLP defines as retryable. */
const AGAIN = new Set([429, 502, 503, 504]);

export function createOtlpPost(endpoint: OtlpEndpoint, clock: Clock): OtlpPost {
  const post = createHttpPost({ clock, timeoutMs: endpoint.timeoutMs, tls: endpoint.tls });
  return {
    host: new URL(endpoint.url).host,
    async send(protocol, plain, signal) {
      const isZipped = endpoint.compression === 'gzip';
      const headers = {
        ...endpoint.headers,
        'content-type': CONTENT_TYPES[protocol],
        ...(isZipped && { 'content-encoding': 'gzip' }),
      };
      try {
        const body = isZipped ? gzipSync(plain) : plain;
        const client = endpoint.client?.();
        return verdict(await post.send(endpoint.url, { headers, body, ...(client && { client }) }, signal));
      } catch (error) {
        return { kind: 'later', cause: causeOf(error) };
      }
    },
    [Symbol.dispose]: () => post[Symbol.dispose](),
  };
}

function verdict({ status, retryAfterMs, contentType, body }: PostAnswer): PostResult {
  if (status >= 200 && status < 300) return { kind: 'accepted', rejected: rejectedSpans(contentType, body) };
  const cause = `it answers ${status}`;
  if (!AGAIN.has(status)) return { kind: 'rejected', cause };
  return { kind: 'later', cause, ...(retryAfterMs !== undefined && { afterMs: retryAfterMs }) };
}

/** Explanations by the code of the system, Node, or OpenSSL. */
const CAUSES: readonly (readonly [code: RegExp, explanation: string])[] = [
  [/^(?:ENOTFOUND|EAI_)/, 'the host name does not resolve'],
  [/^ERR_PROXY_TUNNEL$/, 'the proxy of HTTPS_PROXY does not connect to it'],
  [/^ECONNREFUSED$/, 'nothing listens there'],
  [/CERT|SSL|TLS|UNABLE_TO|EPROTO/, 'there is no trusted TLS connection'],
  [/^(?:ECONNRESET|EPIPE)$/, 'the connection was closed without a response'],
];

function causeOf(error: unknown): string {
  if (error instanceof TimeoutError) return 'there was no response in time';
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  const explained = CAUSES.find(([pattern]) => pattern.test(code))?.[1] ?? 'it cannot be reached';
  return `${explained} (${code})`;
}

/** Returns the number of rejected spans from a partial success. An unreadable response rejects none. */
function rejectedSpans(contentType: string, body: Buffer): number {
  try {
    if (contentType.startsWith('application/json')) {
      const { partialSuccess } = JSON.parse(body.toString('utf8')) as {
        partialSuccess?: { rejectedSpans?: string | number };
      };
      const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
      return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
    }
    // ExportTraceServiceResponse { partial_success = 1 { rejected_spans = 1 varint, … } }
    if (body[0] !== 0x0a) return 0;
    const { end } = varintAt(body, 1);
    const rejected = body[end] === 0x08 ? varintAt(body, end + 1).value : 0;
    return Number.isSafeInteger(rejected) ? rejected : 0;
  } catch {
    return 0;
  }
}

/** Returns NaN if the number is cut off. */
function varintAt(bytes: Buffer, from: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = from, scale = 1; at < bytes.length; at += 1, scale *= 128) {
    value += (bytes[at]! & 0x7f) * scale;
    if (bytes[at]! < 0x80) return { value, end: at + 1 };
  }
  return { value: NaN, end: bytes.length };
}

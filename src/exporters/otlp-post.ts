/** One OTLP/HTTP request, and what its answer means. */
import { request as httpRequest, Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Clock } from '../platform/clock.ts';
import { withTimeout } from '../platform/sleep.ts';
import type { OtlpEndpoint } from './otlp-endpoint.ts';

type PostResult =
  /** Taken, but for so many spans that the receiver refused for good. */
  | { readonly kind: 'accepted'; readonly rejected: number }
  | { readonly kind: 'rejected'; readonly status: number }
  /** Worth another try, not before the receiver wants it. */
  | { readonly kind: 'later'; readonly afterMs?: number };

export interface OtlpPost extends Disposable {
  /** Never rejects: what got no answer may be tried again. */
  send(protocol: OtlpEndpoint['protocol'], body: Uint8Array, signal: AbortSignal): Promise<PostResult>;
}

const CONTENT_TYPES = { 'http/protobuf': 'application/x-protobuf', 'http/json': 'application/json' } as const;
/** What OTLP names as worth another try. */
const AGAIN = new Set([429, 502, 503, 504]);
const MOST_ANSWER_BYTES = 65_536;

export async function createOtlpPost(endpoint: OtlpEndpoint, clock: Clock): Promise<OtlpPost> {
  const isTls = endpoint.url.startsWith('https:');
  const https = isTls ? await import('node:https') : undefined;
  const agent =
    https === undefined ? new HttpAgent({ keepAlive: true }) : new https.Agent({ keepAlive: true, ...endpoint.tls });
  const request = https?.request ?? httpRequest;

  function exchange(headers: Record<string, string | number>, body: Uint8Array, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(endpoint.url, { method: 'POST', headers, agent, signal }, (response) => {
        read(response).then(resolve, reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  return {
    async send(protocol, plain, signal) {
      const isZipped = endpoint.compression === 'gzip';
      const body = isZipped ? gzipSync(plain) : plain;
      const headers = {
        ...endpoint.headers,
        'content-type': CONTENT_TYPES[protocol],
        'content-length': body.length,
        ...(isZipped && { 'content-encoding': 'gzip' }),
      };
      try {
        const answer = await withTimeout(clock, endpoint.timeoutMs, signal, (within) =>
          exchange(headers, body, within),
        );
        return verdict(answer, clock.now());
      } catch {
        return { kind: 'later' };
      }
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly contentType: string;
  readonly body: Buffer;
}

async function read(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MOST_ANSWER_BYTES) chunks.push(chunk);
  }
  return {
    status: response.statusCode ?? 0,
    retryAfter: response.headers['retry-after'],
    contentType: response.headers['content-type'] ?? '',
    body: Buffer.concat(chunks),
  };
}

function verdict({ status, retryAfter, contentType, body }: Answer, now: number): PostResult {
  if (status >= 200 && status < 300) return { kind: 'accepted', rejected: rejectedSpans(contentType, body) };
  if (!AGAIN.has(status)) return { kind: 'rejected', status };
  const afterMs = retryAfterMs(retryAfter, now);
  return { kind: 'later', ...(afterMs !== undefined && { afterMs }) };
}

/** Seconds or a date; undefined when it is neither. */
function retryAfterMs(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** The partial success of an answer; what cannot be read refuses nothing. */
function rejectedSpans(contentType: string, body: Buffer): number {
  try {
    if (contentType.startsWith('application/json')) {
      const { partialSuccess } = JSON.parse(body.toString('utf8')) as {
        partialSuccess?: { rejectedSpans?: string | number };
      };
      const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
      return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
    }
    // ExportTraceServiceResponse { partial_success = 1 { rejected_spans = 1 varint } }
    if (body[0] !== 0x0a || body[2] !== 0x08) return 0;
    let value = 0;
    for (let at = 3, scale = 1; at < body.length; at += 1, scale *= 128) {
      value += (body[at]! & 0x7f) * scale;
      if (body[at]! < 0x80) return Number.isSafeInteger(value) ? value : 0;
    }
    return 0;
  } catch {
    return 0;
  }
}

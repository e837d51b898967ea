/** Responses as values, and how they are sent: with protective headers, and gzip for clients that accept it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { redact, redactData } from '#foundation/domain/redact.ts';
import type { PendingResponses } from './pending-responses.ts';
import { byteLength, type SharedBodies, type SharedBody } from './shared-body.ts';

type ReplyHeaders = Readonly<Record<string, string | string[]>>;

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | SharedBody;
  readonly headers?: ReplyHeaders;
  /** True if the body may be gzipped. */
  readonly compress?: true;
}

/** Codes of JSON errors: `{"error": {"code": …, "message": …}}`. They are stable. */
export type ErrorCode =
  | 'bad_request'
  | 'read_only'
  | 'not_found'
  | 'unknown_policy'
  | 'unknown_plan'
  | 'unknown_id'
  | 'bad_selection'
  | 'other_queue'
  | 'unread'
  | 'expired'
  | 'decided'
  | 'bad_override'
  | 'mode'
  | 'method_not_allowed'
  | 'too_large'
  | 'unknown_host'
  | 'refused'
  | 'bad_configuration'
  | 'unauthorized'
  | 'forbidden'
  | 'bad_signature'
  | 'replay'
  | 'busy'
  | 'budget'
  | 'service_error'
  | 'service_unavailable'
  | 'rate_limited'
  | 'unconfirmed'
  | 'store_unavailable'
  | 'not_run'
  | 'outcome_unknown'
  | 'stopping'
  | 'internal';

/** Error for the caller: the reason and the fix. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly code: ErrorCode;
  readonly headers: ReplyHeaders;

  constructor(status: number, code: ErrorCode, message: string, headers: ReplyHeaders = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export function textReply(status: number, body: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${redact(body)}\n` };
}

export function json(status: number, value: unknown): Reply {
  const body = `${JSON.stringify(redactData(value), undefined, 2)}\n`;
  return { status, contentType: 'application/json; charset=utf-8', body };
}

/** Error reply: JSON below `/api`, text elsewhere. */
export function errorReply(path: string, error: HttpError): Reply {
  const reply =
    path === '/api' || path.startsWith('/api/') || path === '/-/reload'
      ? json(error.status, { error: { code: error.code, message: error.message } })
      : textReply(error.status, error.message);
  return { ...reply, headers: error.headers };
}

/** Minimum size for compression. */
const COMPRESS_FROM_BYTES = 1_024;

const gzipAsync = promisify(gzip);

export interface SendOptions {
  /** True if the connection ends with this response. */
  readonly close: boolean;
  readonly bodies: SharedBodies;
  readonly pending: PendingResponses;
  /** Headers that override those of the response. */
  readonly headers: Readonly<Record<string, string>>;
}

export async function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  options: SendOptions,
): Promise<void> {
  const headers: Record<string, string | number | string[]> = {
    'Content-Type': reply.contentType,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    ...(reply.compress && { Vary: 'Accept-Encoding' }),
    ...reply.headers,
    ...options.headers,
  };
  // Counted before it is compressed: both take memory until then.
  if (typeof reply.body === 'string') options.pending.add(response, Buffer.byteLength(reply.body));
  const { parts, packed } = await encoded(reply, request.headers['accept-encoding']);
  if (packed) headers['Content-Encoding'] = 'gzip';
  headers['Content-Length'] = byteLength(parts);
  if (options.close) headers['Connection'] = 'close';
  response.writeHead(reply.status, headers);
  // A response to HEAD has no body, but the headers keep its length.
  if (request.method === 'HEAD') response.end();
  else if (typeof reply.body === 'string') response.end(parts[0]);
  else await options.bodies.write(response, parts);
}

async function encoded(
  { body, compress }: Reply,
  acceptEncoding: string | string[] | undefined,
): Promise<{ readonly parts: readonly Uint8Array[]; readonly packed: boolean }> {
  const plain = typeof body === 'string' ? [Buffer.from(body)] : body.parts;
  if (!compress || !acceptsGzip(acceptEncoding) || byteLength(plain) < COMPRESS_FROM_BYTES) {
    return { parts: plain, packed: false };
  }
  // On the thread pool, at the cheapest level: a scrape must not block the event loop.
  const parts = typeof body === 'string' ? [await gzipAsync(plain[0]!, { level: 1 })] : await body.gzip();
  return { parts, packed: true };
}

/** Returns true if `Accept-Encoding` allows gzip, by name or by `*`, with a weight above 0. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const weights = new Map<string, number>();
  for (const part of String(header ?? '').split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    if (coding !== '') weights.set(coding, weight === undefined ? 1 : Number(weight));
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0;
}

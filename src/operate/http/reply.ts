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

/** Codes of JSON errors: `{"error": {"code": …, "message": …}}`, with the usual status and the meaning. They are stable. */
export const ERROR_CODES = {
  bad_request: [400, 'the body or the query is invalid; the message has the expected form'],
  bad_override: [400, '`overrule` names a limit that cannot be overridden, or an invalid value'],
  bad_selection: [400, 'the selection of a manual plan has no id and no filter, or another fault'],
  unauthorized: [401, 'missing or unknown credentials; `WWW-Authenticate` names the accepted schemes'],
  bad_signature: [401, 'of the hooks: the signature is missing or wrong'],
  replay: [200, 'of the hooks: the callback was received before'],
  read_only: [403, 'this address only reads, or the command is only allowed over the socket'],
  forbidden: [403, 'the role does not allow it, or another site made a browser send the request'],
  not_found: [404, 'unknown address, action, or group'],
  unknown_policy: [404, 'unknown policy'],
  unknown_plan: [404, 'unknown plan'],
  unknown_id: [404, 'no workflow DLQ, message log, failure callback, or action has this id'],
  method_not_allowed: [405, 'the address needs another method'],
  expired: [409, 'the plan is too old, or its policy was changed since'],
  decided: [409, 'the plan was applied, approved, or rejected before'],
  other_queue: [409, 'an id is in the other DLQ; the message names the action for it'],
  mode: [409, 'the effective mode of the policy is `off` or `audit`'],
  refused: [409, 'the present state does not allow it; the message has the reason'],
  unconfirmed: [409, 'the operation needs `confirm`, with the name in the message; nothing was sent'],
  too_large: [413, 'the body is too long'],
  unknown_host: [421, 'the `Host` is not a known name of the daemon; add it to `server.hosts`'],
  bad_configuration: [
    422,
    'the configuration is invalid, and nothing has changed; the message has each problem with its place',
  ],
  rate_limited: [429, 'the rate limit of the web configuration file, or of wrong passwords, is exceeded'],
  budget: [429, 'the daily request budget does not allow the request; for a search, `Retry-After` has the time'],
  internal: [500, 'the log of the daemon has the reason'],
  service_error: [
    502,
    'the service rejected a request, or its response is invalid; the message says if a write may have taken effect',
  ],
  unread: [502, 'the id was not found, and a DLQ or log could not be read, or no replica owns one of the accounts'],
  busy: [503, 'too many simultaneous requests, password checks, or reads, or a read took longer than 22 s; try again'],
  service_unavailable: [503, 'the service did not answer; the message has the reason'],
  stopping: [503, 'the daemon is stopping'],
  store_unavailable: [503, 'the store cannot be read within 20 s, or a write cannot be recorded'],
  not_run: [503, 'the replica that owns the account did not take the command, so it never runs; try again'],
  outcome_unknown: [
    504,
    'the replica that owns the account took the command and stopped before its response; the message has the next step',
  ],
} as const;
export type ErrorCode = keyof typeof ERROR_CODES;

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

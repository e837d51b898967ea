/**
 * Performs HTTP exchanges with one origin and reports if a request began to be written. That fact decides if a failed
 * write may have taken effect. Follows no redirects and retries nothing.
 */
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import { GatheredBytes } from '#foundation/platform/gathered-bytes.ts';
import type { ClientPair } from '#foundation/platform/client-pair.ts';
import { openAgent, type HttpAgent } from '#foundation/platform/http-agents.ts';
import type { AnswerReading } from './answer-memory.ts';
import type { AnswerHeaders } from './rate-limit-headers.ts';

export interface HttpExchange {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query exactly as in the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Number of body bytes received. */
  readonly bytes: number;
  /** Body; empty for a long error body. The reader must free it. */
  readonly body: Buffer<ArrayBuffer>;
}

/** Error for an exchange without a complete response. `cause` is the signal's reason if that stopped it. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  /** False if no byte of the request was, or will be, written. */
  readonly sent: boolean;
  /** Status of the response, if it began. */
  readonly status: number | undefined;
  /** Number of body bytes received. */
  readonly bytes: number;

  constructor(cause: unknown, { sent, status, bytes }: Pick<ExchangeError, 'sent' | 'status' | 'bytes'>) {
    super('the exchange failed', { cause });
    this.sent = sent;
    this.status = status;
    this.bytes = bytes;
  }
}

/** Maximum size of an error body. A longer one is an HTML page. */
const MOST_ERROR_BYTES = 65_536;

export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/** Connections to one origin. Each one has one request at a time: it would be unknown if a pipelined write was read. */
export interface OriginConnections extends HttpAgent, Disposable {
  readonly to: ReturnType<typeof urlToHttpOptions>;
  readonly client: (() => ClientPair) | undefined;
}

/** Time after which an unused connection is closed, before most services close it. A proxy must open a tunnel in it. */
const UNUSED_MS = 4_000;

/** @param most maximum number of connections */
export async function openConnections(
  origin: string,
  most: number,
  client?: () => ClientPair,
): Promise<OriginConnections> {
  const to = urlToHttpOptions(new URL(origin));
  const opened = await openAgent(to.protocol ?? '', { keepAlive: true, maxSockets: most, timeout: UNUSED_MS });
  return { ...opened, to, client, [Symbol.dispose]: () => opened.agent.destroy() };
}

/**
 * @param limits `maxBytes` of the response body, whose memory `reading` counts; `signal` aborts the exchange
 * immediately
 * @throws {ExchangeError}
 */
export function sendOnce(
  { agent, request: open, to, client }: OriginConnections,
  { method, path, headers, body }: HttpExchange,
  limits: { readonly maxBytes: number; readonly reading: AnswerReading; readonly signal: AbortSignal },
): Promise<HttpAnswer> {
  const { signal, maxBytes, reading } = limits;
  return new Promise((resolve, reject) => {
    let sent = false;
    let settled = false;
    let status: number | undefined;
    let bytes = 0;
    let gathered = new GatheredBytes();

    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      signal.removeEventListener('abort', onAbort);
      return true;
    };
    const fail = (cause: unknown): void => {
      if (!settle()) return;
      gathered.discard();
      reject(new ExchangeError(cause, { sent, status, bytes }));
    };
    if (signal.aborted) {
      fail(signal.reason);
      return;
    }

    let request: ClientRequest;
    // Bytes, because Node writes the headers before a text in UTF-8.
    const content = typeof body === 'string' ? Buffer.from(body) : body;
    try {
      // Otherwise, Node declares no length of a body in a DELETE.
      const length = content !== undefined && { 'content-length': content.length };
      request = open({ ...to, ...client?.(), agent, method, path, headers: { ...headers, ...length } });
    } catch (error) {
      fail(error);
      return;
    }
    const abandon = (reason: unknown): void => {
      if (settled) return;
      fail(reason);
      request.destroy();
    };
    const onAbort = (): void => abandon(signal.reason);
    const tooLarge = (reason = `the response is larger than ${maxBytes} bytes`): void =>
      abandon(new AnswerTooLarge(reason));
    signal.addEventListener('abort', onAbort, { once: true });
    reading.onTooMuch = tooLarge;

    // Nothing is written before the connection is open. A request that ends before closes its connection. Through a
    // tunnel, this event follows the handshake with the service.
    request.on('socket', (socket: Socket & { readonly secureConnecting?: boolean }) => {
      const began = (): void => {
        sent = true;
      };
      if (socket.secureConnecting === true) socket.once('secureConnect', began);
      else if (socket.connecting) socket.once('connect', began);
      else began();
    });
    request.on('response', (response) => {
      status = response.statusCode;
      const declared = response.headers['content-length'];
      if (Number(declared) > maxBytes) tooLarge();
      if (declared !== undefined && isGood(status)) gathered = new GatheredBytes(Number(declared));
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) tooLarge();
        if (settled || (!isGood(status) && bytes > MOST_ERROR_BYTES)) return;
        gathered.add(chunk);
        reading.add(chunk.length);
      });
      response.on('end', () => {
        const isWhole = gathered.length === bytes;
        if (!settle()) return;
        const whole = isWhole ? gathered.take() : Buffer.alloc(0);
        resolve({ status: status ?? 0, headers: response.headersDistinct, bytes, body: whole });
      });
      response.on('error', fail);
    });
    request.on('error', fail);
    // Node reports no error for a response that changes the protocol.
    request.on('close', () => status === undefined && fail(new Error('the connection was closed')));
    request.end(content);
  });
}

function isGood(status = 0): boolean {
  return status >= 200 && status <= 299;
}

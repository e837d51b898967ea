/**
 * Rejects input that Node cannot parse as a request. The response has a status and `{"error": …}`, as all others. If
 * valid requests precede the bad bytes on the connection, their responses are sent first, so that each caller learns
 * its result.
 */
import { maxHeaderSize, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { rawResponse } from '#foundation/http/raw-response.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Connections } from './connections.ts';
import { ApiError } from '../state/api-error.ts';

export function refuseBadHttp(server: Server, clock: Clock, connections: Connections): void {
  const endWith = (socket: Duplex, status: number, why: string): void => {
    if (socket.writable) connections.end(socket, refusal(status, why, clock));
  };
  // Removes the limit on the number of headers: Node drops the excess silently. The size of the headers stays bounded.
  server.maxHeadersCount = 0;
  const exchanges = new WeakMap<Duplex, Exchange[]>();
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const open = (exchanges.get(request.socket) ?? []).filter(isOpen);
    exchanges.set(request.socket, [...open, { request, response }]);
  });
  server.on('clientError', (error: ParseError, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const [status, why] = reasonOf(error);
    const open = exchanges.get(socket) ?? [];
    // The request was rejected before its body became invalid, so it already has a response.
    const answered = open.some(({ request, response }) => !request.complete && response.headersSent);
    const waiting = open.filter((exchange) => exchange.request.complete && isOpen(exchange)).at(-1);
    const refuse = (): void => {
      if (answered) connections.end(socket);
      else endWith(socket, status, why);
    };
    if (waiting === undefined) refuse();
    else waiting.response.once('close', refuse);
  });
  server.on('connect', (_request, socket: Duplex) => {
    endWith(socket, 405, 'the method CONNECT is not supported: this is not a proxy');
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    response.statusCode = 417;
    response.setHeader('Date', new Date(clock.now()).toUTCString());
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ error: 'the Expect header can only be 100-continue' }));
  });
}

/**
 * Checks what Node's parser does not.
 *
 * @throws {ApiError} 400
 */
export function checkRequestLine(request: IncomingMessage): void {
  if (request.httpVersionMajor !== 1) throw new ApiError(400, `HTTP/${request.httpVersion} is not supported`);
  // Node itself would respond with an empty body.
  if (request.httpVersion === '1.1' && request.headers.host === undefined) {
    throw new ApiError(400, 'an HTTP/1.1 request needs a Host header');
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Returns true while the response is incomplete. */
function isOpen({ request, response }: Exchange): boolean {
  return !request.complete || !(response.writableFinished || response.destroyed);
}

interface ParseError extends NodeJS.ErrnoException {
  /** Reason from the parser. */
  readonly reason?: string;
}

function reasonOf({ code = 'unknown', reason }: ParseError): readonly [status: number, why: string] {
  if (code === 'HPE_HEADER_OVERFLOW') return [431, `request line and headers are larger than ${maxHeaderSize} bytes`];
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return [413, 'the extensions of a chunk of the body are too large'];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'the rest of the request did not arrive in time'];
  return [400, `this is not an HTTP request: ${reason ?? 'it cannot be parsed'} (${code})`];
}

function refusal(status: number, error: string, clock: Clock): string {
  const headers = { Date: new Date(clock.now()).toUTCString(), 'Content-Type': 'application/json' };
  return rawResponse(status, headers, JSON.stringify({ error }));
}

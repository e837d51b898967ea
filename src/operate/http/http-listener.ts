/**
 * Common behavior of the daemon's HTTP listeners: limits on heads, bodies, times and connections, one response to
 * invalid HTTP, and a clean stop. Slow, greedy, broken or disconnected clients cost a connection, never the process.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { listenTcp } from '#foundation/http/listen.ts';
import { rawResponse } from '#foundation/http/raw-response.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import { HostError, requestHost, isKnownHost } from '#foundation/platform/known-hosts.ts';
import { ConnectionPool, type PoolLimits } from './connection-pool.ts';
import { UNGUARDED, type ListenerSecurity } from './listener-security.ts';
import { listenUnix } from './listen-unix.ts';
import { errorReply, HttpError, sendReply, type Reply } from './reply.ts';
import { PendingResponses } from './pending-responses.ts';
import { openSecureServer, type RequestListener } from './secure-server.ts';
import { SharedBodies } from './shared-body.ts';

export interface RunningServer extends AsyncDisposable {
  /** `http://HOST:PORT`, `https://` with TLS, or the path of the unix socket. */
  readonly address: string;
  /**
   * Stops accepting, lets responses in flight finish for 2 seconds, then closes the remaining ones. May be called
   * again.
   */
  close(): Promise<void>;
}

export interface ListenerRequest {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
  /** Lets the connection be silent for as long as this response takes. For authorized callers. */
  readonly mayTakeLong: () => void;
}

export interface ListenerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly listen: ListenAddress | { readonly socketPath: string };
  /** Configuration key of the address, for errors; default: `server.listen`. */
  readonly setting?: string;
  /** Web configuration; plain HTTP without one. */
  readonly security?: ListenerSecurity;
  /** Returns additional names of the daemon. Absent: requests for any host are answered. */
  readonly hosts?: () => readonly string[];
  /** Limits of TCP connections, for tests. */
  readonly connections?: PoolLimits;
  /** Maximum bytes of the responses that clients have not read, for tests. */
  readonly pendingBytes?: number;
  /** Answers a request. Never rejects. */
  answer(asked: ListenerRequest): Promise<Reply>;
}

const LIMITS = {
  maxHeaderSize: 16_384,
  /** Time limits for a request's head, and for the whole request. */
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 2_000,
  /** Longer than the usual scrape interval of a minute, so that a scraper keeps its connection. */
  keepAliveTimeout: 75_000,
} as const;

/** Time without progress during a response after which a TCP connection is closed. */
const STALLED_MS = 30_000;
const CONNECTIONS: PoolLimits = { busy: 256, forProbes: 16 };
/** Maximum number of requests on one connection before the first response. They are answered one after the other. */
const MAX_PIPELINED = 8;
/**
 * Times of a stop. Plans are aborted after the first one, so that they still get a response; all connections are closed
 * after the second.
 */
const CUT_OFF_MS = 1_500;
const CUT_MS = 2_000;

/** @throws {ListenError} with the address, the reason, and the fix */
export async function startListener(options: ListenerOptions): Promise<RunningServer> {
  const { clock, logger, listen } = options;
  const stop: Stop = { asked: false, cutOff: new AbortController() };
  const bodies = new SharedBodies(clock);
  const pending = new PendingResponses(options.pendingBytes);
  const queues = new WeakMap<Socket, { length: number; last: Promise<void> }>();
  const isSocket = 'socketPath' in listen;
  // The unix socket has no limit, since its clients are trusted.
  const pool = isSocket ? undefined : new ConnectionPool(options.connections ?? CONNECTIONS);
  const server = await openServer(options, (request, response) => {
    const { socket } = request;
    const queue = queues.get(socket) ?? { length: 0, last: Promise.resolve() };
    if (queue.length >= MAX_PIPELINED) socket.destroy();
    // Node still delivers data that was read before the connection was closed.
    if (socket.destroyed) return;
    // A socket error during a response concerns only the client.
    response.on('error', () => undefined);
    request.on('error', () => undefined);
    const before = queue.length++ === 0 ? undefined : queue.last;
    queue.last = new Promise((resolve) => response.once('close', resolve));
    response.once('close', () => queue.length--);
    queues.set(socket, queue);
    const room = pool?.begin(socket);
    if (room !== undefined) response.once('close', room.end);
    const exchange = { options, request, response, server, stop, bodies, pending, hasRoom: room?.hasRoom ?? true };
    if (before === undefined) void serve(exchange);
    // A client that does not read has one response in memory, however many it requests.
    else void before.then(() => (socket.writable ? serve(exchange) : undefined));
  });
  if (!isSocket) server.timeout = STALLED_MS;
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    pool?.add(socket);
  });
  const address = isSocket
    ? await listenUnix(server, listen.socketPath)
    : await listenTcp(server, listen, {
        setting: options.setting ?? 'server.listen',
        ...(options.security?.web.tls !== undefined && { scheme: 'https' }),
      });
  // Registered only now: the caller reports errors during the start, once.
  server.on('error', (error) => logger.error({ err: error }, 'http server failed'));
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= drain({ server, sockets, stop, clock }));
  return { address, close, [Symbol.asyncDispose]: close };
}

async function openServer(
  { security, setting, logger, clock }: ListenerOptions,
  answer: RequestListener,
): Promise<Server> {
  const options = { ...LIMITS, keepAlive: true };
  if (security?.web.tls === undefined) return createServer(options, answer).on('clientError', refuseMalformed);
  const webSetting = (setting ?? 'server.listen').replace(/listen$/, 'webConfigFile');
  const onMalformed = refuseMalformed;
  return openSecureServer(options, { security, logger, clock, setting: webSetting, answer, onMalformed });
}

interface Stop {
  asked: boolean;
  readonly cutOff: AbortController;
}

interface Exchange {
  readonly options: ListenerOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly server: Server;
  readonly stop: Stop;
  readonly bodies: SharedBodies;
  readonly pending: PendingResponses;
  /** True if a request other than a probe may be answered. */
  readonly hasRoom: boolean;
}

async function serve(exchange: Exchange): Promise<void> {
  const { options, request, response, server, stop, bodies, pending } = exchange;
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the client disconnected')));
  try {
    const { path, query } = splitTarget(request.url ?? '/');
    const signal = AbortSignal.any([gone.signal, stop.cutOff.signal]);
    // With a listener for the timeout, Node does not close the connection.
    const mayTakeLong = (): void => void response.once('timeout', () => undefined);
    const refusal = refusalOf(exchange, path);
    const reply =
      refusal === undefined
        ? await options.answer({ request, path, query, signal, mayTakeLong })
        : errorReply(path, refusal);
    // Node would wait for an unread body before the next request, so the connection ends instead.
    const unread = !request.complete && request.method !== 'GET' && request.method !== 'HEAD';
    // A response that began before the stop may have promised to keep the connection.
    response.once('finish', () => {
      if (stop.asked) setImmediate(() => server.closeIdleConnections());
    });
    const headers = options.security?.web.headers ?? {};
    await sendReply(request, response, reply, {
      close: unread || stop.asked || !exchange.hasRoom,
      bodies,
      pending,
      headers,
    });
  } catch (error) {
    options.logger.error({ err: error }, 'sending a response failed');
    response.destroy();
  }
}

/** Returns the reason to reject a request for any path; undefined if it is answered. */
function refusalOf({ options, request, hasRoom }: Exchange, path: string): HttpError | undefined {
  const isProbe = UNGUARDED.includes(path);
  const { security, hosts, listen } = options;
  try {
    const host = requestHost(request);
    // A certificate is not valid for a name that a third party points here, so TLS needs no check.
    const isChecked = hosts !== undefined && security?.web.tls === undefined && !isProbe && host !== undefined;
    const own = 'host' in listen ? [...(hosts?.() ?? []), listen.host] : [];
    if (isChecked && !isKnownHost(host, own)) return unknownHost(host);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    return new HttpError(400, 'bad_request', error.message);
  }
  if (!hasRoom && !isProbe) {
    return new HttpError(503, 'busy', 'Too many requests at the same time; retry.', { 'Retry-After': '1' });
  }
  return security?.admits(path) === false ? tooMany() : undefined;
}

function unknownHost(host: string): HttpError {
  const message = `${host.slice(0, 100)} is not a known name of this daemon. Add it to server.hosts, or use an IP address.`;
  return new HttpError(421, 'unknown_host', message);
}

function tooMany(): HttpError {
  const message = 'Too many requests: the limit is rate_limit in the web configuration file. Retry later.';
  return new HttpError(429, 'rate_limited', message, { 'Retry-After': '1' });
}

/** Path and query of a request target, which may be absolute. Paths are compared without decoding. */
function splitTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const relative = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '');
  const [path = '', ...query] = relative.split('?');
  return { path: path === '' ? '/' : path, query: new URLSearchParams(query.join('?')) };
}

/** Sends one short response to invalid HTTP or to too large a head, and closes the connection. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, reason] = malformedStatus(error.code);
  const headers = { 'Content-Type': 'text/plain; charset=utf-8' };
  socket.end(rawResponse(status, headers, `${reason}\n`), () => socket.destroy());
}

function malformedStatus(code: string | undefined): readonly [status: number, reason: string] {
  switch (code ?? '') {
    case 'HPE_HEADER_OVERFLOW':
      return [431, `Request headers must have at most ${LIMITS.maxHeaderSize} bytes.`];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'The request was not complete in time.'];
    default:
      return [400, 'This is not a valid HTTP/1.1 request.'];
  }
}

async function drain(options: {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
  readonly stop: Stop;
  readonly clock: Clock;
}): Promise<void> {
  const { server, sockets, stop, clock } = options;
  stop.asked = true;
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Node does not count a connection without any byte as idle (browsers open some in advance).
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  using _cutOff = clock.after(CUT_OFF_MS, () => stop.cutOff.abort(new Error('the server is stopping')));
  using _cut = clock.after(CUT_MS, () => {
    server.closeAllConnections();
    // Node does not list connections whose TLS handshake is not complete.
    for (const socket of sockets) socket.destroy();
  });
  await ended;
}

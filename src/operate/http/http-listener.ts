/**
 * What every HTTP listener of the daemon is: bounds on heads, bodies, times and connections, one answer for what is no
 * HTTP, and a way down. Clients that are slow, greedy, broken or gone cost a connection, never the process.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { ListenAddress } from '#foundation/platform/settings.ts';
import { HostError, hostOf, isKnownHost } from '#foundation/platform/known-hosts.ts';
import { ConnectionPool, type PoolLimits } from './connection-pool.ts';
import { UNGUARDED, type Door } from './door.ts';
import { listenTcp, listenUnix } from './listen.ts';
import { errorReply, HttpError, send, type Reply } from './reply.ts';
import { openSecureServer, type Answer } from './secure-server.ts';
import { SharedBodies } from './shared-body.ts';

export interface RunningServer extends AsyncDisposable {
  /** `http://HOST:PORT`, `https://` with TLS, or the path of the unix socket. */
  readonly address: string;
  /** Stops accepting, lets answers under way finish for 2 seconds, then cuts what is left. May be called again. */
  close(): Promise<void>;
}

export interface Asked {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborted when the caller goes away, or the server stops. */
  readonly signal: AbortSignal;
  /** From now on the connection may be silent for as long as this answer takes. For callers who are known. */
  readonly mayTakeLong: () => void;
}

export interface ListenerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly listen: ListenAddress | { readonly socketPath: string };
  /** The key of the configuration that says where to listen, for errors; `server.listen` unless given. */
  readonly setting?: string;
  /** What its web configuration file says; plain HTTP without one. */
  readonly door?: Door;
  /** Returns names of the daemon besides the known ones. Absent: requests for any host are answered. */
  readonly hosts?: () => readonly string[];
  /** Bounds on TCP connections; for tests. */
  readonly connections?: PoolLimits;
  /** Never rejects. */
  answer(asked: Asked): Promise<Reply>;
}

const LIMITS = {
  maxHeaderSize: 16_384,
  /** Within these a request's head, and the whole of it, must have come. */
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 2_000,
  /** Longer than the usual scrape interval of a minute, so that a scraper keeps its connection. */
  keepAliveTimeout: 75_000,
} as const;

/** A TCP connection on which nothing moves for so long during an answer is cut. */
const STALLED_MS = 30_000;
const CONNECTIONS: PoolLimits = { busy: 256, forProbes: 16 };
/** Requests that one connection may send before the first of them is answered: each holds memory until it is. */
const MAX_PIPELINED = 8;
/** Stopping: plans are given up after the first time, so that they still get an answer; all is cut after the second. */
const GIVE_UP_MS = 1_500;
const CUT_MS = 2_000;

/** @throws {ListenError} saying which address, why, and what to do */
export async function startListener(options: ListenerOptions): Promise<RunningServer> {
  const { clock, logger, listen } = options;
  const stop: Stop = { asked: false, givenUp: new AbortController() };
  const bodies = new SharedBodies(clock);
  const waiting = new WeakMap<Socket, number>();
  const isSocket = 'socketPath' in listen;
  // The socket, whose peers are trusted, has no limit.
  const pool = isSocket ? undefined : new ConnectionPool(options.connections ?? CONNECTIONS);
  const server = await openServer(options, (request, response) => {
    const { socket } = request;
    const ahead = waiting.get(socket) ?? 0;
    if (ahead >= MAX_PIPELINED) socket.destroy();
    // What was read of a connection that has been cut is still handed on.
    if (socket.destroyed) return;
    waiting.set(socket, ahead + 1);
    response.once('close', () => void waiting.set(socket, waiting.get(socket)! - 1));
    const room = pool?.begin(socket);
    if (room !== undefined) response.once('close', room.end);
    void serve({ options, request, response, server, stop, bodies, hasRoom: room?.hasRoom ?? true });
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
        ...(options.setting !== undefined && { setting: options.setting }),
        ...(options.door?.web.tls !== undefined && { scheme: 'https' }),
      });
  // Only now: what goes wrong while it begins to listen is told by its caller, once.
  server.on('error', (error) => logger.error({ err: error }, 'http server failed'));
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= drain({ server, sockets, stop, clock }));
  return { address, close, [Symbol.asyncDispose]: close };
}

async function openServer({ door, logger }: ListenerOptions, answer: Answer): Promise<Server> {
  const options = { ...LIMITS, keepAlive: true };
  if (door?.web.tls === undefined) return createServer(options, answer).on('clientError', refuseMalformed);
  return openSecureServer(options, { door, logger, answer, onMalformed: refuseMalformed });
}

interface Stop {
  asked: boolean;
  readonly givenUp: AbortController;
}

interface Exchange {
  readonly options: ListenerOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly server: Server;
  readonly stop: Stop;
  readonly bodies: SharedBodies;
  /** Whether a request that is no probe may be answered. */
  readonly hasRoom: boolean;
}

async function serve(exchange: Exchange): Promise<void> {
  const { options, request, response, server, stop, bodies } = exchange;
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the client went away')));
  // A socket error while answering concerns nobody but the client.
  response.on('error', () => undefined);
  request.on('error', () => undefined);
  try {
    const { path, query } = splitTarget(request.url ?? '/');
    const signal = AbortSignal.any([gone.signal, stop.givenUp.signal]);
    // Where somebody hears of the timeout, Node does not cut the connection for it.
    const mayTakeLong = (): void => void response.once('timeout', () => undefined);
    const refusal = refusalOf(exchange, path);
    const reply =
      refusal === undefined
        ? await options.answer({ request, path, query, signal, mayTakeLong })
        : errorReply(path, refusal);
    // A body that was not read would be taken for the next request's wait: end the connection instead.
    const unread = !request.complete && request.method !== 'GET' && request.method !== 'HEAD';
    // An answer that began before the stop may have promised to keep the connection.
    response.once('finish', () => {
      if (stop.asked) setImmediate(() => server.closeIdleConnections());
    });
    const headers = options.door?.web.headers ?? {};
    await send(request, response, reply, { close: unread || stop.asked || !exchange.hasRoom, bodies, headers });
  } catch (error) {
    options.logger.error({ err: error }, 'answer could not be sent');
    response.destroy();
  }
}

/** Returns why a request is refused whatever it asks for; undefined when it is answered. */
function refusalOf({ options, request, hasRoom }: Exchange, path: string): HttpError | undefined {
  const isProbe = UNGUARDED.includes(path);
  const { door, hosts, listen } = options;
  try {
    const host = hostOf(request);
    // A certificate is not valid for a name that somebody else points here, so TLS needs no check.
    const isChecked = hosts !== undefined && door?.web.tls === undefined && !isProbe && host !== undefined;
    const own = 'host' in listen ? [...(hosts?.() ?? []), listen.host] : [];
    if (isChecked && !isKnownHost(host, own)) return unknownHost(host);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    return new HttpError(400, 'bad_request', error.message);
  }
  if (!hasRoom && !isProbe) {
    return new HttpError(503, 'busy', 'Too many requests at the same time; try again.', { 'Retry-After': '1' });
  }
  return door?.admits(path) === false ? tooMany() : undefined;
}

function unknownHost(host: string): HttpError {
  const message = `${host.slice(0, 100)} is not a known name of this daemon. Add it to server.hosts, or use an IP address.`;
  return new HttpError(421, 'unknown_host', message);
}

function tooMany(): HttpError {
  const message = 'Too many requests: rate_limit of the web configuration file allows no more now.';
  return new HttpError(429, 'rate_limited', message, { 'Retry-After': '1' });
}

/** Path and query of a request target, which may be absolute. Paths are compared as they come: nothing is decoded. */
function splitTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const relative = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '');
  const [path = '', ...query] = relative.split('?');
  return { path: path === '' ? '/' : path, query: new URLSearchParams(query.join('?')) };
}

/** What is not HTTP, or too much of it, gets one short answer and the end of its connection. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, reason] = malformedStatus(error.code);
  const body = `${reason}\n`;
  const head = `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}

function malformedStatus(code: string | undefined): readonly [string, string] {
  switch (code ?? '') {
    case 'HPE_HEADER_OVERFLOW':
      return ['431 Request Header Fields Too Large', `Request headers may have ${LIMITS.maxHeaderSize} bytes.`];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['408 Request Timeout', 'The request did not come in time.'];
    default:
      return ['400 Bad Request', 'This is not a valid HTTP/1.1 request.'];
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
  // A connection that never carried a byte (browsers open some in advance) does not count as idle there.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  using _giveUp = clock.after(GIVE_UP_MS, () => stop.givenUp.abort(new Error('the server is stopping')));
  using _cut = clock.after(CUT_MS, () => {
    server.closeAllConnections();
    // Those that have not agreed on TLS are none of its connections yet.
    for (const socket of sockets) socket.destroy();
  });
  await ended;
}

/**
 * HTTP server of the embedded service: authentication, bodies, errors as `{"error": …}`. Every request gets exactly one
 * response, and a handler that throws does not stop the server. The `Date` of every response is the service's time.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { readBody } from '#foundation/http/body.ts';
import { listenTcp } from '#foundation/http/listen.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import type { Account } from '../state/account.ts';
import type { AccountBook } from '../state/account-book.ts';
import type { Admission, Entry } from './admission.ts';
import { checkRequestLine, refuseBadHttp } from './bad-http.ts';
import { refuseOtherSites } from './other-sites.ts';
import { CONNECTION_TIMEOUTS, Connections, type ConnectionTimeouts } from './connections.ts';
import { ApiError } from '../state/api-error.ts';
import { headerTexts } from '../state/header-text.ts';
import { responseOf, type ReceivedRequest, type ApiResponse, type Route } from './route.ts';
import type { MatchRoute } from './router.ts';

interface ServedService {
  readonly accounts: AccountBook;
  readonly match: MatchRoute;
  /** Admits requests of the message API; admits all when absent. */
  readonly admission?: Pick<Admission, 'enter'>;
}

export interface ServerOptions {
  readonly clock: Clock;
  /** Real time, which limits connections; `clock` when absent. */
  readonly realClock?: Clock;
  readonly timeouts?: ConnectionTimeouts;
  readonly listen: ListenAddress;
  readonly management: { readonly username: string; readonly password: string };
  /** Called at each request: a reset replaces the service. */
  readonly service: () => ServedService;
  readonly maxBodyBytes: number;
  /** Replaces the route's own handler. */
  readonly handle?: (call: RoutedCall) => Promise<ApiResponse>;
  /** Called when a request begins. The returned function is called when its response has ended. */
  readonly onRequest?: (message: IncomingMessage) => (() => void) | undefined;
  /** Called for each request to the two APIs. */
  readonly onAnswer?: (request: AnsweredRequest) => void;
  /** Called with any error of a handler that is not an ApiError. */
  readonly onError: (error: unknown) => void;
}

/** A request with its route. */
export interface RoutedCall {
  readonly route: Route;
  /** Path and query as received. */
  readonly target: string;
  readonly request: ReceivedRequest;
}

interface AnsweredRequest {
  readonly method: string;
  readonly target: string;
  readonly operation: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bodyBytes: number;
  readonly response: ApiResponse;
}

export interface RunningServer {
  /** `http://HOST:PORT` */
  readonly url: string;
  close(): Promise<void>;
}

/** @throws {ListenError} with the address, the reason, and the fix */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { clock, realClock = clock, timeouts = CONNECTION_TIMEOUTS } = options;
  const limits = {
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.idleMs,
    connectionsCheckingInterval: timeouts.checkMs,
  };
  const server = createServer({ ...limits, requireHostHeader: false }, (message, response) => {
    response.sendDate = false;
    const onEnd = options.onRequest?.(message);
    if (onEnd !== undefined) response.on('close', onEnd);
    answer(options, message)
      .then((result) => send(clock, message, response, result))
      .then(() => connections.awaitTaken(message.socket))
      .catch((error: unknown) => {
        options.onError(error);
        response.destroy();
      });
  });
  const connections = new Connections(server, realClock, timeouts);
  refuseBadHttp(server, clock, connections);
  const url = await listenTcp(server, options.listen);
  return {
    url,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.destroyAll();
      await closed;
    },
  };
}

async function answer(options: ServerOptions, message: IncomingMessage): Promise<ApiResponse> {
  const seen: Seen = { route: undefined, bodyBytes: 0 };
  const response = await answerCall(options, message, seen);
  if (seen.route?.api !== 'control') {
    options.onAnswer?.({
      method: message.method ?? '',
      target: message.url ?? '',
      operation: seen.route?.operation,
      headers: headerTexts(message.headers),
      bodyBytes: seen.bodyBytes,
      response,
    });
  }
  return response;
}

/** Facts of a request, filled in as they become known. */
interface Seen {
  route: Route | undefined;
  bodyBytes: number;
}

async function answerCall(options: ServerOptions, message: IncomingMessage, seen: Seen): Promise<ApiResponse> {
  const { accounts, match, admission } = options.service();
  let entry: Entry | undefined;
  try {
    checkRequestLine(message);
    const target = message.url ?? '';
    const { route, params, query } = match(message.method ?? '', target);
    seen.route = route;
    if (route.sites !== undefined) refuseOtherSites(message, options.listen.host, route.sites);
    const account = authenticate(accounts, options.management, { route, authorization: message.headers.authorization });
    if (route.api === 'message') entry = admission?.enter(account);
    const limit = Math.min(options.maxBodyBytes, entry?.maxBodyBytes ?? Infinity);
    // The rest of a rejected body is discarded, so that the caller receives the response.
    const body = await readBody(message, limit, {
      tooLarge: () => new ApiError(413, `the body is larger than ${limit} bytes, the maximum`),
      endedEarly: () => new ApiError(400, 'the body ended before it was complete'),
    });
    seen.bodyBytes = body.length;
    const request: ReceivedRequest = {
      account,
      headers: message.headers,
      params,
      query: new URLSearchParams(query),
      body,
      callerIp: (message.socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
    };
    const response = await (options.handle ?? callRoute)({ route, target, request });
    // The response of a rate-limit fault has its own headers.
    if (response.status === 429) return response;
    return { ...response, headers: { ...entry?.headers(), ...response.headers } };
  } catch (error) {
    if (error instanceof ApiError) {
      const refused = responseOf(error);
      return { ...refused, headers: { ...entry?.headers(), ...refused.headers } };
    }
    options.onError(error);
    return { status: 500, json: { error: 'the embedded service failed on this request' } };
  }
}

function callRoute({ route, request }: RoutedCall): ApiResponse | Promise<ApiResponse> {
  return route.handle(request);
}

const NOBODY: Account = {
  id: '',
  token: '',
  readOnlyToken: '',
  plan: 'paid',
  firstPlan: 'paid',
  budgetUsd: 0,
  customerId: '',
  createdBy: '',
};

function authenticate(
  accounts: AccountBook,
  management: ServerOptions['management'],
  { route, authorization }: { readonly route: Route; readonly authorization: string | undefined },
): Account {
  if (route.api === 'control') return NOBODY;
  if (route.api === 'management') {
    const { username, password } = management;
    const given = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1];
    const decoded = given === undefined ? '' : Buffer.from(given, 'base64').toString('utf8');
    if (!sameSecret(decoded, `${username}:${password}`)) {
      const challenge = { 'WWW-Authenticate': 'Basic realm="management"' };
      throw new ApiError(
        401,
        'the management API needs basic authentication with its username and password, in the header Authorization',
        challenge,
      );
    }
    // The management credentials own every account, so the request is not tied to an account of the book.
    return { ...NOBODY, customerId: username };
  }
  const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  const credential = token === undefined ? undefined : accounts.byToken(token);
  if (credential === undefined) {
    throw new ApiError(401, 'the message API needs the bearer token of an account, in the header Authorization', {
      'WWW-Authenticate': 'Bearer',
    });
  }
  if (credential.readOnly && route.method !== 'GET') {
    throw new ApiError(403, `${route.operation} is a write: a read-only token is not allowed`);
  }
  return credential.account;
}

function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function send(clock: Clock, message: IncomingMessage, response: ServerResponse, result: ApiResponse): void {
  if (response.destroyed) return;
  if (result.sending === 'lost') {
    response.destroy();
    return;
  }
  response.statusCode = result.status;
  response.setHeader('Date', dateOf(clock));
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, value);
  if (result.json === undefined) {
    response.end(result.text);
  } else {
    response.setHeader('Content-Type', 'application/json');
    const text = JSON.stringify(result.json);
    if (result.sending === undefined) response.end(text);
    else sendPart(response, text, result.sending);
  }
  message.resume();
}

/** Sends the first half of the JSON: as if complete, or over a connection that breaks before the rest. */
function sendPart(response: ServerResponse, text: string, how: 'cut' | 'broken-off'): void {
  const whole = Buffer.from(text);
  const half = whole.subarray(0, Math.floor(whole.length / 2));
  if (how === 'cut') {
    response.end(half);
    return;
  }
  response.setHeader('Content-Length', whole.length);
  response.write(half, () => response.destroy());
}

function dateOf(clock: Clock): string {
  return new Date(clock.now()).toUTCString();
}

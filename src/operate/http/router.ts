/** Router of requests. access.ts decides on permissions. */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import { bySession, identify, isOpen, type Access, type Caller } from './access.ts';
import { isFormToken } from './form-token.ts';
import { UNGUARDED } from './listener-security.ts';
import type { ListenerRequest } from './http-listener.ts';
import { errorReply, HttpError, type Reply } from './reply.ts';
import { matchPath, type Route, type RouteContext } from './route.ts';

/** Paths on which a wrong header is ignored if anonymous callers may read. */
const SHOWN = ['/', '/metrics'];

/** Error of a request, for the function that renders it. */
interface Failed<Deps> extends Omit<RouteContext<Deps>, 'id'> {
  readonly error: HttpError;
}

/** Routes that are loaded at their first request. */
export interface MoreRoutes<Deps> {
  readonly routes: readonly Route<Deps>[];
  /** Returns the response to a browser that asked for a page; undefined for other requests. */
  readonly renderError: (failed: Failed<Deps>) => Reply | undefined;
}

/**
 * Returns the function that answers requests. It never rejects: an error becomes a response, and a log line if it is
 * the daemon's own.
 *
 * @param loadMore loads the routes of all other paths
 */
export function createRouter<Deps extends { readonly logger: Logger; readonly clock: Clock }>(
  routes: readonly Route<Deps>[],
  deps: Deps,
  loadMore: () => Promise<MoreRoutes<Deps>>,
): (asked: ListenerRequest, access: Access) => Promise<Reply> {
  return async (asked, access) => {
    const { path, signal } = asked;
    let caller: Caller | undefined;
    let more: MoreRoutes<Deps> | undefined;
    const failed = (error: HttpError): Reply => {
      const page = more?.renderError({ ...asked, deps, access, caller, error });
      return page ?? errorReply(path, error);
    };
    try {
      let found = routesOf(routes, path);
      if (found.length === 0) {
        more = await loadMore();
        found = routesOf(more.routes, path);
      }
      caller = await callerOf(asked, access, found);
      const { route, id } = fitting(found, [...(more?.routes ?? []), ...routes], asked);
      const answer = (given: ListenerRequest) => route.handle({ ...given, deps, access, caller, id });
      // Probes and metrics need neither the store nor the service.
      const isRead = more !== undefined && route.method === 'GET';
      return await (isRead ? withinDeadline(asked, deps.clock, answer) : answer(asked));
    } catch (error) {
      if (error instanceof HttpError) return failed(error);
      if (signal.aborted) {
        return failed(new HttpError(503, 'stopping', 'The daemon is stopping and accepts no more requests.'));
      }
      deps.logger.error({ err: error, path }, 'request failed');
      const message = 'The daemon could not answer this request. Its log has the reason.';
      return failed(new HttpError(500, 'internal', message));
    }
  };
}

interface Found<Deps> {
  readonly route: Route<Deps>;
  readonly id: string;
}

async function callerOf<Deps>(
  { path, request }: ListenerRequest,
  access: Access,
  found: readonly Found<Deps>[],
): Promise<Caller | undefined> {
  if (UNGUARDED.includes(path)) return undefined;
  const isUnasked = found.some(({ route }) => route.isPublic) || (SHOWN.includes(path) && isOpen(access));
  if (isUnasked) return bySession(request, access);
  const caller = await identify(request, access);
  const isForm = found.some(({ route }) => route.hasForm && route.method === request.method);
  if (caller?.session !== undefined && !isForm && !['GET', 'HEAD'].includes(request.method ?? '')) {
    const given = request.headers['x-csrf-token'];
    if (typeof given !== 'string' || !isFormToken(given, caller)) {
      throw new HttpError(403, 'forbidden', 'A request with a session cookie needs the header X-CSRF-Token.');
    }
  }
  return caller;
}

function routesOf<Deps>(routes: readonly Route<Deps>[], path: string): readonly Found<Deps>[] {
  return routes.flatMap((route) => {
    const id = matchPath(route.path, path);
    return id === undefined ? [] : [{ route, id }];
  });
}

function fitting<Deps>(
  found: readonly Found<Deps>[],
  routes: readonly Route<Deps>[],
  { path, request }: ListenerRequest,
): Found<Deps> {
  if (found.length === 0) {
    const known = [...new Set(routes.map((route) => route.path))].join(' ');
    throw new HttpError(404, 'not_found', `Not found: ${path.slice(0, 200)}. Available paths: ${known}`);
  }
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const one = found.find(({ route }) => route.method === method);
  if (one === undefined) {
    const allowed = found.map(({ route }) => (route.method === 'GET' ? 'GET, HEAD' : route.method)).join(', ');
    const message = `${path.slice(0, 200)} accepts ${allowed}, not ${request.method}.`;
    throw new HttpError(405, 'method_not_allowed', message, { Allow: allowed });
  }
  return one;
}

/** Time after which the work is ended. It usually responds at once, and has a better reason. */
const DEADLINE_MS = 20_000;
/** Time after which the response is sent without it. */
const LAST_MS = 22_000;

/**
 * Answers a request before the listener closes a connection that was silent for too long, and ends the work for it, unless the work says that it may take long.
 */
async function withinDeadline(
  asked: ListenerRequest,
  clock: Clock,
  answer: (asked: ListenerRequest) => Reply | Promise<Reply>,
): Promise<Reply> {
  const late = new AbortController();
  const { promise: last, reject } = Promise.withResolvers<never>();
  using deadline = clock.after(DEADLINE_MS, () =>
    late.abort(new DOMException('the deadline of the response is over', 'TimeoutError')),
  );
  using end = clock.after(LAST_MS, () => reject(tooLate()));
  const mayTakeLong = (): void => {
    deadline.cancel();
    end.cancel();
    asked.mayTakeLong();
  };
  const signal = AbortSignal.any([asked.signal, late.signal]);
  return await Promise.race([answer({ ...asked, signal, mayTakeLong }), last]);
}

function tooLate(): HttpError {
  const message = `The daemon could not finish this response within ${LAST_MS / 1_000} seconds: it waits for its store, or for the service. Retry; \`opsd doctor\` checks both.`;
  return new HttpError(503, 'busy', message, { 'Retry-After': '5' });
}

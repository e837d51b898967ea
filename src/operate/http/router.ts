/** Router of requests. access.ts decides on permissions. */
import type { Logger } from '#foundation/platform/logger.ts';
import { identify, isOpen, type Access } from './access.ts';
import { UNGUARDED } from './listener-security.ts';
import type { Asked } from './http-listener.ts';
import { errorReply, HttpError, type Reply } from './reply.ts';
import { matchPath, type Route } from './route.ts';

/** Paths on which a wrong credential is ignored if anonymous callers may read. */
const SHOWN = ['/', '/metrics'];

/**
 * Returns the function that answers requests. It never rejects: an error becomes a response, and a log line if it is
 * the daemon's own.
 */
export function createRouter<Deps extends { readonly logger: Logger }>(
  routes: readonly Route<Deps>[],
  deps: Deps,
): (asked: Asked, access: Access) => Promise<Reply> {
  return async (asked, access) => {
    const { path, signal } = asked;
    try {
      const isUnasked = UNGUARDED.includes(path) || (SHOWN.includes(path) && isOpen(access));
      const caller = isUnasked ? undefined : await identify(asked.request, access);
      const { route, id } = findRoute(routes, path, asked.request.method);
      return await route.handle({ ...asked, deps, access, caller, id });
    } catch (error) {
      if (error instanceof HttpError) return errorReply(path, error);
      if (signal.aborted) {
        return errorReply(path, new HttpError(503, 'stopping', 'The daemon is stopping and accepts no more requests.'));
      }
      deps.logger.error({ err: error, path }, 'request failed');
      const message = 'The daemon could not answer this request. Its log has the reason.';
      return errorReply(path, new HttpError(500, 'internal', message));
    }
  };
}

function findRoute<Deps>(
  routes: readonly Route<Deps>[],
  path: string,
  asked: string | undefined,
): { readonly route: Route<Deps>; readonly id: string } {
  const found = routes.flatMap((route) => {
    const id = matchPath(route.path, path);
    return id === undefined ? [] : [{ route, id }];
  });
  if (found.length === 0) {
    const known = routes.map((route) => route.path).join(' ');
    throw new HttpError(404, 'not_found', `Not found: ${path.slice(0, 200)}. Available paths: ${known}`);
  }
  const method = asked === 'HEAD' ? 'GET' : asked;
  const fitting = found.find(({ route }) => route.method === method);
  if (fitting === undefined) {
    const allowed = found.map(({ route }) => (route.method === 'GET' ? 'GET, HEAD' : route.method)).join(', ');
    const message = `${path.slice(0, 200)} accepts ${allowed}, not ${asked}.`;
    throw new HttpError(405, 'method_not_allowed', message, { Allow: allowed });
  }
  return fitting;
}

/** What is served where. Who may is for access.ts to say. */
import type { Asked } from './http-listener.ts';
import { API_ROUTES } from '../api/api-routes.ts';
import { identify, isOpen, type Access } from './access.ts';
import { UNGUARDED } from './door.ts';
import { metricsFormat } from './metrics-format.ts';
import { PAGE_CSP, renderPage } from '../pages/page.ts';
import { healthy, ready } from './probes.ts';
import { errorReply, HttpError, type Reply } from './reply.ts';
import { matchPath, type Route, type RouteContext } from './route.ts';
import type { ServerDeps } from './server.ts';
import { readStatus } from '../api/status.ts';
import { VERB_ROUTES } from '../api/verb-routes.ts';

const PAGE_ACTIONS = 20;
const REFRESH_SECONDS = { min: 2, max: 3_600 };

const ROUTES: readonly Route[] = [
  { path: '/', method: 'GET', handle: page },
  { path: '/metrics', method: 'GET', handle: metrics },
  { path: '/-/healthy', method: 'GET', handle: healthy },
  { path: '/-/ready', method: 'GET', handle: ready },
  ...API_ROUTES,
  ...VERB_ROUTES,
];

/** Where everybody may read, a credential that is wrong costs no scrape and no look. */
const SHOWN = ['/', '/metrics'];

/** The answer to a request. Never rejects: what goes wrong becomes an answer, and a line in the log when it is ours. */
export async function answer(asked: Asked & { readonly deps: ServerDeps; readonly access: Access }): Promise<Reply> {
  const { path, deps, signal } = asked;
  try {
    const isUnasked = UNGUARDED.includes(path) || (SHOWN.includes(path) && isOpen(asked.access));
    const caller = isUnasked ? undefined : await identify(asked.request, asked.access);
    const { route, id } = findRoute(path, asked.request.method);
    return await route.handle({ ...asked, caller, id });
  } catch (error) {
    if (error instanceof HttpError) return errorReply(path, error);
    if (signal.aborted) {
      return errorReply(path, new HttpError(503, 'stopping', 'The daemon is stopping; nothing more is done.'));
    }
    deps.logger.error({ err: error, path }, 'request failed');
    const message = 'The daemon could not answer this request; its log says why.';
    return errorReply(path, new HttpError(500, 'internal', message));
  }
}

function findRoute(path: string, asked: string | undefined): { readonly route: Route; readonly id: string } {
  const found = ROUTES.flatMap((route) => {
    const id = matchPath(route.path, path);
    return id === undefined ? [] : [{ route, id }];
  });
  if (found.length === 0) {
    const known = ROUTES.map((route) => route.path).join(' ');
    throw new HttpError(404, 'not_found', `There is nothing at ${path.slice(0, 200)}. There is: ${known}`);
  }
  const method = asked === 'HEAD' ? 'GET' : asked;
  const fitting = found.find(({ route }) => route.method === method);
  if (fitting === undefined) {
    const allowed = found.map(({ route }) => (route.method === 'GET' ? 'GET, HEAD' : route.method)).join(', ');
    const message = `${path.slice(0, 200)} takes ${allowed}, not ${asked}.`;
    throw new HttpError(405, 'method_not_allowed', message, { Allow: allowed });
  }
  return fitting;
}

function page({ deps, query }: RouteContext): Reply {
  const refresh = Number(query.get('refresh'));
  const refreshes =
    Number.isInteger(refresh) && refresh >= REFRESH_SECONDS.min && refresh <= REFRESH_SECONDS.max && refresh;
  const options = {
    links: deps.links,
    command: deps.command ?? ((text: string) => `opsd ${text}`),
    labels: deps.labels?.() ?? [],
    ...(refreshes !== false && { refreshSeconds: refreshes }),
  };
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: renderPage(readStatus(deps, PAGE_ACTIONS), options),
    headers: { 'Content-Security-Policy': PAGE_CSP, 'X-Frame-Options': 'DENY' },
    compress: true,
  };
}

async function metrics({ deps, request }: RouteContext): Promise<Reply> {
  const { contentType, ...body } = await deps.metrics(metricsFormat(request.headers.accept));
  return { status: 200, contentType, body, headers: { Vary: 'Accept, Accept-Encoding' }, compress: true };
}

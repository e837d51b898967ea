/**
 * HTTP server of the daemon: metrics, health, the pages and the JSON API. Over TCP it is read-only, except for
 * callers with a token or a user's role; over the unix socket everything is allowed.
 */
import type { Logger } from '#foundation/platform/logger.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import type { ApiDeps } from './api/api-deps.ts';
import { LOCAL_ACCESS, type Access, type ApiToken, type CodeEntry, type Role } from './http/access.ts';
import type { ListenerSecurity } from './http/listener-security.ts';
import { startListener, type RunningServer } from './http/http-listener.ts';
import { metricsFormat, type MetricsFormat } from './http/metrics-format.ts';
import { Passwords, threadComparer } from './http/passwords.ts';
import { healthy, ready } from './http/probes.ts';
import type { Reply } from './http/reply.ts';
import type { Route, RouteContext } from './http/route.ts';
import { createRouter, type MoreRoutes } from './http/router.ts';
import { Sessions } from './http/sessions.ts';
import type { SharedBody } from './http/shared-body.ts';
import { SignInLimit } from './http/sign-in-limit.ts';
import type { PageDeps } from './pages/frame/page.ts';

export interface ServerDeps extends ApiDeps, PageDeps {
  readonly logger: Logger;
  metrics(format: MetricsFormat): Promise<SharedBody & { readonly contentType: string }>;
  /** Tokens and roles for TCP. Without tokens and users it is read-only. */
  readonly tokens?: readonly ApiToken[];
  readonly entry?: CodeEntry | undefined;
  /** Web configuration for TCP, with its users. */
  readonly security?: ListenerSecurity;
  /** Additional names of the daemon for requests over TCP. */
  readonly hosts?: readonly string[];
  /** Roles of users; default: `viewer`. */
  readonly roles?: ReadonlyMap<string, Role>;
  /** Permission of anonymous callers over TCP; default: `viewer`. */
  readonly anonymous?: 'viewer' | 'none';
}

const ROUTES: readonly Route<ServerDeps>[] = [
  { path: '/metrics', method: 'GET', handle: metrics },
  { path: '/-/healthy', method: 'GET', handle: healthy },
  { path: '/-/ready', method: 'GET', handle: ready },
];

/** Loads the pages and the API. A daemon that is only scraped needs neither. */
async function loadOthers(): Promise<MoreRoutes<ServerDeps>> {
  const { ROUTES: routes, renderError } = await import('./routes.ts');
  return { routes, renderError };
}

const NOBODY: ReadonlyMap<string, Secret> = new Map();

/**
 * Starts the server. It reads the members of `deps` for each request, except `security`.
 *
 * @throws {ListenError} with the address, the reason, and the fix
 */
export async function startServer(
  deps: ServerDeps,
  listen: ListenAddress | { readonly socketPath: string },
): Promise<RunningServer> {
  const { clock, logger, security } = deps;
  const answer = createRouter(ROUTES, deps, loadOthers);
  if ('socketPath' in listen) {
    return startListener({
      clock,
      logger,
      listen,
      answer: (asked) => answer(asked, LOCAL_ACCESS),
    });
  }
  const comparer = threadComparer(clock);
  const access: Access = {
    isLocal: false,
    get tokens() {
      return deps.tokens ?? [];
    },
    users: () => security?.web.users ?? NOBODY,
    get roles() {
      return deps.roles ?? new Map();
    },
    passwords: new Passwords(comparer),
    sessions: new Sessions(clock),
    signIns: new SignInLimit(clock),
    get entry() {
      return deps.entry;
    },
    get anonymous() {
      return deps.anonymous ?? 'viewer';
    },
  };
  const server = await startListener({
    clock,
    logger,
    listen,
    hosts: () => deps.hosts ?? [],
    ...(security !== undefined && { security }),
    answer: (asked) => answer(asked, access),
  });
  const close = async (): Promise<void> => {
    comparer[Symbol.dispose]();
    await server.close();
  };
  return { address: server.address, close, [Symbol.asyncDispose]: close };
}

async function metrics({ deps, request }: RouteContext<ServerDeps>): Promise<Reply> {
  const { contentType, ...body } = await deps.metrics(metricsFormat(request.headers.accept));
  return { status: 200, contentType, body, headers: { Vary: 'Accept, Accept-Encoding' }, compress: true };
}

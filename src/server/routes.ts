/**
 * What is served where. Reading works on every listener; a verb only on the unix socket beside the store, where the
 * file's permissions say who may.
 */
import { isAbsolute } from 'node:path';
import { readBody } from './body.ts';
import type { Asked } from './http-listener.ts';
import { metricsFormat } from './metrics-format.ts';
import { PAGE_CSP, renderPage } from './page.ts';
import { errorReply, HttpError, json, text, type Reply } from './reply.ts';
import type { ServerDeps } from './server.ts';
import { readStatus } from './status.ts';

export interface RouteContext extends Asked {
  readonly deps: ServerDeps;
  /** Whether verbs are allowed here. */
  readonly verbs: boolean;
}

interface Route {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly handle: (context: RouteContext) => Reply | Promise<Reply>;
}

const PAGE_ACTIONS = 20;
const API_ACTIONS = { standard: 50, max: 500 };
const REFRESH_SECONDS = { min: 2, max: 3_600 };

const ROUTES: readonly Route[] = [
  { path: '/', method: 'GET', handle: page },
  { path: '/metrics', method: 'GET', handle: metrics },
  { path: '/-/healthy', method: 'GET', handle: healthy },
  { path: '/-/ready', method: 'GET', handle: ready },
  { path: '/api/v1/status', method: 'GET', handle: status },
  { path: '/api/v1/sources', method: 'GET', handle: sources },
  { path: '/api/v1/policies', method: 'GET', handle: policies },
  { path: '/api/v1/actions', method: 'GET', handle: actions },
  { path: '/api/v1/labels', method: 'GET', handle: labels },
  { path: '/api/v1/plan', method: 'POST', handle: plan },
  { path: '/api/v1/unpause', method: 'POST', handle: unpause },
  { path: '/api/v1/audit/head', method: 'GET', handle: auditHead },
  { path: '/api/v1/state/backup', method: 'POST', handle: backup },
  { path: '/api/v1/state/adopt', method: 'POST', handle: adopt },
];

/** The answer to a request. Never rejects: what goes wrong becomes an answer, and a line in the log when it is ours. */
export async function answer(context: RouteContext): Promise<Reply> {
  try {
    return await findRoute(context).handle(context);
  } catch (error) {
    if (error instanceof HttpError) return errorReply(context.path, error);
    if (context.signal.aborted) {
      return errorReply(context.path, new HttpError(503, 'stopping', 'The daemon is stopping; nothing was done.'));
    }
    context.deps.logger.error({ err: error, path: context.path }, 'request failed');
    const message = 'The daemon could not answer this request; its log says why.';
    return errorReply(context.path, new HttpError(500, 'internal', message));
  }
}

function findRoute(context: RouteContext): Route {
  const routes = ROUTES.filter((route) => route.path === context.path);
  if (routes.length === 0) {
    const known = ROUTES.map((route) => route.path).join(' ');
    throw new HttpError(404, 'not_found', `There is nothing at ${context.path.slice(0, 200)}. There is: ${known}`);
  }
  const method = context.request.method === 'HEAD' ? 'GET' : context.request.method;
  const route = routes.find((candidate) => candidate.method === method);
  if (route === undefined) {
    const allowed = routes.map((candidate) => (candidate.method === 'GET' ? 'GET, HEAD' : candidate.method)).join(', ');
    const message = `${context.path} takes ${allowed}, not ${context.request.method}.`;
    throw new HttpError(405, 'method_not_allowed', message, { Allow: allowed });
  }
  return route;
}

function page({ deps, query }: RouteContext): Reply {
  const refresh = Number(query.get('refresh'));
  const refreshes =
    Number.isInteger(refresh) && refresh >= REFRESH_SECONDS.min && refresh <= REFRESH_SECONDS.max && refresh;
  const options = {
    links: deps.links,
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

function healthy({ deps }: RouteContext): Reply {
  const { healthy, detail } = deps.health();
  return text(healthy ? 200 : 503, healthy ? `healthy: ${detail}` : `not healthy: ${detail}`);
}

function ready({ deps }: RouteContext): Reply {
  const { ready, detail } = deps.readiness();
  return text(ready ? 200 : 503, ready ? `ready: ${detail}` : `not ready: ${detail}`);
}

/** `Status` without its lists, and how many of each state there are. */
function status({ deps }: RouteContext): Reply {
  const { sources, policies, actions: _listed, ...rest } = readStatus(deps, PAGE_ACTIONS);
  return json(200, {
    ...rest,
    sources: { total: sources.length, ...countBy(sources, (source) => source.state) },
    policies: { total: policies.length, ...countBy(policies, (policy) => policy.effectiveMode) },
  });
}

function sources({ deps }: RouteContext): Reply {
  const { at, sources } = readStatus(deps, 0);
  return json(200, { at, sources });
}

function policies({ deps }: RouteContext): Reply {
  const { at, policies, storeError } = readStatus(deps, 0);
  refuseWithoutStore(storeError);
  return json(200, { at, policies });
}

function actions({ deps, query }: RouteContext): Reply {
  const limit = query.has('limit') ? Number(query.get('limit')) : API_ACTIONS.standard;
  if (!Number.isInteger(limit) || limit < 1 || limit > API_ACTIONS.max) {
    throw new HttpError(400, 'bad_request', `limit must be a whole number from 1 to ${API_ACTIONS.max}.`);
  }
  const { at, actions, storeError } = readStatus(deps, limit);
  refuseWithoutStore(storeError);
  return json(200, { at, actions });
}

function labels({ deps }: RouteContext): Reply {
  return json(200, { at: deps.clock.now(), labels: deps.labels?.() ?? [] });
}

/** A policy without its last run would read as one that never ran. */
function refuseWithoutStore(storeError: string | undefined): void {
  if (storeError !== undefined) {
    throw new HttpError(503, 'store_unavailable', `The store cannot be read: ${storeError}`);
  }
}

/** `{"policy": NAME}` in, a `Plan` out (domain/plan.ts). Reads the service; does nothing to it. */
async function plan({ deps, request, verbs, signal }: RouteContext): Promise<Reply> {
  refuseReadOnly(verbs, 'Plans are made', 'opsd plan POLICY');
  const policy = await readField(request, 'policy', 'NAME');
  const made = await deps.engine.plan(policy, { by: 'local', save: true }, signal);
  if (!made.ok) throw new HttpError(404, made.code, made.message);
  return json(200, made.plan);
}

/** `{"reason": TEXT}` in, `{"lifted": COUNT}` out: the pauses that the engine put on itself are gone. */
async function unpause({ deps, request, verbs }: RouteContext): Promise<Reply> {
  refuseReadOnly(verbs, 'Pauses are lifted', 'opsd unpause --reason TEXT');
  const reason = await readField(request, 'reason', 'TEXT');
  return json(200, { lifted: deps.engine.unpause({ reason: reason.slice(0, MAX_REASON), by: 'local' }) });
}

/** `{"head": {"sequence": N, "hash": HEX}}`: where the audit log ends; `null` while nothing was written. */
function auditHead({ deps }: RouteContext): Reply {
  return json(200, { head: deps.state.auditHead() ?? null });
}

/** `{"file": PATH}` in, `{"bytes": COUNT}` out: a copy of the store, on the machine of the daemon. */
async function backup({ deps, request, verbs }: RouteContext): Promise<Reply> {
  refuseReadOnly(verbs, 'Copies of the store are made', 'opsd state backup FILE');
  const file = await readField(request, 'file', '/ABSOLUTE/PATH');
  if (!isAbsolute(file))
    throw new HttpError(400, 'bad_request', `The file must be an absolute path, not ${file.slice(0, 200)}.`);
  try {
    return json(200, await deps.state.backup(file));
  } catch (error) {
    throw new HttpError(409, 'refused', (error as Error).message);
  }
}

/** `{"reason": TEXT}` in, `{"adopted": WHY}` out: why the store was not trusted; `null` when it was. */
async function adopt({ deps, request, verbs }: RouteContext): Promise<Reply> {
  refuseReadOnly(verbs, 'A store is adopted', 'opsd state adopt --reason TEXT');
  const reason = await readField(request, 'reason', 'TEXT');
  try {
    return json(200, { adopted: deps.state.adopt(reason.slice(0, MAX_REASON)) ?? null });
  } catch (error) {
    throw new HttpError(409, 'refused', (error as Error).message);
  }
}

const MAX_REASON = 500;

function refuseReadOnly(verbs: boolean, what: string, command: string): void {
  if (verbs) return;
  const message = `This address is read-only. ${what} over the unix socket beside the store: ${command} on the machine of the daemon.`;
  throw new HttpError(403, 'read_only', message);
}

/** The one field that a verb takes. */
async function readField(request: RouteContext['request'], field: string, example: string): Promise<string> {
  const form = `{"${field}": "${example}"}`;
  const body = await readBody(request);
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new HttpError(400, 'bad_request', `The body must be JSON: ${form}.`);
  }
  const found = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined;
  if (typeof found !== 'string' || found === '') {
    throw new HttpError(400, 'bad_request', `The body must name a ${field}: ${form}.`);
  }
  return found;
}

function countBy<T>(rows: readonly T[], keyOf: (row: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[keyOf(row)] = (counts[keyOf(row)] ?? 0) + 1;
  return counts;
}

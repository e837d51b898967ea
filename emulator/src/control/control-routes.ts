/**
 * The control API, `/-/emulator/…`: control of a service over HTTP and JSON, for tests in any language. It has no
 * credentials and exists only when the options enable it.
 */
import { z } from 'zod';
import type { EmulatorControl } from './control.ts';
import {
  ACCOUNT,
  ADVANCE,
  HOLD,
  IDLE,
  MODE,
  NEW_ACCOUNT,
  NEXT_ORIGIN,
  NOTHING,
  OF_ACCOUNT,
  ORIGIN,
  SWITCHES,
} from './control-bodies.ts';
import { DELIVERY_FAULT_RULE, FAULT_RULE } from './fault-rule.ts';
import { problemsOf } from './problems.ts';
import { SEED, type Seed } from './seed-body.ts';
import { ApiError } from '../state/api-error.ts';
import type { FaultRules } from '../state/fault-rules.ts';
import type { FaultFrequency } from '../types/public.ts';
import { CONTROL_PATH, type ReceivedRequest, type Route } from '../http/route.ts';
import { ScriptError } from './scripted-steps.ts';
import type { ScriptedDestinations } from './scripted-destinations.ts';

/** Names of the parameters of a path. */
type ParamOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
type ParamsOf<Path extends string> = Readonly<Record<ParamOf<Path>, string>>;

type Answer = (request: ReceivedRequest) => unknown;

function route(method: Route['method'], path: string, answer: Answer, parameters: readonly string[] = []): Route {
  return {
    api: 'control',
    operation: `control ${method} ${path}`,
    method,
    pattern: `${CONTROL_PATH}${path}`,
    sites: 'own',
    handle: async (request) => {
      refuseQuery(request, parameters);
      return { status: 200, json: (await answer(request)) ?? { ok: true } };
    },
  };
}

/** Returns a route whose handler gets the fields of the body and of the path. */
function post<Path extends string, Body>(
  path: Path,
  body: z.ZodType<Body>,
  handle: (values: Body & ParamsOf<Path>) => unknown,
): Route {
  return route('POST', path, (request) => handle({ ...read(body, request), ...(request.params as ParamsOf<Path>) }));
}

function remove<Path extends string>(path: Path, handle: (params: ParamsOf<Path>) => unknown): Route {
  return route('DELETE', path, (request) => {
    read(NOTHING, request);
    return handle(request.params);
  });
}

export function controlRoutes(control: EmulatorControl, destinations: ScriptedDestinations): readonly Route[] {
  return [
    route('GET', '/state', () => control.state()),
    post('/reset', NOTHING, () => control.reset()),
    post('/seed', SEED, (seed) => control.seed(seed as Seed)),

    route('GET', '/clock', () => control.clock()),
    post('/clock', MODE, ({ mode }) => control.setTime(mode)),
    post('/clock/advance', ADVANCE, (move) => control.advance(move)),

    post('/idle', IDLE, (limit) => control.idle(limit)),

    post('/messages/next', NEXT_ORIGIN, (origin) => control.nameNext(origin)),
    post('/messages/:messageId', ORIGIN, (origin) => control.nameMessage(origin)),
    post('/messages/:messageId/cancel', OF_ACCOUNT, (message) => control.cancelMessage(message)),
    post('/workflow-dlq/:dlqId/cancel-failure-function', OF_ACCOUNT, (run) => control.cancelFailureFunction(run)),
    post('/accounts', NEW_ACCOUNT, (seed) => control.addAccount(seed)),
    post('/accounts/:account/roll-signing-keys', NOTHING, (of) => control.rollSigningKeys(of)),
    post('/accounts/:account', ACCOUNT, (change) => control.setAccount(change)),
    post('/flow-control/:key', HOLD, (change) => control.hold(change)),

    route('GET', '/switches', () => control.switches()),
    post('/switches', SWITCHES, (changes) => control.setSwitches(changes)),

    ...faultRoutes('/faults', FAULT_RULE, () => control.faults),
    ...faultRoutes('/delivery-faults', DELIVERY_FAULT_RULE, () => control.deliveryFaults),

    route('GET', '/requests', ({ query }) => ({ requests: control.requests.list(readFilter(query)) }), [
      'operation',
      'after',
    ]),
    remove('/requests', () => control.requests.clear()),

    post('/destinations', z.strictObject({ place: z.string().min(1), steps: z.unknown() }), async (script) => {
      await destinations.script(script.place, script.steps as never).catch((error: unknown) => {
        throw error instanceof ScriptError ? new ApiError(400, error.message) : error;
      });
    }),
    route('GET', '/destinations/:host/requests', ({ params }) => ({
      requests: destinations
        .requests(params['host']!)
        .map(({ body, ...rest }) => ({ ...rest, body: body.toString('utf8') })),
    })),
    remove('/destinations', () => destinations.clear()),
    remove('/destinations/:host', ({ host }) => destinations.clear(host)),
  ];
}

function faultRoutes<Rule extends FaultFrequency>(
  path: string,
  schema: z.ZodType<Rule>,
  rules: () => FaultRules<Rule>,
): readonly Route[] {
  return [
    route('GET', path, () => ({ faults: rules().list() })),
    route('POST', path, (request) => rules().add(read(schema, request))),
    remove(path, () => rules().clear()),
    remove(`${path}/:id` as '/:id', ({ id }) => {
      if (!rules().remove(id)) throw new ApiError(404, `no fault has the id ${id.slice(0, 200)}`);
    }),
  ];
}

/** @throws {ApiError} 400 with every problem and its place; no body is an empty object */
function read<T>(schema: z.ZodType<T>, request: ReceivedRequest): T {
  let json: unknown;
  try {
    const body = new TextDecoder('utf-8', { fatal: true }).decode(request.body);
    json = body.trim() === '' ? {} : JSON.parse(body);
  } catch {
    throw new ApiError(400, 'the body must be a JSON object');
  }
  const { success, data, error } = schema.safeParse(json);
  if (success) return data;
  throw new ApiError(400, problemsOf(error, 'the body'));
}

function refuseQuery({ query }: ReceivedRequest, known: readonly string[]): void {
  for (const name of query.keys()) {
    const told = JSON.stringify(name.slice(0, 100));
    if (!known.includes(name)) throw new ApiError(400, `${told} is not a parameter of this request`);
    if (query.getAll(name).length > 1) throw new ApiError(400, `${told} takes one value`);
  }
}

function readFilter(query: URLSearchParams): { readonly operation?: string; readonly after?: number } {
  const [operation, after] = [query.get('operation'), query.get('after')];
  if (after !== null && !/^\d{1,15}$/.test(after)) throw new ApiError(400, 'after must be a sequence: a whole number');
  return { ...(operation !== null && { operation }), ...(after !== null && { after: Number(after) }) };
}

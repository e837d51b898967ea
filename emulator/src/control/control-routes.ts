/**
 * The control API, `/-/emulator/…`: control of a service over HTTP and JSON, for tests in any language. It has no
 * credentials and exists only when the options enable it. Unknown fields are rejected, so that a typing error causes no
 * silent success.
 */
import { z } from 'zod';
import type { PlanName } from '../state/account.ts';
import type { EmulatorControl } from './control.ts';
import { DELIVERY_FAULT_RULE, FAULT_RULE } from './fault-rule.ts';
import { problemsOf } from './problems.ts';
import { PLAN_LIMITS } from '../state/limits.ts';
import { FAILURE_FUNCTION_STATES } from '../state/failure-function-state.ts';
import { ApiError } from '../state/api-error.ts';
import type { FaultRules } from '../state/fault-rules.ts';
import type { FaultFrequency } from '../types/public.ts';
import { CONTROL_PATH, type ApiRequest, type Route } from '../http/route.ts';
import { ScriptError } from './scripted-steps.ts';
import type { ScriptedDestinations } from './scripted-destinations.ts';
import { SWITCH_VALUES } from '../state/switches.ts';

/** Maximum per seed, because a seed that takes seconds blocks everything else. */
const MOST_FAILURES = 20_000;

const count = z.int().min(1).max(1_000_000);
const milliseconds = z.int().min(0);
const text = z.string().min(1);
const account = text.optional();

const MODE = z.enum(['real', 'virtual']);
const ADVANCE = z.union([
  z.strictObject({ ms: milliseconds, patienceMs: milliseconds.optional() }),
  z.strictObject({ to: milliseconds, patienceMs: milliseconds.optional() }),
]);

const FAILURE = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  count: z.int().min(1).max(10_000).optional(),
  body: z.string().optional(),
  labels: z.array(text).optional(),
  flowControlKey: text.optional(),
  status: z.int().min(100).max(599).optional(),
  responseBody: z.string().optional(),
  agoMs: milliseconds.optional(),
});
const FAILED_RUN = FAILURE.extend({ failureFunctionState: z.enum(FAILURE_FUNCTION_STATES).optional() });
function listOf<T extends z.ZodType<{ readonly count?: number | undefined }>>(failure: T) {
  const inAll = (all: readonly z.infer<T>[]): number => all.reduce((sum, { count: alike = 1 }) => sum + alike, 0);
  return z
    .array(failure)
    .refine((all) => inAll(all) <= MOST_FAILURES, { error: `at most ${MOST_FAILURES} in total` })
    .optional();
}
const SEED = z.strictObject({
  account,
  urlGroups: z
    .array(
      z.strictObject({
        name: text,
        endpoints: z.array(z.strictObject({ url: z.url({ protocol: /^https?$/ }), name: text.exactOptional() })).min(1),
      }),
    )
    .optional(),
  indexes: z
    .array(
      z.strictObject({
        id: text.optional(),
        name: text,
        region: z.enum(['eu-west-1', 'us-central1']).optional(),
        type: z.enum(['free', 'payg', 'fixed']).optional(),
      }),
    )
    .optional(),
  vectorIndexes: z.array(text).optional(),
  deadMessages: listOf(FAILURE),
  failedRuns: listOf(FAILED_RUN),
});
const HISTORY = z.strictObject({
  account,
  days: z.int().min(1).max(31).optional(),
  logMinutes: z.int().min(0).max(1_440).optional(),
  deadLetters: z.int().min(0).max(10_000).optional(),
});
const ORIGIN = { account, scheduleId: text.exactOptional(), queueName: text.exactOptional() };
const ACCOUNT = z.strictObject({
  state: text.optional(),
  modifyingState: text.nullable().optional(),
  plan: z.enum(Object.keys(PLAN_LIMITS) as PlanName[]).optional(),
  enterpriseId: text.optional(),
});
const NEW_ACCOUNT = z.strictObject({
  id: text,
  token: text,
  readOnlyToken: text.exactOptional(),
  plan: z.enum(Object.keys(PLAN_LIMITS) as PlanName[]).exactOptional(),
  budgetUsd: z.int().min(0).max(10_000).exactOptional(),
  state: text.exactOptional(),
  modifyingState: text.exactOptional(),
  enterpriseId: text.exactOptional(),
  region: z.enum(['eu-central-1', 'us-east-1']).exactOptional(),
  metricsEnabled: z.boolean().exactOptional(),
  signingKeys: z.strictObject({ current: text.exactOptional(), next: text.exactOptional() }).exactOptional(),
});
const HOLD = z.strictObject({
  account,
  paused: z.boolean().optional(),
  parallelism: count.nullable().optional(),
  rate: z.strictObject({ max: count, periodMs: count }).nullable().optional(),
});

const SWITCHES = z.strictObject(
  Object.fromEntries(Object.entries(SWITCH_VALUES).map(([name, values]) => [name, z.literal(values).optional()])),
);

type Method = Route['method'];
type Handle = (request: ApiRequest) => unknown;

export function controlRoutes(control: EmulatorControl, destinations: ScriptedDestinations): readonly Route[] {
  const route = (method: Method, path: string, handle: Handle): Route => ({
    api: 'control',
    operation: `control ${method} ${path}`,
    method,
    pattern: `${CONTROL_PATH}${path}`,
    handle: async (request) => {
      refuseQuery(request, method === 'GET' && path === '/requests' ? ['operation', 'after'] : []);
      if (method === 'DELETE') read(z.strictObject({}), request);
      return { status: 200, json: (await handle(request)) ?? { ok: true } };
    },
  });
  const param = (request: ApiRequest, name: string): string => request.params[name]!;

  return [
    route('GET', '/state', () => control.state()),
    route('POST', '/reset', async (request) => {
      read(z.strictObject({}), request);
      await control.reset();
    }),
    route('POST', '/seed', (request) => control.seed(read(SEED, request))),
    route('POST', '/history', (request) => control.history(read(HISTORY, request))),

    route('GET', '/clock', () => control.clock()),
    route('POST', '/clock', (request) => control.setTime(read(z.strictObject({ mode: MODE }), request).mode)),
    route('POST', '/clock/advance', (request) => control.advance(read(ADVANCE, request))),

    route('POST', '/messages/next', (request) =>
      control.nameNext(read(z.strictObject({ ...ORIGIN, times: count.optional() }), request)),
    ),
    route('POST', '/messages/:messageId', (request) =>
      control.nameMessage({ messageId: param(request, 'messageId'), ...read(z.strictObject(ORIGIN), request) }),
    ),
    route('POST', '/messages/:messageId/cancel', (request) =>
      control.cancelMessage({ messageId: param(request, 'messageId'), ...read(z.strictObject({ account }), request) }),
    ),
    route('POST', '/workflow-dlq/:dlqId/cancel-failure-function', (request) =>
      control.cancelFailureFunction({ dlqId: param(request, 'dlqId'), ...read(z.strictObject({ account }), request) }),
    ),
    route('POST', '/accounts', (request) => control.addAccount(read(NEW_ACCOUNT, request))),
    route('POST', '/accounts/:account/roll-signing-keys', (request) => {
      read(z.strictObject({}), request);
      return control.rollSigningKeys({ account: param(request, 'account') });
    }),
    route('POST', '/accounts/:account', (request) =>
      control.setAccount({ ...read(ACCOUNT, request), account: param(request, 'account') }),
    ),
    route('POST', '/flow-control/:key', (request) =>
      control.hold({ ...read(HOLD, request), key: param(request, 'key') }),
    ),

    route('GET', '/switches', () => control.switches()),
    route('POST', '/switches', (request) => control.setSwitches(read(SWITCHES, request))),

    ...faultRoutes(route, { path: '/faults', rules: () => control.faults, schema: FAULT_RULE }),
    ...faultRoutes(route, {
      path: '/delivery-faults',
      rules: () => control.deliveryFaults,
      schema: DELIVERY_FAULT_RULE,
    }),

    route('GET', '/requests', (request) => ({ requests: control.requests.list(readFilter(request.query)) })),
    route('DELETE', '/requests', () => control.requests.clear()),

    route('POST', '/destinations', async (request) => {
      const { place, steps } = read(z.strictObject({ place: text, steps: z.unknown() }), request);
      await destinations.script(place, steps as never).catch((error: unknown) => {
        throw error instanceof ScriptError ? new ApiError(400, error.message) : error;
      });
    }),
    route('GET', '/destinations/:host/requests', (request) => ({
      requests: destinations
        .requests(param(request, 'host'))
        .map(({ body, ...rest }) => ({ ...rest, body: body.toString('utf8') })),
    })),
    route('DELETE', '/destinations', () => destinations.clear()),
    route('DELETE', '/destinations/:host', (request) => destinations.clear(param(request, 'host'))),
  ];
}

function faultRoutes<Rule extends FaultFrequency>(
  route: (method: Method, path: string, handle: Handle) => Route,
  { path, rules, schema }: { path: string; rules: () => FaultRules<Rule>; schema: z.ZodType<Rule> },
): readonly Route[] {
  return [
    route('GET', path, () => ({ faults: rules().list() })),
    route('POST', path, (request) => rules().add(read(schema, request))),
    route('DELETE', path, () => rules().clear()),
    route('DELETE', `${path}/:id`, ({ params }) => {
      const id = params['id']!;
      if (!rules().remove(id)) throw new ApiError(404, `no fault has the id ${id.slice(0, 200)}`);
    }),
  ];
}

/** @throws {ApiError} 400 with every problem and its place; no body is an empty object */
function read<T>(schema: z.ZodType<T>, request: ApiRequest): T {
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

function refuseQuery({ query }: ApiRequest, known: readonly string[]): void {
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

/**
 * Compares real responses of every operation with the OpenAPI document, in both directions. `world` rejects a response
 * that is not in the document. These tests produce every status, header and field of the document.
 */
import { describe, expect, test } from 'vitest';
import { HEADER_PARAMETERS } from '#emulator/http/header-parameters.ts';
import { httpSink, type SunkRequest } from '../../../test/support/http-sink.ts';
import { DOCUMENT, OPERATIONS, parametersIn, type Operation } from '../../../test/support/interface-document.ts';
import { problems } from '../../../test/support/json-schema.ts';
import { DocumentedAnswers, type Answer } from '../../../test/support/openapi-answers.ts';
import { MANAGER, READ_ONLY_TOKEN, TOKEN, world, type World } from '../world.ts';

const NOWHERE = 'http://127.0.0.1:1/';
const MAX_BODY = 100_000;

interface Change {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Credentials of the operation. Tests rotate tokens on the way. */
  readonly credentials?: string;
}

/** Returns the example body of the document. */
function exampleBody({ object }: Operation): string | undefined {
  const value = Object.values(object.requestBody?.content ?? {})[0]?.examples?.['request']?.value;
  return typeof value === 'string' || value === undefined ? value : JSON.stringify(value);
}

/** Sends the operation as in the document's examples, with the given change. */
async function ask(service: World, name: string, change: Change = {}): Promise<number> {
  const operation = OPERATIONS.find((one) => one.name === name)!;
  const { path = {}, query = '', headers, body = exampleBody(operation) } = change;
  const examples = new Map(parametersIn(operation, 'path').map(({ name: part, example }) => [part, example!]));
  const target = operation.path.replaceAll(/\{(\w+)\}/g, (_whole, part: string) => path[part] ?? examples.get(part)!);
  const credentials = change.credentials ?? (operation.api === 'message' ? `Bearer ${TOKEN}` : MANAGER.Authorization);
  const sent = { Authorization: credentials, ...headers };
  const { status } = await service.call(operation.method, target + query, {
    headers: sent,
    ...(body !== undefined && { body }),
  });
  return status;
}

/** Account of the document's examples. */
const EXAMPLE_ACCOUNT = '7d8a1f5e-3c42-4b6e-9a10-5f2e8c7b4d31';

async function limited(plan: 'free' | 'paid'): Promise<World> {
  return world({
    control: true,
    time: 'virtual',
    enforceLimits: true,
    maxBodyBytes: MAX_BODY,
    accounts: [{ id: EXAMPLE_ACCOUNT, token: TOKEN, readOnlyToken: READ_ONLY_TOKEN, plan }],
  });
}

const isRest = ({ takesRest }: Operation): boolean => takesRest;
const isMessage = ({ api }: Operation): boolean => api === 'message';
const takesHeaders = ({ name }: Operation): boolean => name in HEADER_PARAMETERS;

/** Produces the errors of each operation. */
async function refusals(): Promise<World> {
  const service = await limited('paid');
  const statuses = async (expected: number, of: readonly Operation[], change: (one: Operation) => Change) => {
    for (const operation of of) {
      expect([operation.name, await ask(service, operation.name, change(operation))]).toEqual([
        operation.name,
        expected,
      ]);
    }
  };
  await statuses(401, OPERATIONS, () => ({ credentials: 'Bearer nobody' }));
  await statuses(
    400,
    OPERATIONS.filter((one) => !isRest(one)),
    () => ({ query: '?nonsense=1' }),
  );
  await statuses(400, OPERATIONS.filter(isRest), () => ({ headers: { 'Svc-Retries': 'x' } }));
  await statuses(417, OPERATIONS, () => ({ headers: { Expect: 'nonsense' } }));
  const tooLarge = { headers: { 'Content-Length': String(MAX_BODY + 1) }, body: 'x'.repeat(MAX_BODY + 1) };
  await statuses(413, OPERATIONS, () => tooLarge);
  await statuses(412, OPERATIONS.filter(takesHeaders), () => ({ headers: { 'Svc-Retries': '99' } }));
  const endpoints = Array.from({ length: 101 }, (_, index) => ({ url: `${NOWHERE}${index}` }));
  expect(await ask(service, 'add-endpoints', { body: JSON.stringify({ endpoints }) })).toBe(412);
  const named = OPERATIONS.filter(({ path, api }) => path.includes('{id}') && api === 'management');
  await statuses(404, named, () => ({ path: { id: 'nobody' } }));
  expect(await ask(service, 'move-to-team', { body: '{"msgsvc_id":"nobody","target_team_id":"t"}' })).toBe(404);
  expect(await ask(service, 'get-flow-control')).toBe(404);
  expect(await ask(service, 'publish', { path: { destination: 'no-group' } })).toBe(404);
  await statuses(
    403,
    OPERATIONS.filter((one) => isMessage(one) && one.method !== 'GET'),
    () => ({
      credentials: `Bearer ${READ_ONLY_TOKEN}`,
    }),
  );
  service.emulator.control.setAccount({ state: 'passive' });
  await statuses(403, OPERATIONS.filter(isMessage), () => ({}));
  return service;
}

async function tooManyRequests(): Promise<World> {
  const service = await limited('free');
  for (let request = 0; request < 100; request++) expect(await ask(service, 'list-url-groups')).toBe(200);
  for (const { name } of OPERATIONS.filter(isMessage)) expect([name, await ask(service, name)]).toEqual([name, 429]);
  return service;
}

const FLOW = { 'Svc-Flow-Control-Key': 'tenant-14', 'Svc-Flow-Control-Value': 'parallelism=2, rate=9, period=60' };

/** Runs every message operation with success, so that every field occurs. */
async function messages(): Promise<World> {
  const service = await limited('paid');
  const { control } = service.emulator;
  const sink = await httpSink(({ url }, response) => {
    if (url.startsWith('/fails')) response.writeHead(500, { 'X-Why': 'told to' }).end(Buffer.from('no'));
    else if (url.startsWith('/binary')) response.writeHead(500).end(Buffer.from([0xff, 0xfe]));
    else response.end('taken');
  });
  const settle = (ms = 0) => service.emulator.advance(ms);
  const endpoints = [{ name: 'one', url: `${sink.url}/fails` }, { url: `${sink.url}/ok` }];
  expect(await ask(service, 'add-endpoints', { body: JSON.stringify({ endpoints }) })).toBe(200);
  expect(await ask(service, 'list-url-groups')).toBe(200);

  control.nameNext({ scheduleId: 'scd_1', queueName: 'q' });
  const callbacks = {
    'Svc-Callback': `${sink.url}/callback`,
    'Svc-Callback-Forward-X': '1',
    'Svc-Failure-Callback': `${sink.url}/failed`,
    'Svc-Failure-Callback-Forward-X': '1',
  };
  const retried = { 'Svc-Retries': '1', 'Svc-Retry-Delay': '1000 * (1 + retried)' };
  const group = { path: { destination: 'order-events' }, headers: { ...callbacks, ...retried, 'Svc-Label': 'a,b' } };
  expect(await ask(service, 'publish', group)).toBe(200);
  await settle(5_000);
  control.setSwitches({ groupPublish: 'object' });
  expect(await ask(service, 'publish', { path: { destination: 'order-events' } })).toBe(200);
  const destination = { destination: `${sink.url}/ok` };
  expect(await ask(service, 'publish', { path: destination, headers: FLOW, body: '\u00ff' })).toBe(200);
  expect(await ask(service, 'get-flow-control')).toBe(200);
  const twice = { path: destination, headers: { 'Svc-Deduplication-Id': 'once' } };
  expect(await ask(service, 'publish', twice)).toBe(200);
  control.setSwitches({ duplicateStatus: 202 });
  expect(await ask(service, 'publish', twice)).toBe(202);
  await service.call('POST', `/v2/publish/${sink.url}/fails`, {
    body: new Uint8Array([0xff]),
    headers: { 'Svc-Retries': '0', 'Svc-Redact-Fields': 'headers' },
  });
  await settle();
  expect(await ask(service, 'list-logs', { query: '?count=1' })).toBe(200);
  expect(await ask(service, 'list-logs')).toBe(200);

  const run = (path: string, body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}) =>
    service.call('POST', `/v2/trigger/${sink.url}${path}`, { body, headers: { 'Svc-Retries': '0', ...headers } });
  const failure = { 'Svc-Failure-Callback': `${sink.url}/failed` };
  await run('/fails', 'text', { ...FLOW, ...failure, 'Svc-Label': 'a' });
  await run('/binary', new Uint8Array([0xff]), failure);
  await settle();
  expect(await ask(service, 'list-workflow-dlq', { query: '?count=1' })).toBe(200);
  expect(await ask(service, 'list-workflow-dlq')).toBe(200);
  control.setSwitches({ failureState: 'info' });
  expect(await ask(service, 'list-workflow-dlq')).toBe(200);
  expect(await ask(service, 'trigger', { path: { workflowUrl: `${sink.url}/ok` } })).toBe(200);
  expect(await ask(service, 'resume-workflow-dlq', { query: '?count=1' })).toBe(200);
  await settle();
  expect(await ask(service, 'delete-workflow-dlq', { query: '?count=1' })).toBe(200);
  expect(await ask(service, 'delete-workflow-dlq')).toBe(200);
  expect(await ask(service, 'delete-dlq', { query: '?count=1' })).toBe(200);

  checkCallbacks(sink.requests.filter(({ url }) => /^\/(callback|failed)/.test(url)));
  return service;
}

/** Checks callbacks: the headers that the document names, and a body with exactly its fields. */
function checkCallbacks(requests: readonly SunkRequest[]): void {
  const { schemas } = DOCUMENT.components;
  const publish = DOCUMENT.paths['/v2/publish/{destination}']!['post']!;
  const { parameters } = publish.callbacks!['callback']!['{$request.header.Svc-Callback}']!.post;
  const fields = new Set<string>();
  for (const { headers, body } of requests) {
    const json = JSON.parse(body.toString()) as object;
    expect(problems(json, schemas['Callback']!, schemas)).toEqual([]);
    for (const field of Object.keys(json)) fields.add(field);
    for (const { name, schema } of parameters) {
      const value = headers[name.toLowerCase()];
      expect([name, problems(schema.type === 'integer' ? Number(value) : value, schema, schemas)]).toEqual([name, []]);
    }
  }
  expect([...fields].toSorted()).toEqual(Object.keys(schemas['Callback']!.properties!).toSorted());
}

async function management(): Promise<World> {
  const service = await limited('paid');
  const { emulator } = service;
  const id = parametersIn(
    OPERATIONS.find(({ name }) => name === 'get-index')!,
    'path',
  )[0]!.example!;
  emulator.indexes.create({ id, name: 'goods', region: 'eu-west-1', type: 'payg', customerId: 'c' });
  for (const { name } of OPERATIONS.filter((one) => !isMessage(one))) {
    expect([name, await ask(service, name)]).toEqual([name, 200]);
  }
  emulator.control.setAccount({ modifyingState: 'upgrading', plan: 'enterprise' });
  expect(await ask(service, 'rotate-token')).toBe(200);
  return service;
}

test('every response of the document occurs, and no other', async () => {
  const services = [await refusals(), await tooManyRequests(), await messages(), await management()];
  const all = services[0]!.documented;
  for (const { documented } of services) for (const one of documented.seen) all.seen.add(one);
  expect(all.unseen()).toEqual([]);
});

describe('the check itself', () => {
  const good: Answer = {
    method: 'POST',
    target: '/v2/trigger/http://a.example/?a=1',
    status: 200,
    headers: { 'content-type': 'application/json', 'ratelimit-limit': '100' },
    body: '{"workflowRunId":"wfr_1","workflowCreatedAt":1}',
  };
  const refusal = { status: 429, headers: { 'content-type': 'application/json' }, body: '{"error":"too many"}' };

  test.each([
    ['what the document tells of', {}, []],
    ['a refusal', refusal, []],
    ['what is of no operation', { target: '/v2/nothing', status: 404 }, []],
    ['a failure of the service', { ...refusal, status: 500 }, []],
    [
      'a field more',
      { body: '{"workflowRunId":"wfr_1","workflowCreatedAt":1,"more":1}' },
      ['must NOT have additional properties: more'],
    ],
    ['a field less', { body: '{"workflowRunId":"wfr_1"}' }, ["required property 'workflowCreatedAt'"]],
    [
      'a field of a wrong type',
      { body: '{"workflowRunId":1,"workflowCreatedAt":1}' },
      ['/workflowRunId must be string'],
    ],
    ['a body of another type', { headers: {} }, ['the body is undefined']],
    ['half a body', { body: '{"workflowRunId"' }, ['not JSON']],
    ['another status', { ...refusal, status: 404 }, ['404 is no status of it']],
    ['another header', { headers: { ...good.headers, 'x-new': '1' } }, ['x-new is not in the document']],
    ['a header of a wrong type', { headers: { ...good.headers, 'ratelimit-limit': 'x' } }, ['RateLimit-Limit']],
    ['a missing header', { ...refusal, status: 401 }, ['WWW-Authenticate is missing']],
  ] as const)('sees %s', (_what, change, expected) => {
    const wrong = new DocumentedAnswers(DOCUMENT).problems({ ...good, ...change });
    expect(wrong).toEqual(expected.map((line) => expect.stringContaining(line) as string));
  });

  test('sees what was not shown', () => {
    const documented = new DocumentedAnswers(DOCUMENT);
    const before = documented.unseen().length;
    documented.problems(good);
    expect(documented.unseen()).toHaveLength(before - 4);
    expect(documented.unseen()).toEqual(
      expect.arrayContaining(['trigger 412', 'trigger 429 Retry-After', 'LogEntry.label', 'get-index default']),
    );
  });
});

/** Every query parameter and header of the interface changes what its operation does, returns, or delivers. */
import { describe, expect, test } from 'vitest';
import { httpSink, type HttpSink } from '../../test/support/http-sink.ts';
import { OPERATIONS } from './interface-names.ts';
import { ACCOUNT, START, world } from './world.ts';

const MINUTE = 60_000;

/** Starts a service with two entries in either DLQ. The first entries have every property that filters select. */
async function filled() {
  const sink = await httpSink((request, response) => {
    response.sendDate = false;
    response.writeHead({ '/1': 500, '/2': 503 }[request.url] ?? 200).end();
  });
  // The same address in each world, so that its answers can be compared.
  const service = await world({ control: true, hosts: { 'shop.example': Number(new URL(sink.url).port) } });
  // One delivery ends before the next begins: failures that race would get each other's ids.
  async function post(path: string, headers: Readonly<Record<string, string>> = {}, body = ''): Promise<void> {
    await service.call('POST', path, { headers: { 'Svc-Retries': '0', ...headers }, body });
    await service.emulator.idle();
  }
  await post('/v2/topics/shops/endpoints', {}, '{"endpoints":[{"name":"one","url":"http://shop.example/1"}]}');
  const marked = {
    'Svc-Label': 'a',
    'Svc-Flow-Control-Key': 'k',
    'Svc-Flow-Control-Value': 'parallelism=9',
    'Svc-Failure-Callback': 'http://shop.example/cb',
  };
  service.emulator.control.nameNext({ scheduleId: 'nightly', queueName: 'bills' });
  await post('/v2/publish/shops', marked);
  await post('/v2/trigger/http://shop.example/1', { ...marked, 'Svc-Workflow-RunId': 'run-1' });
  await service.drain();
  await service.clock.advance(MINUTE);
  await post('/v2/publish/http://shop.example/2');
  await post('/v2/trigger/http://shop.example/2');
  await service.drain();
  return { service, sink };
}

/** Returns the id of the first entry of the message DLQ, which the failure callback names. */
function toldId({ requests }: HttpSink): string {
  return (JSON.parse(requests.find(({ url }) => url === '/cb')!.body.toString()) as { readonly dlqId: string }).dlqId;
}

/** Request of each operation without parameters, and the headers that the tested ones need. */
const REQUESTS: Readonly<Record<string, string>> = {
  '4.1.list-logs': 'GET /v2/logs',
  '4.1.publish': 'POST /v2/publish/http://shop.example/1',
  '4.1.trigger': 'POST /v2/trigger/http://shop.example/1',
  '4.1.list-runs': 'GET /v2/workflows/dlq',
  '4.1.resume-runs': 'POST /v2/workflows/dlq/resume',
  '4.1.delete-runs': 'DELETE /v2/workflows/dlq',
  '4.1.delete-dlq': 'DELETE /v2/dlq',
};

/** A value of each query parameter, with an effect in the filled service; a function takes the ids of its first entries. */
const QUERY: Readonly<Record<string, string | ((ids: { dlqId: string; messageId: string }) => string)>> = {
  dlqIds: ({ dlqId }) => dlqId,
  messageId: ({ messageId }) => messageId,
  // A cursor that the service did not return is rejected.
  cursor: 'nonsense',
  count: '1',
  fromDate: String(START + MINUTE),
  toDate: String(START),
  url: 'http://shop.example/1',
  workflowUrl: 'http://shop.example/1',
  workflowRunId: 'run-1',
  workflowCreatedAt: String(START),
  failureFunctionState: 'CALLBACK_SUCCESS',
  state: 'DELIVERED',
  topicName: 'shops',
  scheduleId: 'nightly',
  queueName: 'bills',
  label: 'a',
  responseStatus: '500',
  callerIp: '10.0.0.1',
  flowControlKey: 'k',
};

/** Headers that show the effect of another one. */
const RETRIED = { 'Svc-Retries': '2' };
const callback = (group: string) => ({ [group]: 'http://shop.example/1' });
const BESIDE: readonly (readonly [RegExp, Readonly<Record<string, string>>])[] = [
  [/Callback-/, { ...callback('Svc-Callback'), ...callback('Svc-Failure-Callback') }],
  [/Callback-Retry-Delay/, { 'Svc-Callback-Retries': '1', 'Svc-Failure-Callback-Retries': '1' }],
  [/^Svc-Retry-Delay/, RETRIED],
  [/^Svc-Flow-Control-Key/, { 'Svc-Flow-Control-Value': 'parallelism=1' }],
  [/^Svc-Flow-Control-Value/, { 'Svc-Flow-Control-Key': 'k' }],
];

/** A value of each header, by the end of its name. */
const HEADERS: readonly (readonly [RegExp, string])[] = [
  [/^Content-Type$/, 'text/csv'],
  [/Forward-X-Any$/, 'yes'],
  [/Method$/, 'PUT'],
  [/Timeout$/, '7s'],
  [/Retry-Delay$/, '1000 * (1 + retried)'],
  [/Retries$/, '1'],
  [/Delay$/, '90s'],
  [/Not-Before$/, String(START / 1_000 + 604_800)],
  [/Label$/, 'new'],
  [/Key$/, 'other'],
  [/Value$/, 'rate=1,period=1d'],
  [/Content-Based-Deduplication$/, 'true'],
  [/Deduplication-Id$/, 'once'],
  [/Callback$/, 'http://shop.example/told'],
  [/Redact-Fields$/, 'body'],
  [/RunId$/, 'run-9'],
];

interface Input {
  readonly query?: readonly [name: string, value: (typeof QUERY)[string]];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends the request of an operation twice, and returns everything that it changed. */
async function effectOf(operation: string, { query, headers = {} }: Input) {
  const { service, sink } = await filled();
  const [method, path] = REQUESTS[operation]!.split(' ') as [string, string];
  const ids = {
    dlqId: operation.endsWith('-runs') ? service.emulator.workflowDlq(ACCOUNT)[0]!.dlqId : toldId(sink),
    messageId: service.emulator.messages(ACCOUNT)[0]!.id,
  };
  const value = typeof query?.[1] === 'function' ? query[1](ids) : query?.[1];
  const target = query === undefined ? path : `${path}?${query[0]}=${encodeURIComponent(value!)}`;
  const answers = [];
  for (const body of ['order', 'order']) {
    const { status, json } = await service.call(method, target, { headers, ...(method === 'POST' && { body }) });
    answers.push({ status, json });
    await service.emulator.idle();
  }
  await service.drain();
  const logs = await service.call('GET', '/v2/logs');
  const arrived = sink.requests.map(
    ({ url, method: by, body, headers: { host: _host, 'svc-signature': _signature, ...rest } }) => {
      return [url, by, rest, body.toString()];
    },
  );
  const { emulator } = service;
  return {
    answers,
    logs: logs.json,
    messages: emulator.messages(ACCOUNT),
    runs: emulator.workflowDlq(ACCOUNT),
    arrived,
  };
}

const known = new Map<string, ReturnType<typeof effectOf>>();

/** Returns the effect of a request without a tested parameter, which many tests compare with. */
function effectWithout(operation: string, headers: Readonly<Record<string, string>> = {}) {
  const key = `${operation} ${JSON.stringify(headers)}`;
  const effect = known.get(key) ?? effectOf(operation, { headers });
  known.set(key, effect);
  return effect;
}

describe.each(Object.keys(REQUESTS))('%s', (operation) => {
  const { query = [], header = [] } = OPERATIONS[operation]!;

  test('without a change, everything is the same', async () => {
    expect(await effectOf(operation, {})).toEqual(await effectWithout(operation));
  });

  test.each(query)('the parameter %s has an effect', async (name) => {
    expect(await effectOf(operation, { query: [name, QUERY[name]!] })).not.toEqual(await effectWithout(operation));
  });

  test.each(header.map((name) => name.replace('<Name>', 'X-Any')))('the header %s has an effect', async (name) => {
    const beside = Object.assign({}, ...BESIDE.filter(([named]) => named.test(name)).map(([, more]) => more));
    const [, value] = HEADERS.find(([named]) => named.test(name))!;
    const without = await effectWithout(operation, beside);
    expect(await effectOf(operation, { headers: { ...beside, [name]: value } })).not.toEqual(without);
  });
});

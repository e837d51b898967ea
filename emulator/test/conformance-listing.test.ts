/** Filters, counts and cursors of the listings and bulk operations (interface 4.1), beyond the size of a page. */
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../test/support/http-sink.ts';
import type { Json } from './conformance-support.ts';
import { ACCOUNT, START, world, type World } from './world.ts';

const ROWS = 130;

interface Page {
  readonly cursor?: string;
  readonly logs?: readonly Json[];
  readonly messages?: readonly Json[];
  readonly workflowRuns?: readonly Json[];
  readonly deleted?: number;
}

const call = async (service: World, method: string, path: string): Promise<Page> => {
  const answer = await service.call<Page>(method, path);
  expect(answer.status).toBe(200);
  return answer.json;
};

/** Starts a service with `count` failed messages or runs. */
async function failed(operation: 'publish' | 'trigger', count = ROWS): Promise<World> {
  const sink = await httpSink((_request, response) => void response.writeHead(500).end());
  const service = await world();
  for (let done = 0; done < count; done++) {
    await service.call('POST', `/v2/${operation}/${sink.url}/`, { headers: { 'Svc-Retries': '0' } });
  }
  await service.drain();
  return service;
}

describe('count', () => {
  test('logs: 100 unless fewer are requested', async () => {
    const service = await world();
    const headers = { 'Svc-Delay': '1h' };
    for (let done = 0; done < ROWS; done++) await service.call('POST', '/v2/publish/http://a.example/', { headers });
    const first = await call(service, 'GET', '/v2/logs');
    expect(first.logs).toHaveLength(100);
    const rest = await call(service, 'GET', `/v2/logs?cursor=${first.cursor}`);
    expect([rest.logs!.length, rest.cursor]).toEqual([ROWS - 100, undefined]);
    expect(new Set([...first.logs!, ...rest.logs!].map((entry) => entry['messageId'])).size).toBe(ROWS);
    expect((await call(service, 'GET', '/v2/logs?count=100')).logs).toHaveLength(100);
    expect((await service.call('GET', '/v2/logs?count=101')).status).toBe(400);
  });

  test('failed runs: 100 unless fewer are requested', async () => {
    const service = await failed('trigger');
    const first = await call(service, 'GET', '/v2/workflows/dlq');
    const rest = await call(service, 'GET', `/v2/workflows/dlq?cursor=${first.cursor}`);
    expect([first.messages!.length, rest.messages!.length, rest.cursor]).toEqual([100, ROWS - 100, undefined]);
    expect((await call(service, 'GET', '/v2/workflows/dlq?count=7')).messages).toHaveLength(7);
    expect((await service.call('GET', '/v2/workflows/dlq?count=101')).status).toBe(400);
  });

  test('deleting messages: 100 at once, and no more than requested', async () => {
    const service = await failed('publish');
    const first = await call(service, 'DELETE', '/v2/dlq?count=7');
    expect(first).toEqual({ deleted: 7, cursor: expect.any(String) });
    const second = await call(service, 'DELETE', `/v2/dlq?cursor=${first.cursor}`);
    expect(second).toEqual({ deleted: 100, cursor: expect.any(String) });
    expect(await call(service, 'DELETE', `/v2/dlq?cursor=${second.cursor}`)).toEqual({ deleted: ROWS - 107 });
    expect((await service.call('DELETE', '/v2/dlq?count=101')).status).toBe(400);
  });

  test('deleting runs: all at once, and no more than requested', async () => {
    const service = await failed('trigger');
    const first = await call(service, 'DELETE', '/v2/workflows/dlq?count=7');
    expect(first).toEqual({ deleted: 7, cursor: expect.any(String) });
    expect(await call(service, 'DELETE', '/v2/workflows/dlq')).toEqual({ deleted: ROWS - 7 });
  });

  test('resuming: all at once, and no more than requested', async () => {
    const service = await failed('trigger');
    const first = await call(service, 'POST', '/v2/workflows/dlq/resume?count=7');
    expect([first.workflowRuns!.length, first.cursor]).toEqual([7, expect.stringMatching(/./)]);
    const rest = await call(service, 'POST', `/v2/workflows/dlq/resume?count=500&cursor=${first.cursor}`);
    expect([rest.workflowRuns!.length, rest.cursor]).toEqual([ROWS - 7, '']);
    await service.drain();
  });
});

/** Starts a service with two failed runs that differ in every filtered property. */
async function twoRuns(): Promise<World> {
  const sink = await httpSink((request, response) => void response.writeHead(request.url === '/ok' ? 200 : 500).end());
  const port = Number(new URL(sink.url).port);
  const service = await world({ hosts: { 'first.example': port, 'second.example': port } });
  const first = {
    'Svc-Workflow-RunId': 'run-1',
    'Svc-Label': 'x',
    'Svc-Failure-Callback': `${sink.url}/ok`,
    'Svc-Flow-Control-Key': 'k',
    'Svc-Flow-Control-Value': 'parallelism=9',
  };
  for (const [path, headers] of Object.entries({ first, second: { 'Svc-Workflow-RunId': 'run-2' } })) {
    await service.call('POST', `/v2/trigger/https://${path}.example/`, { headers: { 'Svc-Retries': '0', ...headers } });
    await service.drain();
    await service.clock.advance(60_000);
  }
  expect(service.emulator.workflowDlq(ACCOUNT)).toHaveLength(2);
  return service;
}

/** Filters, each with the runs that it selects. */
const RUN_FILTERS = [
  ['fromDate', `${START + 60_000}`, ['run-2']],
  ['toDate', `${START}`, ['run-1']],
  ['toDate', `${START - 1}`, []],
  ['workflowUrl', 'https://first.example/', ['run-1']],
  ['workflowUrl', 'https://first.example/,https://second.example/', ['run-1', 'run-2']],
  ['workflowRunId', 'run-2', ['run-2']],
  ['workflowCreatedAt', `${START}`, ['run-1']],
  ['label', 'x', ['run-1']],
  ['label', 'y', []],
  ['failureFunctionState', 'CALLBACK_SUCCESS', ['run-1']],
  ['callerIp', '127.0.0.1', ['run-1', 'run-2']],
  ['callerIp', '10.0.0.1', []],
  ['flowControlKey', 'k', ['run-1']],
] as const;

describe('filters of the workflow DLQ', () => {
  test.each(RUN_FILTERS)('listing by %s=%s', async (name, value, expected) => {
    const service = await twoRuns();
    const page = await call(service, 'GET', `/v2/workflows/dlq?${name}=${encodeURIComponent(value)}`);
    expect(page.messages!.map((entry) => entry['workflowRunId'])).toEqual(expected);
  });

  test.each(RUN_FILTERS)('resuming by %s=%s', async (name, value, expected) => {
    const service = await twoRuns();
    const path = `/v2/workflows/dlq/resume?${name}=${encodeURIComponent(value)}`;
    const { json } = await service.call<Page>('POST', path, { headers: { 'Svc-Delay': '1d' } });
    expect([json.workflowRuns!.length, json.cursor]).toEqual([expected.length, '']);
    const left = service.emulator.workflowDlq(ACCOUNT).map((run) => run.workflowRunId);
    expect(left).toEqual(['run-1', 'run-2'].filter((id) => !(expected as readonly string[]).includes(id)));
  });

  test.each(RUN_FILTERS)('deleting by %s=%s', async (name, value, expected) => {
    const service = await twoRuns();
    const path = `/v2/workflows/dlq?${name}=${encodeURIComponent(value)}`;
    expect(await call(service, 'DELETE', path)).toEqual({ deleted: expected.length });
    const left = service.emulator.workflowDlq(ACCOUNT).map((run) => run.workflowRunId);
    expect(left).toEqual(['run-1', 'run-2'].filter((id) => !(expected as readonly string[]).includes(id)));
  });
});

test('each state is a value of the filter and finds its entries', async () => {
  const sink = await httpSink((request, response) => void response.writeHead(request.url === '/ok' ? 200 : 500).end());
  const service = await world();
  await service.call('POST', `/v2/publish/${sink.url}/ok`);
  await service.call('POST', `/v2/publish/${sink.url}/bad`, { headers: { 'Svc-Retries': '1' } });
  await service.drain();
  await service.call('POST', `/v2/publish/${sink.url}/ok`, { headers: { 'Svc-Delay': '1h' } });
  service.emulator.cancelMessage(ACCOUNT, service.emulator.messages(ACCOUNT).at(-1)!.id);
  const counts = { CREATED: 3, ACTIVE: 3, RETRY: 1, ERROR: 2, DELIVERED: 1, CANCEL_REQUESTED: 1, CANCELLED: 1 };
  for (const [state, count] of Object.entries(counts)) {
    const { logs } = await call(service, 'GET', `/v2/logs?state=${state}`);
    expect(logs!.map((entry) => entry['state'])).toEqual(Array.from({ length: count }, () => state));
  }
  expect((await call(service, 'GET', '/v2/logs?state=IN_PROGRESS')).logs).toHaveLength(6);
});

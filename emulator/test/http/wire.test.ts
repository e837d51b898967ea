/**
 * Compares the emulator's responses with the recorded ones of the client's tests. Separate code must produce the same
 * keys.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { httpSink } from '../../../test/support/http-sink.ts';
import { manage } from '../conformance-support.ts';
import { ACCOUNT, world } from '../world.ts';

type Json = Readonly<Record<string, unknown>>;

function fixture(operation: string): Json {
  return JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../test/fixtures/wire', `${operation}.json`), 'utf8'),
  ) as Json;
}

/** Returns the rows of a page or of a plain array. */
function rows(value: unknown, name?: string): readonly Json[] {
  return (name === undefined ? value : (value as Json)[name]) as readonly Json[];
}

const keys = (value: object | undefined): readonly string[] =>
  Object.keys(value ?? {}).toSorted((a, b) => a.localeCompare(b));

const without = (names: readonly string[], ...left: readonly string[]): readonly string[] =>
  names.filter((name) => !left.includes(name));

const kinds = (value: Json): Json =>
  Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, Array.isArray(field) ? 'array' : typeof field]),
  );

/** Starts a service with everything that a response can report. */
async function eventful() {
  const sink = await httpSink((request, response) => {
    response.writeHead(request.url === '/ok' ? 200 : 503, { 'Retry-After': '10' }).end('try later');
  });
  const service = await world();
  const endpoints = [{ name: 'billing', url: `${sink.url}/hooks` }];
  await service.call('POST', '/v2/topics/order-events/endpoints', { body: JSON.stringify({ endpoints }) });
  const flow = { 'Svc-Flow-Control-Key': 'tenant-14', 'Svc-Flow-Control-Value': 'parallelism=5, rate=10, period=1m' };
  const common = {
    'Svc-Label': 'billing, tenant:14',
    'Svc-Failure-Callback': `${sink.url}/ok`,
    'Svc-Retries': '1',
    ...flow,
  };
  const group = await service.call<Json[]>('POST', '/v2/publish/order-events', {
    headers: {
      ...common,
      'Svc-Callback': `${sink.url}/ok`,
      'Svc-Retry-Delay': '1000',
      'Content-Type': 'application/json',
    },
    body: '{}',
  });
  const single = await service.call('POST', `/v2/publish/${sink.url}/ok`);
  const run = await service.call('POST', `/v2/trigger/${sink.url}/workflow`, { headers: common, body: '{}' });
  await service.drain();
  return { service, group, single, run };
}

test('publish and trigger', async () => {
  const { group, single, run } = await eventful();
  expect(kinds(single.json)).toEqual(kinds(fixture('publish')));
  expect(kinds(group.json[0]!)).toEqual(kinds(rows(fixture('publish-url-group'))[0]!));
  expect(kinds(run.json)).toEqual(kinds(fixture('trigger')));
});

test('logs', async () => {
  const { service } = await eventful();
  interface Page {
    readonly logs: readonly Json[];
  }
  const { json } = await service.call<Page>('GET', '/v2/logs?state=ERROR&count=1&topicName=order-events');
  const retried = (await service.call<Page>('GET', '/v2/logs?state=ERROR&topicName=order-events')).json.logs.at(-1)!;
  const recorded = rows(fixture('list-logs'), 'logs')[0]!;
  expect(keys(json)).toEqual(keys(fixture('list-logs')));
  // No operation creates queues or schedules, no headers were forwarded, and the interface leaves `state` open.
  expect(without(keys(retried), 'state')).toEqual(without(keys(recorded), 'queueName', 'scheduleId'));
  const shared = Object.fromEntries(
    keys(recorded).flatMap((name) => (name in retried ? [[name, recorded[name]]] : [])),
  );
  expect(kinds(Object.fromEntries(Object.entries(retried).filter(([name]) => name !== 'state')))).toEqual(
    kinds(shared),
  );
});

test('workflow DLQ', async () => {
  const { service } = await eventful();
  interface Page {
    readonly messages: readonly Json[];
  }
  const [entry] = (await service.call<Page>('GET', '/v2/workflows/dlq')).json.messages;
  const [recorded] = rows(fixture('list-workflow-dlq'), 'messages');
  // Bodies are text, or base64 when they are not text.
  const shared = without(keys(recorded), 'bodyBase64', 'responseBodyBase64');
  expect(keys(entry)).toEqual(shared);
  expect(kinds(entry!)).toEqual(kinds(Object.fromEntries(shared.map((name) => [name, recorded![name]]))));
  const resumed = await service.call('POST', `/v2/workflows/dlq/resume?dlqIds=${String(entry!['dlqId'])}`);
  expect(kinds(resumed.json)).toEqual(kinds(fixture('resume-workflow-dlq')));
  await service.drain();
  const deleted = await service.call('DELETE', '/v2/workflows/dlq');
  expect(without(keys(fixture('delete-workflow-dlq')), 'cursor')).toEqual(keys(deleted.json));
});

test('bytes that are not text are encoded in base64', async () => {
  const bytes = Buffer.from([0xff, 0xfe, 0x00]);
  const sink = await httpSink((_request, response) => void response.writeHead(500).end(bytes));
  const service = await world();
  await service.call('POST', `/v2/trigger/${sink.url}/`, { headers: { 'Svc-Retries': '0' }, body: bytes });
  await service.drain();
  const { json } = await service.call<{ messages: Json[] }>('GET', '/v2/workflows/dlq');
  const base64 = bytes.toString('base64');
  expect(json.messages).toMatchObject([{ bodyBase64: base64, responseBodyBase64: base64 }]);
  expect(keys(json.messages[0])).not.toContain('body');
  expect(keys(json.messages[0])).not.toContain('responseBody');
});

test('message DLQ, flow control and URL Groups', async () => {
  const { service } = await eventful();
  const deleted = await service.call('DELETE', '/v2/dlq?count=1');
  expect(without(keys(fixture('delete-dlq')), 'cursor')).toEqual(without(keys(deleted.json), 'cursor'));
  const flow = await service.call('GET', '/v2/flowControl/tenant-14');
  expect(kinds(flow.json)).toEqual(kinds(fixture('get-flow-control')));
  const groups = await service.call<Json[]>('GET', '/v2/topics');
  expect(kinds(groups.json[0]!)).toEqual(kinds(rows(fixture('list-url-groups'))[0]!));
});

test('statistics follow from the deliveries', async () => {
  const { service } = await eventful();
  interface Stats {
    readonly daily_msgsvc_messages: readonly { id: string; data_points: readonly { y: number }[] }[];
    readonly daily_workflow_messages: readonly { id: string; data_points: readonly { y: number }[] }[];
    readonly total_monthly_billing: number;
  }
  const { json } = await manage<Stats>(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`);
  const attempts = service.facts.filter((fact) => fact.kind === 'attempt');
  for (const [series, workflow] of [
    [json.daily_msgsvc_messages, false],
    [json.daily_workflow_messages, true],
  ] as const) {
    const sum = (id: string): number =>
      series.find((one) => one.id === id)!.data_points.reduce((total, point) => total + point.y, 0);
    const mine = attempts.filter((fact) => fact.workflow === workflow);
    expect(sum('delivered')).toBe(mine.filter((fact) => fact.outcome === 'delivered').length);
    expect(sum('error')).toBe(mine.filter((fact) => fact.outcome !== 'delivered').length);
    expect(sum('error')).toBe(sum('retry') + sum('failed'));
  }
  expect(json.total_monthly_billing).toBeGreaterThan(0);
});

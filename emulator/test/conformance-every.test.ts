/** Statements of the interface about every operation, tested for each: success, credentials, parameters. */
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../test/support/http-sink.ts';
import { manage, type Json } from './conformance-support.ts';
import { OPERATIONS } from './interface-names.ts';
import { ACCOUNT, TOKEN, world, type World } from './world.ts';

type Call = readonly [method: string, path: string, body?: object];

/** A valid request of each operation. URL is replaced by a destination that responds. */
const REQUESTS: Readonly<Record<keyof typeof OPERATIONS, Call>> = {
  '4.1.add-endpoints': ['POST', '/v2/topics/g/endpoints', { endpoints: [{ url: 'http://a.example/', name: 'a' }] }],
  '4.1.list-groups': ['GET', '/v2/topics'],
  '4.1.list-logs': ['GET', '/v2/logs'],
  '4.1.publish': ['POST', '/v2/publish/URL/'],
  '4.1.trigger': ['POST', '/v2/trigger/URL/'],
  '4.1.list-runs': ['GET', '/v2/workflows/dlq'],
  '4.1.resume-runs': ['POST', '/v2/workflows/dlq/resume'],
  '4.1.delete-runs': ['DELETE', '/v2/workflows/dlq'],
  '4.1.delete-dlq': ['DELETE', '/v2/dlq'],
  '4.1.get-key': ['GET', '/v2/flowControl/k'],
  '4.2.move-to-team': ['POST', '/v2/msgsvc/move-to-team', { msgsvc_id: ACCOUNT, target_team_id: 'team-9' }],
  '4.2.set-plan': ['POST', `/v2/msgsvc/set-plan/${ACCOUNT}`, { plan_name: 'paid' }],
  '4.2.rotate-token': ['POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`],
  '4.2.update-budget': ['PATCH', `/v2/msgsvc/update-budget/${ACCOUNT}`, { budget: 100 }],
  '4.2.stats': ['GET', `/v2/msgsvc/stats/${ACCOUNT}`],
  '4.2.create-index': ['POST', '/v2/search', { name: 'goods', region: 'eu-west-1', type: 'free' }],
  '4.2.get-index': ['GET', '/v2/search/idx-1'],
  '4.2.rename-index': ['POST', '/v2/search/idx-1/rename', { name: 'wares' }],
  '4.2.transfer-index': ['POST', '/v2/search/idx-1/transfer', { target_account: 'team-9' }],
  '4.2.vector-stats': ['GET', '/v2/vector/index/idx-1/stats'],
};

const NAMES = Object.keys(OPERATIONS);
const BEARER = `Bearer ${TOKEN}`;
const BASIC = `Basic ${btoa('ops@example.com:pass:word')}`;
const isManagement = (name: string): boolean => name.startsWith('4.2.');

/** Starts a service with a flow-control key and an index. Returns a function that sends an operation's request. */
async function prepared() {
  const sink = await httpSink();
  const service: World = await world();
  service.emulator.indexes.create({ id: 'idx-1', name: 'x', region: 'eu-west-1', type: 'payg', customerId: 'c' });
  const flow = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'parallelism=1' };
  await service.call('POST', `/v2/publish/${sink.url}/`, { headers: flow });
  await service.emulator.idle();
  const make = (name: string, authorization: string, query = '') => {
    const [method, path, body] = REQUESTS[name]!;
    return service.call(method, path.replace('URL', sink.url) + query, {
      headers: { Authorization: authorization },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };
  return { service, make };
}

describe('every operation', () => {
  test.each(NAMES)('%s answers a valid request with 200', async (name) => {
    const { service, make } = await prepared();
    expect((await make(name, isManagement(name) ? BASIC : BEARER)).status).toBe(200);
    await service.drain();
  });

  test.each(NAMES)('%s rejects missing, wrong and foreign credentials', async (name) => {
    const { service, make } = await prepared();
    const before = service.emulator.messages(ACCOUNT).length;
    const wrong = isManagement(name) ? `Basic ${btoa('ops@example.com:wrong')}` : 'Bearer wrong';
    for (const authorization of ['', wrong, isManagement(name) ? BEARER : BASIC, `Digest ${TOKEN}`]) {
      const { status, json } = await make(name, authorization);
      expect([status, json]).toEqual([401, { error: expect.any(String) }]);
    }
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(before);
  });

  // The rest of the path of a publish or trigger, query included, is part of the destination.
  test.each(NAMES.filter((name) => name !== '4.1.publish' && name !== '4.1.trigger'))(
    '%s rejects an unknown parameter and has no effect',
    async (name) => {
      const { make } = await prepared();
      const { status, json } = await make(name, isManagement(name) ? BASIC : BEARER, '?colour=red');
      expect([status, json]).toEqual([400, { error: expect.stringContaining('colour') }]);
    },
  );
});

test('an account state that the interface does not name is reported unchanged', async () => {
  const service = await world();
  service.emulator.accounts.setState(ACCOUNT, { state: 'archived', modifyingState: 'restoring' });
  const { json } = await manage(service, 'POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`);
  expect(json).toMatchObject({ active: false, state: 'archived', modifying_state: 'restoring' });
});

describe('a failure callback', () => {
  test('names the entry of the DLQ, and that id removes the entry', async () => {
    const sink = await httpSink(
      (request, response) => void response.writeHead(request.url === '/cb' ? 200 : 500).end(),
    );
    const service = await world();
    const headers = { 'Svc-Retries': '0', 'Svc-Failure-Callback': `${sink.url}/cb` };
    await service.call('POST', `/v2/publish/${sink.url}/bad`, { headers });
    await service.drain();
    const told = JSON.parse(sink.requests.at(-1)!.body.toString()) as { readonly dlqId: string };
    expect((await service.call('DELETE', `/v2/dlq?dlqIds=${told.dlqId}`)).json).toEqual({ deleted: 1 });
  });

  test('named by a resume replaces that of the run', async () => {
    const sink = await httpSink(
      (request, response) => void response.writeHead(request.url === '/run' ? 500 : 200).end(),
    );
    const service = await world();
    const headers = { 'Svc-Retries': '0', 'Svc-Failure-Callback': `${sink.url}/old` };
    await service.call('POST', `/v2/trigger/${sink.url}/run`, { headers });
    await service.drain();
    const override = { headers: { 'Svc-Failure-Callback': `${sink.url}/new` } };
    expect((await service.call('POST', '/v2/workflows/dlq/resume', override)).status).toBe(200);
    await service.drain();
    expect(sink.requests.map(({ url }) => url)).toEqual(['/run', '/old', '/run', '/new']);
  });
});

test('dates of the DLQs compare with the time of the failure, which may be later than that of the run or message', async () => {
  const sink = await httpSink((_request, response) => void response.writeHead(500).end());
  const service = await world();
  const began = service.clock.now();
  const headers = { 'Svc-Retries': '1', 'Svc-Retry-Delay': '5000' };
  for (const operation of ['publish', 'trigger']) {
    await service.call('POST', `/v2/${operation}/${sink.url}/`, { headers });
  }
  await service.drain();
  const failed = began + 5_000;
  for (const [from, to, found] of [
    [began, failed - 1, 0],
    [failed + 1, failed + 2, 0],
    [failed, failed, 1],
  ] as const) {
    const window = `fromDate=${from}&toDate=${to}`;
    const runs = await service.call<{ messages: Json[] }>('GET', `/v2/workflows/dlq?${window}`);
    expect(runs.json.messages).toHaveLength(found);
    expect((await service.call('DELETE', `/v2/dlq?${window}`)).json).toEqual({ deleted: found });
  }
});

/** Statements of the interface about every operation, tested for each: success, credentials, parameters. */
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../test/support/http-sink.ts';
import { manage } from './conformance-support.ts';
import { OPERATIONS } from './interface-names.ts';
import { ACCOUNT, MANAGER, TOKEN, world, type World } from './world.ts';

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
  test.each(NAMES)('%s rejects missing, wrong and foreign credentials', async (name) => {
    const { service, make } = await prepared();
    const before = service.emulator.messages(ACCOUNT).length;
    const wrong = isManagement(name) ? `Basic ${btoa('ops@example.com:wrong')}` : 'Bearer wrong';
    for (const authorization of ['', wrong, isManagement(name) ? BEARER : MANAGER.Authorization, `Digest ${TOKEN}`]) {
      const { status, json } = await make(name, authorization);
      expect([status, json]).toEqual([401, { error: expect.any(String) }]);
    }
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(before);
  });
});

test('an account state that the interface does not name is reported unchanged', async () => {
  const service = await world();
  service.emulator.accounts.setState(ACCOUNT, { state: 'archived', modifyingState: 'restoring' });
  const { json } = await manage(service, 'POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`);
  expect(json).toMatchObject({ active: false, state: 'archived', modifying_state: 'restoring' });
});

/** Requests beyond an account's plan are rejected with the reason. Removals make room. */
import { describe, expect, test } from 'vitest';
import type { RunOptions } from '#emulator/emulator-options.ts';
import type { PlanName } from '#emulator/state/account.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { manage } from '../conformance-support.ts';
import { ACCOUNT, TOKEN, allLogs, world, type World } from '../world.ts';

const DAY_MS = 86_400_000;

function limited(plan: PlanName, options: Partial<RunOptions> = {}): Promise<World> {
  return world({ enforceLimits: true, accounts: [{ id: ACCOUNT, token: TOKEN, plan }], ...options });
}

async function setPlan(service: World, name: string): Promise<void> {
  const answer = await manage(service, 'POST', `/v2/msgsvc/set-plan/${ACCOUNT}`, { plan_name: name });
  expect(answer.status).toBe(200);
}

const publish = (service: World, headers: Readonly<Record<string, string>> = {}, body: string | Uint8Array = 'x') =>
  service.call('POST', '/v2/publish/http://nowhere.invalid/', { headers: { 'Svc-Delay': '1h', ...headers }, body });

const endpoints = (count: number, from = 0): string =>
  JSON.stringify({
    endpoints: Array.from({ length: count }, (_, index) => ({ url: `http://a.example/${from + index}` })),
  });

describe('a request beyond the plan is rejected, has no effect, and is accepted under a larger plan', () => {
  test.each([
    ['retries', { 'Svc-Retries': '4' }, { 'Svc-Retries': '3' }, 'Svc-Retries is 4, more than 3'],
    ['a delay', { 'Svc-Delay': '7d1s' }, { 'Svc-Delay': '7d' }, 'Svc-Delay requests a delay of more than 604800 s'],
    [
      'a far time',
      { 'Svc-Not-Before': String(Date.UTC(2026, 10, 27, 12, 0, 1) / 1_000) },
      { 'Svc-Not-Before': String(Date.UTC(2026, 10, 27, 12) / 1_000) },
      'Svc-Not-Before requests a delay of more than 604800 s',
    ],
    [
      "a callback's retries",
      { 'Svc-Callback': 'http://a.example/', 'Svc-Callback-Retries': '4' },
      { 'Svc-Callback': 'http://a.example/', 'Svc-Callback-Retries': '3' },
      'Svc-Callback-Retries is 4, more than 3',
    ],
    [
      "a failure callback's delay",
      { 'Svc-Failure-Callback': 'http://a.example/', 'Svc-Failure-Callback-Delay': '8d' },
      { 'Svc-Failure-Callback': 'http://a.example/', 'Svc-Failure-Callback-Delay': '7d' },
      'Svc-Failure-Callback-Delay requests a delay of more than 604800 s',
    ],
  ])('%s', async (_what, beyond, within, reason) => {
    const service = await limited('free');
    expect((await publish(service, within)).status).toBe(200);
    const refused = await publish(service, beyond);
    expect(refused.status).toBe(412);
    expect(refused.json).toEqual({ error: `${reason}, the most that the plan free allows` });
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(1);
    await setPlan(service, 'paid');
    expect((await publish(service, beyond)).status).toBe(200);
  });

  test('a workflow run and its resumption have the same limits', async () => {
    const service = await limited('free');
    const trigger = (headers: Readonly<Record<string, string>>) =>
      service.call('POST', '/v2/trigger/http://a.example/', { headers });
    expect((await trigger({ 'Svc-Retries': '4' })).status).toBe(412);
    expect((await trigger({ 'Svc-Delay': '8d' })).status).toBe(412);
    expect((await trigger({ 'Svc-Retries': '3', 'Svc-Delay': '7d' })).status).toBe(200);
    const resume = (headers: Readonly<Record<string, string>>) =>
      service.call('POST', '/v2/workflows/dlq/resume', { headers });
    expect((await resume({ 'Svc-Retries': '4' })).status).toBe(412);
    expect((await resume({ 'Svc-Delay': '8d' })).status).toBe(412);
    expect((await resume({ 'Svc-Retries': '3', 'Svc-Delay': '7d' })).status).toBe(200);
  });

  test('a body larger than the largest message', async () => {
    const service = await limited('paid');
    const body = new Uint8Array(1_048_577);
    expect((await publish(service, {}, body.subarray(1))).status).toBe(200);
    const refused = await publish(service, {}, body);
    expect([refused.status, refused.json]).toEqual([413, { error: expect.stringContaining('1048576 bytes') }]);
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(1);
    await setPlan(service, 'msgsvc_fixed_1m');
    expect((await publish(service, {}, body)).status).toBe(200);
  });

  test('one URL Group more, and one endpoint more', async () => {
    const service = await limited('free');
    const add = (group: string, body: string) => service.call('POST', `/v2/topics/${group}/endpoints`, { body });
    expect((await add('a', endpoints(60))).status).toBe(200);
    const group = await add('b', endpoints(1));
    expect([group.status, group.json]).toEqual([
      412,
      { error: 'the account has 1 URL Groups, the most that the plan free allows' },
    ]);
    const endpoint = await add('a', endpoints(41, 60));
    expect([endpoint.status, endpoint.json]).toEqual([412, { error: expect.stringContaining('more than 100') }]);
    expect((await add('a', endpoints(40, 60))).status).toBe(200);
    // Existing endpoints may be written again.
    expect((await add('a', endpoints(100))).status).toBe(200);
    expect((await add('new', endpoints(101))).status).toBe(412);
    await setPlan(service, 'paid');
    expect((await add('b', endpoints(1))).status).toBe(200);
    expect((await service.call<readonly object[]>('GET', '/v2/topics')).json).toHaveLength(2);
  });

  test('no limit applies where limits are not enforced', async () => {
    const service = await limited('free', { enforceLimits: false });
    expect((await publish(service, { 'Svc-Retries': '4', 'Svc-Delay': '30d' }, new Uint8Array(2_000_000))).status).toBe(
      200,
    );
    expect(Object.keys((await publish(service)).headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
  });
});

test("the plan's timeout is the maximum", async () => {
  for (const [plan, seconds] of [['free', 900] as const, ['paid', 7_200] as const]) {
    const service = await limited(plan);
    const { json } = await publish(service, { 'Svc-Timeout': '3h' });
    const logs = await allLogs(service, `messageId=${String(json['messageId'])}`);
    expect(logs).toMatchObject([{ timeout: seconds }]);
  }
});

test('a full DLQ keeps the newest, and a smaller plan keeps fewer', async () => {
  const sink = await httpSink((_request, response) => void response.writeHead(500).end());
  const service = await limited('paid');
  const ids: string[] = [];
  for (let index = 0; index < 105; index++) {
    const headers = { 'Svc-Retries': '0' };
    const { json } = await service.call('POST', `/v2/trigger/${sink.url}/`, { headers });
    ids.push(String(json['workflowRunId']));
  }
  await service.emulator.idle();
  const kept = (): readonly string[] => service.emulator.workflowDlq(ACCOUNT).map((run) => run.workflowRunId);
  expect(kept().toSorted()).toEqual(ids.toSorted());
  const before = kept();
  service.emulator.accounts.byId(ACCOUNT)!.plan = 'free';
  expect(kept()).toEqual(before.slice(-100));
  await service.clock.advance(1_000);
  await service.call('POST', `/v2/trigger/${sink.url}/`, { headers: { 'Svc-Retries': '0' } });
  await service.emulator.idle();
  expect(kept().slice(0, -1)).toEqual(before.slice(-99));
});

test("logs and dead letters are kept for the plan's retention", async () => {
  const sink = await httpSink((_request, response) => void response.writeHead(500).end());
  const remembered = async (plan: PlanName, days: number): Promise<readonly [number, number]> => {
    const service = await limited(plan);
    await service.call('POST', `/v2/trigger/${sink.url}/`, { headers: { 'Svc-Retries': '0' } });
    await service.emulator.idle();
    await service.clock.advance(days * DAY_MS);
    return [(await allLogs(service)).length, service.emulator.workflowDlq(ACCOUNT).length];
  };
  expect(await remembered('free', 2.9)).toEqual([4, 1]);
  expect(await remembered('free', 3.1)).toEqual([0, 0]);
  expect(await remembered('paid', 6.9)).toEqual([4, 1]);
  expect(await remembered('paid', 7.1)).toEqual([0, 0]);
  expect(await remembered('fixed_10m', 29.9)).toEqual([4, 1]);
  expect(await remembered('fixed_10m', 30.1)).toEqual([0, 1]);
  expect(await remembered('fixed_10m', 90.1)).toEqual([0, 0]);
});

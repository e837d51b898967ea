/** Tests each enumeration value of the management API (interface 4.2) over HTTP. */
import { describe, expect, test } from 'vitest';
import { manage, type Json } from './conformance-support.ts';
import { ACCOUNT, TOKEN, world } from './world.ts';

describe('plans', () => {
  test.each([
    ['paid', '', 5],
    ['msgsvc_fixed_1m', 'msgsvc_fixed_1m', 5],
    ['msgsvc_fixed_10m', 'msgsvc_fixed_10m', 5],
    ['msgsvc_fixed_100m', 'msgsvc_fixed_100m', 5],
  ])('set-plan to %s changes plan and limits', async (plan, reserved, retries) => {
    const service = await world({ accounts: [{ id: ACCOUNT, token: TOKEN, plan: 'free' }] });
    const record = async (): Promise<Json> =>
      (await manage(service, 'POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`)).json;
    const before = await record();
    await service.clock.advance(10_000);
    const answer = await manage(service, 'POST', `/v2/msgsvc/set-plan/${ACCOUNT}`, { plan_name: plan });
    expect([answer.status, answer.json]).toEqual([200, 'OK']);
    const after = await record();
    expect(after).toMatchObject({ type: 'paid', reserved_type: reserved });
    expect(after['last_plan_upgrade_time']).toBe(Number(before['creation_time']) + 10);
    expect(after['max_requests_per_day']).toBeGreaterThan(Number(before['max_requests_per_day']));
    const headers = { Authorization: `Bearer ${String(after['token'])}`, 'Svc-Delay': '1h' };
    await service.call('POST', '/v2/publish/http://a.example/', { headers });
    const { json } = await service.call<{ logs: Json[] }>('GET', '/v2/logs', { headers });
    expect(json.logs).toMatchObject([{ maxRetries: retries }]);
  });
});

describe('limits of the record are the enforced limits, in its units', () => {
  test.each(['free', 'paid'] as const)('on the %s plan', async (plan) => {
    const service = await world({ accounts: [{ id: ACCOUNT, token: TOKEN, plan }], enforceLimits: true });
    const { json } = await manage(service, 'POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`);
    const limit = (name: string): number => json[name] as number;
    const publish = async (headers: Readonly<Record<string, string>>, body = ''): Promise<number> => {
      const all = { Authorization: `Bearer ${String(json['token'])}`, 'Svc-Delay': '1h', ...headers };
      return (await service.call('POST', '/v2/publish/http://a.example/', { headers: all, body })).status;
    };
    for (const [over, status] of [
      [0, 200],
      [1, 412],
    ] as const) {
      expect(await publish({ 'Svc-Delay': `${limit('max_delay') + over}s` })).toBe(status);
      expect(await publish({ 'Svc-Retries': `${limit('max_retries') + over}` })).toBe(status);
    }
    expect(await publish({}, 'x'.repeat(limit('max_message_size')))).toBe(200);
    expect(await publish({}, 'x'.repeat(limit('max_message_size') + 1))).toBe(413);
    const headers = { Authorization: `Bearer ${String(json['token'])}` };
    const logs = await service.call<{ logs: Json[] }>('GET', '/v2/logs?count=1', { headers });
    expect(logs.json.logs).toMatchObject([{ timeout: limit('timeout') }]);
    expect(logs.headers).toMatchObject({
      'burst-ratelimit-limit': String(limit('max_requests_per_second')),
      'ratelimit-limit': String(limit('max_requests_per_day')),
    });
    for (let group = 0; group <= limit('max_topics'); group++) {
      const endpoints = [{ url: 'http://a.example/' }];
      const path = `/v2/topics/g${group}/endpoints`;
      const { status } = await service.call('POST', path, { headers, body: JSON.stringify({ endpoints }) });
      expect(status).toBe(group < limit('max_topics') ? 200 : 412);
    }
    // The group already has one endpoint.
    for (const more of [limit('max_endpoints_per_topic'), limit('max_endpoints_per_topic') - 1]) {
      const endpoints = Array.from({ length: more }, (_, at) => ({ url: `http://a.example/${at}` }));
      const body = JSON.stringify({ endpoints });
      const { status } = await service.call('POST', '/v2/topics/g0/endpoints', { headers, body });
      expect(status).toBe(more < limit('max_endpoints_per_topic') ? 200 : 412);
    }
  });

  test('dead letters are kept for the milliseconds in the record', async () => {
    const service = await world({ accounts: [{ id: ACCOUNT, token: TOKEN, plan: 'free' }] });
    const headers = { 'Svc-Retries': '0' };
    await service.call('POST', '/v2/publish/http://127.0.0.1:1/', { headers });
    await service.drain();
    const { json } = await manage(service, 'POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`);
    const held = async (): Promise<unknown> =>
      (await manage(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`)).json['dlq_message_count'];
    await service.clock.advance(Number(json['max_dlq_retention_time_milis']));
    expect(await held()).toBe(1);
    await service.clock.advance(1);
    expect(await held()).toBe(0);
  });
});

/** Section 2 of the interface: the values of records on the wire. The OpenAPI document has their names and kinds. */
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../test/support/http-sink.ts';
import { manage, type Json } from './conformance-support.ts';
import { ACCOUNT, START, TOKEN, world, type World } from './world.ts';

/** Starts a service with a group of two endpoints, one of which fails, and a callback for everything. */
async function failing() {
  const sink = await httpSink((request, response) => {
    if (request.url === '/ok') response.end('fine');
    else response.writeHead(503, { 'X-Why': 'busy' }).end('try later');
  });
  return { sink, service: await world() };
}

async function logs(service: World, query: string): Promise<readonly Json[]> {
  const { json } = await service.call<{ logs: readonly Json[] }>('GET', `/v2/logs?${query}`);
  return json.logs;
}

describe('message API', () => {
  test('a log entry has every requested setting and every result', async () => {
    const { service, sink } = await failing();
    const endpoints = [{ name: 'one', url: `${sink.url}/bad` }];
    await service.call('POST', '/v2/topics/orders/endpoints', { body: JSON.stringify({ endpoints }) });
    const { json } = await service.call<Json[]>('POST', '/v2/publish/orders', {
      headers: {
        'Content-Type': 'text/plain',
        'Svc-Forward-Order': '17',
        'Svc-Method': 'PUT',
        'Svc-Timeout': '30s',
        'Svc-Retries': '1',
        'Svc-Retry-Delay': '5000 + retried',
        'Svc-Label': 'a, b',
        'Svc-Callback': `${sink.url}/ok`,
        'Svc-Callback-Forward-X': 'callback',
        'Svc-Failure-Callback': `${sink.url}/ok`,
        'Svc-Failure-Callback-Forward-Y': 'failure',
      },
      body: 'hello',
    });
    await service.drain();
    const entries = await logs(service, 'topicName=orders');
    const asked = {
      messageId: json[0]!['messageId'],
      header: { 'Content-Type': ['text/plain'], Order: ['17'] },
      body: 'hello',
      url: `${sink.url}/bad`,
      topicName: 'orders',
      endpointName: 'one',
      timeout: 30,
      method: 'PUT',
      callback: `${sink.url}/ok`,
      callbackHeaders: { X: ['callback'] },
      failureCallback: `${sink.url}/ok`,
      failureCallbackHeaders: { Y: ['failure'] },
      maxRetries: 1,
      retryDelayExpression: '5000 + retried',
      label: 'a',
      labels: ['a', 'b'],
    };
    const answered = {
      error: 'destination answered 503',
      responseStatus: 503,
      responseBody: 'try later',
      responseHeaders: expect.objectContaining({ 'X-Why': ['busy'] }),
    };
    expect(entries.toReversed()).toEqual([
      { ...asked, state: 'CREATED', time: START },
      { ...asked, state: 'ACTIVE', time: START },
      { ...asked, ...answered, state: 'ERROR', time: START, nextDeliveryTime: START + 5_000 },
      { ...asked, state: 'RETRY', time: START, nextDeliveryTime: START + 5_000 },
      { ...asked, state: 'ACTIVE', time: START + 5_000 },
      { ...asked, ...answered, state: 'ERROR', time: START + 5_000 },
      { ...asked, ...answered, state: 'FAILED', time: START + 5_000 },
    ]);
  });
});

describe('management API', () => {
  test.each([
    ['free', { type: 'free', reserved_type: '', reserved_price: 0 }],
    ['paid', { type: 'paid', reserved_type: '', reserved_price: 0 }],
    ['fixed_1m', { type: 'paid', reserved_type: 'msgsvc_fixed_1m' }],
    ['fixed_10m', { type: 'paid', reserved_type: 'msgsvc_fixed_10m' }],
    ['fixed_100m', { type: 'paid', reserved_type: 'msgsvc_fixed_100m' }],
  ] as const)('the record of a %s account has the values of its plan', async (plan, expected) => {
    const service = await world({ accounts: [{ id: ACCOUNT, token: TOKEN, plan, budgetUsd: 50 }] });
    const { json } = await manage(service, 'POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`);
    expect(json).toMatchObject({
      ...expected,
      id: ACCOUNT,
      active: true,
      state: 'active',
      metrics_enabled: 'true',
      region: 'eu-central-1',
      creation_time: START / 1_000,
      deletion_time: 0,
      budget: 50,
    });
    expect(json).not.toHaveProperty('modifying_state');
    expect(json['token']).not.toBe(TOKEN);
    for (const [name, value] of Object.entries(json)) if (name.startsWith('max_')) expect(value).toBeGreaterThan(0);
  });

  test.each([
    ['free', 'eu-west-1'],
    ['payg', 'us-central1'],
  ])('the record of a %s index in %s has the fields of the interface', async (type, region) => {
    const service = await world();
    const { json } = await manage(service, 'POST', '/v2/search', { name: 'goods', region, type });
    expect(json).toMatchObject({ name: 'goods', region, type, integration_email: '', creation_time: START / 1_000 });
    expect(json['endpoint']).toMatch(/^https:\/\/goods-/);
    expect(json['throughput_vector']).toHaveLength(60);
  });

  test('account statistics have the fields of the interface; daily arrays cover the month', async () => {
    const { service, sink } = await failing();
    await service.call('POST', `/v2/publish/${sink.url}/ok`);
    await service.call('POST', `/v2/trigger/${sink.url}/ok`);
    await service.drain();
    const { json } = await manage(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`);
    expect(json['days']).toEqual(Array.from({ length: 30 }, (_, day) => `2026-11-${String(day + 1).padStart(2, '0')}`));
    const minutely = ['daily_used', 'daily_used_workflow', 'daily_bandwidth_used'];
    for (const name of minutely) expect(json[name]).toHaveLength(60);
    for (const name of ['daily_msgsvc_messages', 'daily_workflow_messages']) {
      for (const series of json[name] as { data_points: unknown[] }[]) expect(series.data_points).toHaveLength(60);
    }
    for (const name of ['daily_billings', 'daily_bandwidths', 'daily_requests']) {
      expect((json[name] as { x: string }[]).map((point) => point.x.slice(0, 10))).toEqual(json['days']);
    }
    expect((json['daily_requests'] as Json[])[19]).toMatchObject({ y: 2, workflow_message: 1, workflow_run: 1 });
  });
});

/** Section 7 of the interface and rules of every operation: errors are JSON, and only required parts are required. */
import { describe, expect, test } from 'vitest';
import { manage } from './conformance-support.ts';
import { ACCOUNT, TOKEN, world } from './world.ts';

describe('an error response', () => {
  test.each([
    ['POST', '/v2/publish/http://a.example/', { 'Svc-Retries': 'x' }, 400],
    ['POST', '/v2/trigger/http://a.example/', { 'Svc-Delay': 'x' }, 400],
    ['GET', '/v2/workflows/dlq?count=0', {}, 400],
    ['POST', '/v2/workflows/dlq/resume?fromDate=x', {}, 400],
    ['DELETE', '/v2/workflows/dlq?cursor=x', {}, 400],
    ['DELETE', '/v2/dlq?responseStatus=x', {}, 400],
    ['GET', '/v2/flowControl/none', {}, 404],
    ['GET', '/v2/logs?state=x', {}, 400],
    ['POST', '/v2/topics/g/endpoints', {}, 400],
  ])('of %s %s is JSON with its reason in error', async (method, path, headers, status) => {
    const service = await world();
    const answer = await service.call(method, path, { headers });
    expect(answer.headers['content-type']).toBe('application/json');
    expect([answer.status, answer.json]).toEqual([status, { error: expect.stringMatching(/\w+ \w+/) }]);
    expect(service.emulator.messages(ACCOUNT)).toEqual([]);
  });
});

test('only headers and parameters marked as required must be given', async () => {
  const service = await world();
  for (const [method, path] of [
    ['GET', '/v2/topics'],
    ['GET', '/v2/logs'],
    ['GET', '/v2/workflows/dlq'],
    ['POST', '/v2/workflows/dlq/resume'],
    ['DELETE', '/v2/workflows/dlq'],
    ['DELETE', '/v2/dlq'],
    ['POST', '/v2/publish/http://127.0.0.1:1/'],
    ['POST', '/v2/trigger/http://127.0.0.1:1/'],
  ] as const) {
    expect((await service.call(method, path)).status).toBe(200);
  }
  await service.drain();
});

test('dates that filters compare are milliseconds, times of management records seconds', async () => {
  const service = await world();
  await service.call('POST', '/v2/publish/http://a.example/', { headers: { 'Svc-Delay': '1h' } });
  const at = service.clock.now();
  // A second message one millisecond later checks that the bounds are exact.
  await service.clock.advance(1);
  await service.call('POST', '/v2/publish/http://a.example/', { headers: { 'Svc-Delay': '1h' } });
  const logs = async (query: string) => (await service.call<{ logs: object[] }>('GET', `/v2/logs?${query}`)).json.logs;
  expect(await logs(`fromDate=${at}&toDate=${at}`)).toHaveLength(1);
  expect(await logs(`fromDate=${at + 1}`)).toHaveLength(1);
  expect(await logs(`toDate=${at}`)).toHaveLength(1);
  expect(await logs(`toDate=${at - 1}`)).toHaveLength(0);
  const { json } = await manage(service, 'POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`);
  expect(json['creation_time']).toBe(at / 1_000);
  expect(json['token']).not.toBe(TOKEN);
});

/** Schedules and queues: no operation creates them, but fields and filters refer to them (interface 2.3, 4.1, 6). */
import { expect, test } from 'vitest';
import { httpSink } from '../../test/support/http-sink.ts';
import type { Json } from './conformance-support.ts';
import { allLogs, world, type World } from './world.ts';

/** Failed messages: of a schedule, of a queue, of both, of neither. */
async function failed(): Promise<{ readonly service: World; readonly bodies: readonly Json[] }> {
  const sink = await httpSink((request, response) => void response.writeHead(request.url === '/cb' ? 200 : 500).end());
  const service = await world({ control: true });
  for (const origin of [
    { scheduleId: 'nightly' },
    { queueName: 'bills' },
    { scheduleId: 'hourly', queueName: 'mail' },
    undefined,
  ]) {
    if (origin !== undefined) service.emulator.control.nameNext(origin);
    const headers = { 'Svc-Retries': '0', 'Svc-Failure-Callback': `${sink.url}/cb` };
    expect((await service.call('POST', `/v2/publish/${sink.url}/bad`, { headers })).status).toBe(200);
    await service.emulator.idle();
  }
  const told = sink.requests.filter((request) => request.url === '/cb');
  return { service, bodies: told.map((request) => JSON.parse(request.body.toString()) as Json) };
}

test('log entries name schedule and queue, and filters find them', async () => {
  const { service } = await failed();
  const found = async (query: string): Promise<readonly unknown[]> =>
    (await allLogs(service, `${query}&state=ERROR`)).map((entry) => {
      const { scheduleId, queueName } = entry as unknown as Json;
      return [scheduleId, queueName];
    });
  expect(await found('scheduleId=nightly')).toEqual([['nightly', undefined]]);
  expect(await found('queueName=bills')).toEqual([[undefined, 'bills']]);
  expect(await found('scheduleId=hourly&queueName=mail')).toEqual([['hourly', 'mail']]);
  expect(await found('scheduleId=hourly&queueName=bills')).toEqual([]);
});

test('a callback names the schedule', async () => {
  const { bodies } = await failed();
  expect(bodies.map((body) => body['scheduleId'])).toEqual(['nightly', undefined, 'hourly', undefined]);
});

test.each([
  ['scheduleId=nightly', 1],
  ['scheduleId=nightly&scheduleId=hourly', 2],
  ['scheduleId=nightly,hourly', 2],
  ['queueName=bills', 1],
  ['queueName=bills,mail', 2],
  ['scheduleId=hourly,nightly&queueName=mail', 1],
  ['queueName=other', 0],
])('failed messages of %s are deleted: %d', async (query, deleted) => {
  const { service } = await failed();
  expect((await service.call('DELETE', `/v2/dlq?${query}`)).json).toEqual({ deleted });
  expect((await service.call('DELETE', '/v2/dlq')).json).toEqual({ deleted: 4 - deleted });
});

/** Listing logs: filters, pages, switches, retention. */
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../../test/support/http-sink.ts';
import { ACCOUNT, allLogs, START, statesOf, world, type World } from '../world.ts';

/** Publishes three messages, ten seconds apart: delivered with labels a,b; failed at once with label c; to a group. */
async function populated(options: Parameters<typeof world>[0] = {}) {
  const sink = await httpSink((request, response) => void response.writeHead(request.url === '/bad' ? 400 : 200).end());
  const service = await world(options);
  const publish = async (destination: string, headers: Record<string, string>) => {
    await service.call('POST', `/v2/publish/${destination}`, { headers });
    await service.emulator.idle();
    await service.clock.advance(10_000);
  };
  const endpoints = [{ url: `${sink.url}/group`, name: 'one' }];
  await service.call('POST', '/v2/topics/orders/endpoints', { body: JSON.stringify({ endpoints }) });
  await publish(`${sink.url}/good`, { 'Svc-Label': 'a, b' });
  await publish(`${sink.url}/bad`, { 'Svc-Label': 'c', 'Svc-Retries': '0' });
  await publish('orders', {});
  return { service, sink };
}

const paths = (entries: readonly { readonly url: string }[]): readonly string[] =>
  [...new Set(entries.map((entry) => new URL(entry.url).pathname))].toSorted((a, b) => a.localeCompare(b));

describe('filters', () => {
  test.each([
    ['none', '', ['/bad', '/good', '/group'], 10],
    ['a label', 'label=a', ['/good'], 3],
    ['labels by repetition', 'label=a&label=c', ['/bad', '/good'], 7],
    ['labels by comma', 'label=c,b', ['/bad', '/good'], 7],
    ['label and state', 'label=a,c&state=DELIVERED', ['/good'], 1],
    ['ERROR', 'state=ERROR', ['/bad'], 1],
    ['IN_PROGRESS is ACTIVE, RETRY and ERROR', 'state=IN_PROGRESS', ['/bad', '/good', '/group'], 4],
    ['a group', 'topicName=orders', ['/group'], 3],
    ['a queue, which nothing has', 'queueName=q', [], 0],
    ['a schedule, which nothing has', 'scheduleId=s', [], 0],
    ['from a moment, inclusive', `fromDate=${START + 10_000}`, ['/bad', '/group'], 7],
    ['to a moment, inclusive', `toDate=${START + 10_000}`, ['/bad', '/good'], 7],
    ['one moment', `fromDate=${START}&toDate=${START}`, ['/good'], 3],
    ['an empty window', `fromDate=${START + 1}&toDate=${START + 2}`, [], 0],
    ['an empty value, which is no filter', 'label=&state=', ['/bad', '/good', '/group'], 10],
  ])('%s', async (_what, query, expected, count) => {
    const { service } = await populated();
    const entries = await allLogs(service, query);
    expect(paths(entries)).toEqual(expected);
    expect(entries).toHaveLength(count);
  });

  test('url and messageId', async () => {
    const { service, sink } = await populated();
    expect(paths(await allLogs(service, `url=${encodeURIComponent(`${sink.url}/bad`)}`))).toEqual(['/bad']);
    const { id } = service.emulator.messages(ACCOUNT)[0]!;
    expect(paths(await allLogs(service, `messageId=${id}`))).toEqual(['/good']);
  });

  test.each([
    'state=FAILED',
    'state=toString',
    'count=0',
    'count=101',
    'count=x',
    'fromDate=soon',
    'cursor=abc',
    'label2=x',
    'state=ERROR&state=ACTIVE',
  ])('%s is rejected', async (query) => {
    const { service } = await populated();
    const answer = await service.call('GET', `/v2/logs?${query}`);
    expect([answer.status, answer.json]).toEqual([400, { error: expect.any(String) }]);
  });
});

describe('pages', () => {
  test('a full last page has no cursor', async () => {
    const { service } = await populated();
    expect((await service.call('GET', '/v2/logs?count=10')).json).not.toHaveProperty('cursor');
    expect((await service.call('GET', '/v2/logs?count=9')).json).toHaveProperty('cursor');
  });
});

test('expired entries are removed, with the records of messages that ended', async () => {
  const { service, sink } = await populated({ logRetentionMs: 3_600_000 });
  const waiting = await service.call<{ messageId: string }>('POST', `/v2/publish/${sink.url}/later`, {
    headers: { 'Svc-Delay': '5h' },
  });
  await service.clock.advance(3_600_000 - 25_000);
  // At the end of the retention the first message is too old, the others are not.
  expect(paths(await allLogs(service))).toEqual(['/bad', '/group', '/later']);
  await service.clock.advance(2 * 3_600_000);
  expect(await allLogs(service)).toEqual([]);
  await service.call('POST', `/v2/publish/${sink.url}/good`);
  await service.drain();
  expect(service.emulator.messages(ACCOUNT).map((message) => message.url)).toContain(`${sink.url}/later`);
  expect(await statesOf(service, waiting.json.messageId)).toEqual(['ACTIVE', 'DELIVERED']);
});

test('the oldest entries are removed when there are too many', async () => {
  const sink = await httpSink();
  const service: World = await world({ logMaxEntries: 1_000 });
  for (let batch = 0; batch < 26; batch++) {
    await Promise.all(Array.from({ length: 20 }, () => service.call('POST', `/v2/publish/${sink.url}/`)));
  }
  await service.drain();
  expect((await allLogs(service)).length).toBeLessThanOrEqual(1_000);
  expect(service.emulator.messages(ACCOUNT).length).toBeLessThanOrEqual(400);
});

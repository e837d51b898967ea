/** Publish and trigger (interface 4.1): the effect of each header on a message that is really delivered. */
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../test/support/http-sink.ts';
import type { Json } from './conformance-support.ts';
import { ACCOUNT, allLogs, START, TOKEN, world, type World, worldWithSink } from './world.ts';

type Headers = Readonly<Record<string, string>>;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function send(service: World, operation: 'publish' | 'trigger', url: string, headers: Headers = {}, body = '') {
  const answer = await service.call('POST', `/v2/${operation}/${url}`, { headers, body });
  expect([answer.status, answer.json]).toEqual([200, expect.any(Object)]);
  return answer.json;
}

/** Returns the first entry of the only message to a URL. */
async function created(service: World, url: string): Promise<Json> {
  const entries = await allLogs(service, `state=CREATED&url=${encodeURIComponent(url)}`);
  expect(entries).toHaveLength(1);
  return entries[0] as unknown as Json;
}

async function broken(status = 500) {
  return httpSink((_request, response) => void response.writeHead(status).end('no'));
}

describe('publish', () => {
  test.each([
    [undefined, 'POST'],
    ['GET', 'GET'],
    ['POST', 'POST'],
    ['PUT', 'PUT'],
    ['PATCH', 'PATCH'],
    ['DELETE', 'DELETE'],
  ])('the method %s arrives as %s', async (given, expected) => {
    const { sink, service } = await worldWithSink();
    await send(service, 'publish', sink.url, given === undefined ? {} : { 'Svc-Method': given }, 'body');
    await service.emulator.idle();
    expect(sink.requests).toMatchObject([{ method: expected, body: Buffer.from('body') }]);
    expect((await allLogs(service))[0]).toMatchObject({ method: expected });
  });

  test.each([
    ['1000', [1000, 1000, 1000]],
    ['1000 * (1 + retried)', [1000, 2000, 3000]],
    ['pow(2, retried) * 1000', [1000, 2000, 4000]],
    ['max(10000, pow(2, retried) * 3000)', [10_000, 10_000, 12_000]],
  ])('a retry delay of %s waits %j ms', async (expression, waits) => {
    const sink = await broken();
    const service = await world();
    await send(service, 'publish', sink.url, { 'Svc-Retries': '3', 'Svc-Retry-Delay': expression });
    await service.drain();
    const retries = (await allLogs(service, 'state=RETRY')).toReversed();
    expect(retries.map(({ time, nextDeliveryTime }) => Math.round(nextDeliveryTime! - time))).toEqual(waits);
  });

  test.each([
    ['45s', 45],
    ['3m', 180],
    ['1h', 3_600],
    ['1h30m', 5_400],
    ['1m30s', 90],
    // A timeout above the plan's is ignored.
    ['1d1h30m', 7_200],
  ])('a timeout of %s is %d seconds', async (timeout, seconds) => {
    const service = await world();
    await send(service, 'publish', 'http://a.example/', { 'Svc-Timeout': timeout, 'Svc-Delay': '1h' });
    expect(await created(service, 'http://a.example/')).toMatchObject({ timeout: seconds });
  });

  test.each([
    ['free', undefined, 4],
    ['paid', undefined, 6],
    ['fixed_1m', undefined, 6],
    ['paid', 0, 1],
    ['paid', 2, 3],
  ] as const)('plan %s, retries %s: %d deliveries', async (plan, retries, deliveries) => {
    const sink = await broken();
    const service = await world({ accounts: [{ id: ACCOUNT, token: TOKEN, plan }] });
    await send(service, 'publish', sink.url, retries === undefined ? {} : { 'Svc-Retries': String(retries) });
    await service.drain();
    expect(sink.requests).toHaveLength(deliveries);
    expect(service.emulator.messages(ACCOUNT)).toMatchObject([{ state: 'FAILED', attempts: deliveries }]);
  });

  test.each([
    ['90', 90_000],
    ['50s', 50_000],
    ['10m', 10 * MINUTE],
    ['2h', 2 * HOUR],
    ['3d', 72 * HOUR],
    ['1d1h30m5s', 25 * HOUR + 30 * MINUTE + 5_000],
  ])('a delay of %s is %d ms', async (delay, ms) => {
    const { sink, service } = await worldWithSink();
    await send(service, 'publish', sink.url, { 'Svc-Delay': delay });
    expect(await created(service, sink.url)).toMatchObject({ nextDeliveryTime: START + ms });
    await service.clock.advance(ms - 1);
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(0);
    await service.clock.advance(1);
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(1);
  });

  test('a not-before in the past is now, and takes precedence over a delay', async () => {
    const { sink, service } = await worldWithSink();
    await send(service, 'publish', sink.url, { 'Svc-Not-Before': String(START / 1_000 - 5), 'Svc-Delay': '1h' });
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(1);
  });

  test.each([
    ['parallelism=3', { parallelismMax: 3 }, ['rateMax', 'ratePeriod']],
    ['rate=4', { rateMax: 4, ratePeriod: 1 }, ['parallelismMax']],
    ['rate=4, period=30', { rateMax: 4, ratePeriod: 30 }, ['parallelismMax']],
    ['parallelism=3, rate=4, period=2m', { parallelismMax: 3, rateMax: 4, ratePeriod: 120 }, []],
  ])('a flow-control value of %s is shown by the key', async (value, told, absent) => {
    const service = await world();
    const headers = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': value, 'Svc-Delay': '1h' };
    await send(service, 'publish', 'http://a.example/', headers);
    const { json } = await service.call('GET', '/v2/flowControl/k');
    expect(json).toMatchObject(told);
    for (const name of absent) expect(json).not.toHaveProperty(name);
  });

  test('a duplicate does not extend the window, and one by content has the same window', async () => {
    const service = await world();
    const publish = async (headers: Headers) =>
      (await send(service, 'publish', 'http://a.example/', { 'Svc-Delay': '30d', ...headers }, 'same'))['deduplicated'];
    const forms: Headers[] = [{ 'Svc-Deduplication-Id': 'd' }, { 'Svc-Content-Based-Deduplication': 'true' }];
    for (const form of forms) expect(await publish(form)).toBe(false);
    await service.clock.advance(6 * MINUTE);
    for (const form of forms) expect(await publish(form)).toBe(true);
    await service.clock.advance(4 * MINUTE - 1);
    for (const form of forms) expect(await publish(form)).toBe(true);
    await service.clock.advance(1);
    for (const form of forms) expect(await publish(form)).toBe(false);
  });
});

describe('callback settings', () => {
  /** Fails one message, whose callback is delayed by a day. Returns the callback's own record. */
  async function told(kind: 'Callback' | 'Failure-Callback', settings: Headers) {
    const sink = await broken();
    const receiver = await broken();
    const service = await world();
    await send(service, 'publish', sink.url, {
      'Svc-Retries': '1',
      'Svc-Retry-Delay': '1000 + retried',
      'Svc-Timeout': '50s',
      [`Svc-${kind}`]: receiver.url,
      [`Svc-${kind}-Delay`]: '1d',
      ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [`Svc-${kind}-${name}`, value])),
    });
    await service.drain(2_000);
    const entries = await allLogs(service, `state=CREATED&url=${encodeURIComponent(receiver.url)}`);
    return { record: entries.at(-1) as unknown as Json, count: entries.length, service, receiver };
  }

  test.each([
    ['Callback', 2],
    ['Failure-Callback', 1],
  ] as const)('a %s has POST and the settings of the original unless set otherwise', async (kind, count) => {
    const plain = await told(kind, {});
    expect(plain.count).toBe(count);
    expect(plain.record).toMatchObject({
      method: 'POST',
      timeout: 50,
      maxRetries: 1,
      retryDelayExpression: '1000 + retried',
      nextDeliveryTime: Number(plain.record['time']) + 24 * HOUR,
    });
    await plain.service.drain();
    expect(plain.receiver.requests).toHaveLength(2 * count);
  });

  test.each(
    (['Callback', 'Failure-Callback'] as const).flatMap((kind) =>
      [
        ['Method', 'PUT', { method: 'PUT' }],
        ['Timeout', '20s', { timeout: 20 }],
        ['Retries', '3', { maxRetries: 3 }],
        ['Retry-Delay', '7000', { retryDelayExpression: '7000' }],
      ].map(([name, value, expected]) => [kind, name as string, value as string, expected as Json] as const),
    ),
  )('%s-%s: %s', async (kind, name, value, expected) => {
    const { record } = await told(kind, { [name]: value });
    expect(record).toMatchObject(expected);
  });

  test.each(['Callback', 'Failure-Callback'])('%s-Delay delays it, and its own headers are forwarded', async (kind) => {
    const sink = await broken();
    const receiver = await httpSink();
    const service = await world();
    await send(service, 'publish', sink.url, {
      'Svc-Retries': '0',
      [`Svc-${kind}`]: receiver.url,
      [`Svc-${kind}-Delay`]: '5m',
      [`Svc-${kind}-Forward-My-Header`]: 'mine',
    });
    await service.emulator.idle();
    await service.clock.advance(5 * MINUTE - 1);
    await service.emulator.idle();
    expect(receiver.requests).toHaveLength(0);
    await service.clock.advance(1);
    await service.emulator.idle();
    expect(receiver.requests).toMatchObject([{ method: 'POST', headers: { 'my-header': 'mine' } }]);
  });
});

describe('callbacks', () => {
  test('follow each attempt until a 2xx; retried counts up and no failure is reported', async () => {
    const sink = await httpSink(
      (request, response) => void response.writeHead(request.headers['svc-retried'] === '2' ? 201 : 500).end(),
    );
    const receiver = await httpSink();
    const service = await world();
    await send(service, 'publish', sink.url, {
      'Svc-Retry-Delay': '1000',
      'Svc-Callback': `${receiver.url}/each`,
      'Svc-Failure-Callback': `${receiver.url}/failed`,
    });
    await service.drain();
    const told = receiver.requests.map(({ url, body }) => {
      const { status, retried, maxRetries } = JSON.parse(body.toString()) as Json;
      return [url, status, retried, maxRetries];
    });
    expect(told).toEqual([
      ['/each', 500, 0, 5],
      ['/each', 500, 1, 5],
      ['/each', 201, 2, 5],
    ]);
  });

  test('report group and endpoint, a later delivery, and original bytes and header values', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xfe]);
    const sink = await httpSink(
      (_request, response) => void response.writeHead(200, { 'X-Many': ['a', 'b'] }).end(bytes),
    );
    const receiver = await httpSink();
    const service = await world();
    const endpoints = [{ url: `${sink.url}/one`, name: 'one' }];
    await service.call('POST', '/v2/topics/orders/endpoints', { body: JSON.stringify({ endpoints }) });
    const headers = { 'Svc-Callback': receiver.url, 'Svc-Delay': '1m', 'Svc-Forward-Order': '17' };
    expect((await service.call('POST', '/v2/publish/orders', { headers, body: bytes })).status).toBe(200);
    await service.drain();
    expect(JSON.parse(receiver.requests[0]!.body.toString())).toMatchObject({
      topicName: 'orders',
      endpointName: 'one',
      header: { 'X-Many': ['a', 'b'] },
      body: bytes.toString('base64'),
      sourceHeader: { Order: '17' },
      sourceBody: bytes.toString('base64'),
      createdAt: String(START),
      notBefore: String(START + MINUTE),
    });
  });

  test('are billed as messages and counted as deliveries', async () => {
    const sink = await broken();
    const receiver = await httpSink();
    const service = await world();
    await send(service, 'publish', sink.url, {
      'Svc-Retries': '1',
      'Svc-Retry-Delay': '1',
      'Svc-Callback': receiver.url,
      'Svc-Failure-Callback': receiver.url,
    });
    await service.drain();
    expect(receiver.requests).toHaveLength(3);
    expect(service.facts.filter((fact) => fact.kind === 'attempt')).toHaveLength(5);
    expect(service.emulator.statistics.monthBillingMicroUsd(ACCOUNT, service.clock.now())).toBe(50);
  });
});

describe('trigger', () => {
  test('the payload arrives unchanged, with the run id and the forwarded headers', async () => {
    const { sink, service } = await worldWithSink();
    const headers = { 'Content-Type': 'text/plain', 'Svc-Forward-My-Header': 'mine', 'Svc-Workflow-RunId': 'run-1' };
    const json = await send(service, 'trigger', `${sink.url}/w`, headers, 'raw payload');
    expect(json).toEqual({ workflowRunId: 'run-1', workflowCreatedAt: START });
    await service.emulator.idle();
    expect(sink.requests).toMatchObject([
      {
        method: 'POST',
        url: '/w',
        body: Buffer.from('raw payload'),
        headers: { 'content-type': 'text/plain', 'my-header': 'mine', 'svc-workflow-runid': 'run-1' },
      },
    ]);
  });

  test('waits for a delay; a not-before takes precedence', async () => {
    const service = await world();
    const notBefore = START / 1_000 + 60;
    await send(service, 'trigger', 'http://a.example/1', { 'Svc-Delay': '1h30m' });
    await send(service, 'trigger', 'http://a.example/2', { 'Svc-Delay': '1h', 'Svc-Not-Before': String(notBefore) });
    expect(await created(service, 'http://a.example/1')).toMatchObject({ nextDeliveryTime: START + 90 * MINUTE });
    expect(await created(service, 'http://a.example/2')).toMatchObject({ nextDeliveryTime: notBefore * 1_000 });
  });

  test('retries as configured, and fails with its labels in logs and DLQ', async () => {
    const sink = await broken();
    const service = await world();
    const headers = { 'Svc-Retries': '2', 'Svc-Retry-Delay': '1000 * pow(3, retried)', 'Svc-Label': 'a, b' };
    await send(service, 'trigger', sink.url, headers);
    await service.drain();
    const active = await allLogs(service, 'label=b&state=ACTIVE');
    expect(active.toReversed().map(({ time }) => time - START)).toEqual([0, 1_000, 4_000]);
    const { json } = await service.call('GET', '/v2/workflows/dlq?label=a');
    expect(json).toMatchObject({ messages: [{ labels: ['a', 'b'], maxRetries: 2 }] });
  });

  test('runs of a key are limited to its parallelism', async () => {
    const held: (() => void)[] = [];
    const { sink, service } = await worldWithSink((_request, response) => void held.push(() => response.end()));
    const headers = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'parallelism=1' };
    for (let count = 0; count < 3; count++) await send(service, 'trigger', sink.url, headers);
    for (let count = 1; count <= 3; count++) {
      await expect.poll(() => held.length).toBe(count);
      const { json } = await service.call('GET', '/v2/flowControl/k');
      expect(json).toMatchObject({ parallelismMax: 1, parallelismCount: 1, waitListSize: 3 - count });
      held.at(-1)!();
    }
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(3);
  });

  test('a run that fails permanently is reported to its failure callback, as a message with the same retries', async () => {
    const sink = await broken();
    const receiver = await broken();
    const service = await world();
    await send(service, 'trigger', sink.url, {
      'Svc-Retries': '1',
      'Svc-Retry-Delay': '1000',
      'Svc-Failure-Callback': receiver.url,
      'Svc-Failure-Callback-Forward-My-Header': 'mine',
    });
    await service.drain();
    expect(receiver.requests).toHaveLength(2);
    expect(receiver.requests[0]!.headers).toMatchObject({ 'my-header': 'mine' });
    expect(JSON.parse(receiver.requests[0]!.body.toString())).toMatchObject({ status: 500, retried: 1, maxRetries: 1 });
    expect(service.facts.filter((fact) => fact.kind === 'attempt')).toHaveLength(4);
  });

  test('a canceled failure callback is reported as canceled', async () => {
    const sink = await broken();
    const receiver = await broken();
    const service = await world();
    const headers = { 'Svc-Retries': '1', 'Svc-Retry-Delay': '60000', 'Svc-Failure-Callback': receiver.url };
    await send(service, 'trigger', sink.url, headers);
    await service.drain(MINUTE);
    const notice = service.emulator.messages(ACCOUNT).find((message) => message.url === receiver.url)!;
    expect(service.emulator.cancelMessage(ACCOUNT, notice.id)).toBe(true);
    const query = 'failureFunctionState=CALLBACK_CANCELED';
    const { json } = await service.call<{ messages: Json[] }>('GET', `/v2/workflows/dlq?${query}`);
    expect(json.messages).toMatchObject([{ failureFunctionState: 'CALLBACK_CANCELED' }]);
  });
});

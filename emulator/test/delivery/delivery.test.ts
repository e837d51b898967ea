/** Outcomes of a message by the destination's behavior, as seen by the destination, the log and the records. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { httpSink } from '../../../test/support/http-sink.ts';
import { ACCOUNT, allLogs, START, statesOf, world, type World, worldWithSink } from '../world.ts';

async function publish(service: World, destination: string, headers: Record<string, string> = {}, body = 'hello') {
  const answer = await service.call<{ messageId: string }>('POST', `/v2/publish/${destination}`, { headers, body });
  expect(answer.status).toBe(200);
  return answer.json.messageId;
}

function outcomes(service: World): readonly string[] {
  return service.facts.filter((fact) => fact.kind === 'attempt').map((fact) => fact.outcome);
}

describe('a delivery', () => {
  test('carries method, body, content type, forwarded headers, id and retry count; the URL is unchanged', async () => {
    const sink = await httpSink();
    const port = Number(new URL(sink.url).port);
    const service = await world({ hosts: { 'App.Example.com': port } });
    const id = await publish(
      service,
      'https://app.example.com/a//b;c/%2e%2E/d?x=1&y=%20&next=http://z/?q',
      {
        'Svc-Method': 'PUT',
        'Content-Type': 'application/xml',
        'Svc-Forward-My-Header': 'mine',
        'Svc-Forward-Authorization': 'Bearer theirs',
        'X-Not-Forwarded': 'x',
      },
      '<a/>',
    );
    await service.emulator.idle();
    expect(sink.requests).toHaveLength(1);
    const { method, url, headers, body } = sink.requests[0]!;
    expect({ method, url, body: body.toString() }).toEqual({
      method: 'PUT',
      url: '/a//b;c/%2e%2E/d?x=1&y=%20&next=http://z/?q',
      body: '<a/>',
    });
    expect(headers).toMatchObject({
      host: 'app.example.com',
      'content-type': 'application/xml',
      'my-header': 'mine',
      authorization: 'Bearer theirs',
      'svc-message-id': id,
      'svc-retried': '0',
    });
    expect(Object.keys(headers)).not.toContain('x-not-forwarded');
    expect(await statesOf(service, id)).toEqual(['CREATED', 'ACTIVE', 'DELIVERED']);
  });

  test('bytes that are not text arrive unchanged', async () => {
    const { sink, service } = await worldWithSink();
    const bytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
    expect((await service.call('POST', `/v2/publish/${sink.url}/`, { body: bytes })).status).toBe(200);
    await service.emulator.idle();
    expect(sink.requests[0]!.body.equals(bytes)).toBe(true);
  });

  test('is retried after the default backoff, as often as the plan allows, then fails permanently', async () => {
    const sink = await httpSink((_request, response) => void response.writeHead(503).end('try later'));
    const service = await world({ accounts: [{ id: ACCOUNT, token: 'token-1', plan: 'free' }] });
    const id = await publish(service, `${sink.url}/down`);
    await service.drain();
    expect(sink.requests.map((request) => request.headers['svc-retried'])).toEqual(['0', '1', '2', '3']);
    const errors = await allLogs(service, `messageId=${id}&state=ERROR`);
    const waits = errors.toReversed().map((entry) => (entry.nextDeliveryTime ?? Number.NaN) - entry.time);
    expect(waits).toEqual([12_182, 148_413, 1_808_042, Number.NaN]);
    expect(errors[0]).toMatchObject({ responseStatus: 503, responseBody: 'try later' });
    expect(await statesOf(service, id)).toEqual([
      'CREATED',
      ...Array.from({ length: 3 }, () => ['ACTIVE', 'ERROR', 'RETRY']).flat(),
      'ACTIVE',
      'ERROR',
      'FAILED',
    ]);
    expect(service.emulator.messages(ACCOUNT)).toMatchObject([{ id, state: 'FAILED', attempts: 4, lastStatus: 503 }]);
    expect(outcomes(service)).toEqual(['retry', 'retry', 'retry', 'failed']);
  });

  test('an expression and a Retry-After set the delay', async () => {
    const sink = await httpSink((request, response) => {
      const headers = request.headers['svc-retried'] === '1' ? { 'Retry-After': '90' } : {};
      response.writeHead(500, headers).end();
    });
    const service = await world();
    const id = await publish(service, sink.url, { 'Svc-Retries': '2', 'Svc-Retry-Delay': 'max(5000, 1000 * retried)' });
    await service.drain();
    const errors = await allLogs(service, `messageId=${id}&state=ERROR`);
    expect(errors.toReversed().map((entry) => (entry.nextDeliveryTime ?? entry.time) - entry.time)).toEqual([
      5_000, 90_000, 0,
    ]);
  });

  test.each([
    ['489 and the header', { 'Svc-NonRetryable-Error': 'true' }, 489, 1],
    ['489 alone', {}, 489, 3],
    ['the header alone', { 'Svc-NonRetryable-Error': 'true' }, 500, 3],
  ])('%s: %o', async (_what, headers, status, attempts) => {
    const sink = await httpSink((_request, response) => void response.writeHead(status, headers).end());
    const service = await world();
    await publish(service, sink.url, { 'Svc-Retries': '2', 'Svc-Retry-Delay': '1000' });
    await service.drain();
    expect(sink.requests).toHaveLength(attempts);
    expect(service.emulator.messages(ACCOUNT)[0]).toMatchObject({ state: 'FAILED', attempts });
  });

  test('a redirect is not followed and is a failure', async () => {
    const sink = await httpSink((_request, response) => void response.writeHead(302, { Location: '/else' }).end());
    const service = await world();
    await publish(service, `${sink.url}/here`, { 'Svc-Retries': '0' });
    await service.drain();
    expect(sink.requests.map((request) => request.url)).toEqual(['/here']);
    expect(service.emulator.messages(ACCOUNT)[0]).toMatchObject({ state: 'FAILED', lastStatus: 302 });
  });

  test("a hanging destination is abandoned after the timeout, on the service's clock", async () => {
    const { sink, service } = await worldWithSink(() => undefined);
    const id = await publish(service, sink.url, { 'Svc-Timeout': '1m30s', 'Svc-Retries': '0' });
    await expect.poll(() => sink.requests.length).toBe(1);
    await service.clock.advance(89_999);
    expect(service.emulator.messages(ACCOUNT)[0]!.state).toBe('ACTIVE');
    await service.clock.advance(1);
    await service.emulator.idle();
    const [failed, error] = await allLogs(service, `messageId=${id}`);
    expect(failed).toMatchObject({ state: 'FAILED', timeout: 90 });
    expect(error).toMatchObject({ state: 'ERROR', error: 'timeout: no answer within 90000 ms', time: START + 90_000 });
    expect(error).not.toHaveProperty('responseStatus');
  });

  test('a status of 2xx counts even if the rest of the response never arrives', async () => {
    const sink = await httpSink((request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('some');
      if (request.url === '/reset') setImmediate(() => response.destroy());
    });
    const service = await world();
    const reset = await publish(service, `${sink.url}/reset`);
    await service.emulator.idle();
    const headReceived = nextAnswerHead();
    const hanging = await publish(service, `${sink.url}/hang`, { 'Svc-Timeout': '10s' });
    await headReceived;
    await service.clock.advance(10_000);
    await service.drain();
    expect(await statesOf(service, reset)).toEqual(['CREATED', 'ACTIVE', 'DELIVERED']);
    expect((await statesOf(service, hanging)).at(-1)).toBe('DELIVERED');
  });

  test('only the first 64 kB of an endless response are read and kept', async () => {
    const sink = await httpSink((_request, response) => void response.writeHead(400).write('x'.repeat(300_000)));
    const service = await world();
    const id = await publish(service, sink.url, { 'Svc-Retries': '0' });
    await service.drain();
    const [entry] = await allLogs(service, `messageId=${id}&state=ERROR`);
    expect((entry as { responseBody?: string }).responseBody).toHaveLength(65_536);
  });

  test.each([
    ['nobody listens', async () => `http://127.0.0.1:${await deadPort()}/`, /ECONNREFUSED/],
    ['the name is unknown', async () => 'http://nowhere.invalid/', /ENOTFOUND|EAI_AGAIN/],
    ['the connection is reset', () => rawServer(undefined), /socket|ECONNRESET/i],
    ['the answer is not HTTP', () => rawServer('hello\r\n\r\n'), /does not match the HTTP/],
    ['TLS is not supported', async () => (await rawServer('hello\r\n\r\n')).replace('http:', 'https:'), /ssl|tls/i],
  ])('%s: the error names the cause', async (_what, destination, error) => {
    const service = await world();
    const id = await publish(service, await destination(), { 'Svc-Retries': '0' });
    await service.emulator.idle();
    expect(service.emulator.messages(ACCOUNT)).toMatchObject([{ id, state: 'FAILED' }]);
    const [entry] = await allLogs(service, `messageId=${id}&state=ERROR`);
    expect(entry!.error).toMatch(error);
    expect(entry).not.toHaveProperty('responseStatus');
  });

  test('waits for a delay; a not-before takes precedence, and CREATED has the due time', async () => {
    const { sink, service } = await worldWithSink();
    const delayed = await publish(service, `${sink.url}/delayed`, { 'Svc-Delay': '1d1h30m' });
    const headers = { 'Svc-Delay': '1h', 'Svc-Not-Before': String(START / 1_000 + 60) };
    const notBefore = await publish(service, `${sink.url}/not-before`, headers);
    const [created] = await allLogs(service, `messageId=${delayed}`);
    expect(created).toMatchObject({ state: 'CREATED', time: START, nextDeliveryTime: START + 91_800_000 });
    await service.drain();
    const active = await allLogs(service, 'state=ACTIVE');
    expect(active.map(({ messageId, time }) => [messageId, time - START])).toEqual([
      [delayed, 91_800_000],
      [notBefore, 60_000],
    ]);
  });

  test('a stop aborts deliveries, and nothing more is sent', async () => {
    const { sink, service } = await worldWithSink(() => undefined);
    await publish(service, sink.url);
    await publish(service, sink.url, { 'Svc-Delay': '1m' });
    const flow = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': 'rate=1, period=1m' };
    for (let count = 0; count < 2; count++) await publish(service, sink.url, flow);
    await expect.poll(() => sink.requests.length).toBe(2);
    await Promise.all([service.emulator.stop(), service.emulator.stop()]);
    expect(service.clock.timers).toBe(0);
    await service.clock.advance(120_000);
    expect(sink.requests).toHaveLength(2);
  });
});

test('a host is reached at its present port, however many connections to its old port are open', async () => {
  const sink = await httpSink();
  const service = await world({ hosts: { 'app.example': Number(new URL(sink.url).port) } });
  await publish(service, 'http://app.example/a');
  await service.emulator.idle();
  await service.emulator.destinations.script('app.example', [200]);
  await publish(service, 'http://app.example/b');
  await service.emulator.idle();
  expect(sink.requests.map((request) => request.url)).toEqual(['/a']);
  expect(service.emulator.destinations.requests('app.example')).toMatchObject([{ path: '/b', at: START }]);
});

describe('cancelling', () => {
  test('a waiting message ends at once and is never sent', async () => {
    const { sink, service } = await worldWithSink();
    const id = await publish(service, sink.url, { 'Svc-Delay': '1m' });
    expect(service.emulator.cancelMessage(ACCOUNT, id)).toBe(true);
    expect(service.emulator.cancelMessage(ACCOUNT, id)).toBe(false);
    await service.drain();
    expect(sink.requests).toHaveLength(0);
    expect(await statesOf(service, id)).toEqual(['CREATED', 'CANCEL_REQUESTED', 'CANCELLED']);
    expect(service.facts.at(-1)).toMatchObject({ kind: 'canceled', workflow: false });
  });

  test('a message in delivery ends after the attempt, as delivered if that succeeds', async () => {
    const answers: ((status: number) => void)[] = [];
    const sink = await httpSink(
      (_request, response) => void answers.push((status) => response.writeHead(status).end()),
    );
    const service = await world({ switches: { canceledSpelling: 'CANCELED' } });
    const ids = [await publish(service, sink.url), await publish(service, sink.url)];
    await expect.poll(() => answers.length).toBe(2);
    const order = sink.requests.map((request) => String(request.headers['svc-message-id']));
    for (const id of ids) expect(service.emulator.cancelMessage(ACCOUNT, id)).toBe(true);
    answers[0]!(200);
    answers[1]!(500);
    await service.drain();
    expect(await statesOf(service, order[0]!)).toEqual(['CREATED', 'ACTIVE', 'CANCEL_REQUESTED', 'DELIVERED']);
    expect(await statesOf(service, order[1]!)).toEqual(['CREATED', 'ACTIVE', 'CANCEL_REQUESTED', 'ERROR', 'CANCELED']);
    expect(await allLogs(service, 'state=CANCELLED')).toHaveLength(1);
    // A canceled message has not failed: statistics count it once.
    expect(outcomes(service).toSorted()).toEqual(['delivered', 'retry']);
  });
});

/** Resolves when undici, which delivers, has read the head of a response. */
function nextAnswerHead(): Promise<void> {
  return new Promise((resolve) => {
    const channel = 'undici:request:headers';
    const seen = (): void => {
      unsubscribe(channel, seen);
      // Other subscribers of this turn receive the head first.
      setImmediate(resolve);
    };
    subscribe(channel, seen);
  });
}

async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a server that sends `text` to each connection, or resets it if there is none. */
async function rawServer(text: string | undefined): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (text === undefined) socket.once('data', () => socket.resetAndDestroy());
    else socket.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

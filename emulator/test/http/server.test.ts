/** The server on the wire: credentials, bad requests, failures. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AccountBook } from '#emulator/state/account-book.ts';
import { ApiError } from '#emulator/state/api-error.ts';
import type { ReceivedRequest, Route } from '#emulator/http/route.ts';
import { createRouter } from '#emulator/http/router.ts';
import { startServer } from '#emulator/http/server.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { ACCOUNT, MANAGER, READ_ONLY_TOKEN, START, TOKEN, world } from '../world.ts';

describe('credentials', () => {
  test.each([
    ['none', {}, 'GET', '/v2/logs', 401],
    ['a wrong token', { Authorization: 'Bearer nope' }, 'GET', '/v2/logs', 401],
    ['a scheme of the other API', MANAGER, 'GET', '/v2/logs', 401],
    ['the right token', { Authorization: `Bearer ${TOKEN}` }, 'GET', '/v2/logs', 200],
    ['the read-only token on a read', { Authorization: `Bearer ${READ_ONLY_TOKEN}` }, 'GET', '/v2/logs', 200],
    ['the read-only token on a write', { Authorization: `Bearer ${READ_ONLY_TOKEN}` }, 'DELETE', '/v2/dlq', 403],
    ['a token at the management API', { Authorization: `Bearer ${TOKEN}` }, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`, 401],
    ['a wrong password', { Authorization: `Basic ${btoa('ops@example.com:no')}` }, 'GET', '/v2/msgsvc/stats/x', 401],
    ['username and password', MANAGER, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`, 200],
  ])('%s', async (_what, headers, method, path, status) => {
    const service = await world();
    const answer = await fetch(service.emulator.url + path, { method, headers });
    expect(answer.status).toBe(status);
    if (status !== 200) expect(await answer.json()).toEqual({ error: expect.stringMatching(/\w+ \w+/) });
    expect(answer.headers.get('www-authenticate') !== null).toBe(status === 401);
  });

  test('a rotated token stops at once, and the new one works', async () => {
    const service = await world();
    const read = async (token: string): Promise<number> =>
      (await service.call('GET', '/v2/logs', { headers: { Authorization: `Bearer ${token}` } })).status;
    expect(await Promise.all([TOKEN, READ_ONLY_TOKEN].map(read))).toEqual([200, 200]);
    const { json } = await service.call<{ token: string; read_only_token: string }>(
      'POST',
      `/v2/msgsvc/rotate-token/${ACCOUNT}`,
      { headers: MANAGER },
    );
    const statuses = await Promise.all([TOKEN, READ_ONLY_TOKEN, json.token, json.read_only_token].map(read));
    expect(statuses).toEqual([401, 401, 200, 200]);
  });

  test('accounts do not see each other', async () => {
    const sink = await httpSink();
    const service = await world({
      accounts: [
        { id: ACCOUNT, token: TOKEN },
        { id: 'acc-2', token: 'token-2' },
      ],
    });
    await service.call('POST', `/v2/publish/${sink.url}/`);
    await service.emulator.idle();
    const other = await service.call('GET', '/v2/logs', { headers: { Authorization: 'Bearer token-2' } });
    expect(other.json).toEqual({ logs: [] });
    expect(service.emulator.messages('acc-2')).toEqual([]);
  });

  test.each([
    [
      'an id twice',
      [
        { id: 'a', token: 'x' },
        { id: 'a', token: 'y' },
      ],
      /given twice/,
    ],
    [
      'a token twice',
      [
        { id: 'a', token: 'x' },
        { id: 'b', token: 'x' },
      ],
      /is in use/,
    ],
    ['an empty token', [{ id: 'a', token: '' }], /empty token/],
  ])('accounts with %s are rejected', (_what, seeds, error) => {
    expect(() => new AccountBook(seeds, seededRandom(1))).toThrow(error);
  });
});

describe('requests', () => {
  test.each([
    ['GET', '/v2/nothing', 404],
    ['GET', '/', 404],
    ['PATCH', '/v2/logs', 405],
    ['GET', '/v2/publish/http://a.example/', 405],
    ['GET', '/v2/flowControl/%zz', 400],
    ['GET', '/v2/flowControl/', 404],
  ])('%s %s answers %d', async (method, path, status) => {
    const service = await world();
    const answer = await service.call(method, path);
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({ error: expect.any(String) });
    if (status === 405) expect(answer.headers.allow).toMatch(/GET|POST/);
  });

  test("the Date is the time of the service's clock", async () => {
    const service = await world();
    await service.clock.advance(86_400_000);
    expect((await service.call('GET', '/v2/topics')).headers.date).toBe(new Date(START + 86_400_000).toUTCString());
  });

  test.each([true, false])('a body that is too large is rejected (length announced: %s)', async (announced) => {
    const service = await world({ maxBodyBytes: 1_000 });
    const body = announced ? 'x'.repeat(1_001) : new Blob(['x'.repeat(200_000)]).stream();
    const answer = await fetch(`${service.emulator.url}/v2/publish/http://a.example/`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}` },
      body,
      duplex: 'half',
    });
    expect(answer.status).toBe(413);
    expect(await answer.json()).toEqual({ error: expect.stringContaining('1000 bytes') });
    expect((await service.call('GET', '/v2/topics')).status).toBe(200);
  });

  test('input that is not HTTP gets a JSON error, and the connection is closed', async () => {
    const service = await world();
    const socket = connect(Number(new URL(service.emulator.url).port), '127.0.0.1');
    socket.end('NONSENSE\r\n\r\n');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(socket, 'close');
    const text = Buffer.concat(chunks).toString();
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toEqual({ error: expect.any(String) });
  });

  test('valid requests before bad bytes get their responses first, in order', async () => {
    const service = await world();
    const socket = connect(Number(new URL(service.emulator.url).port), '127.0.0.1');
    const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
    socket.write(`GET /v2/topics ${head}GET /v2/flowControl/none ${head}NONSENSE\r\n\r\n`);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(socket, 'close');
    const statuses = Buffer.concat(chunks)
      .toString()
      .matchAll(/HTTP\/1\.1 (\d+)/g);
    expect([...statuses].map((match) => match[1])).toEqual(['200', '404', '400']);
  });

  test.each([
    ['CONNECT', 'CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['no host', 'GET /v2/topics HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['another version', 'GET /v2/topics HTTP/2.0\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['an expectation', 'GET / HTTP/1.1\r\nHost: x\r\nExpect: x\r\nConnection: close\r\n\r\n', 417],
    ['a query that cannot be decoded', 'GET /v2/logs?url=%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
  ])('%s is rejected in JSON', async (_what, bytes, status) => {
    const service = await world();
    const socket = connect(Number(new URL(service.emulator.url).port), '127.0.0.1');
    socket.write(bytes);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(socket, 'close');
    const [head, body] = Buffer.concat(chunks).toString().split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(JSON.parse(body!)).toEqual({ error: expect.stringMatching(/.{10}/) });
  });

  test('a client that disconnects within its body does no harm', async () => {
    const service = await world();
    const socket = connect(Number(new URL(service.emulator.url).port), '127.0.0.1');
    const head = `POST /v2/publish/http://a.example/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 10\r\n\r\nabc`;
    await new Promise<void>((resolve) => socket.write(head, () => resolve()));
    socket.destroy();
    expect((await service.call('GET', '/v2/logs')).json).toEqual({ logs: [] });
  });

  test('a handler that throws results in a JSON 500, is reported, and the server stays up', async () => {
    const thrown: unknown[] = [];
    const handle = (request: ReceivedRequest) => {
      if (request.query.get('how') === 'refuse') throw new ApiError(412, 'not now', { 'Retry-After': '7' });
      throw new Error('a secret reason');
    };
    const route: Route = { api: 'message', operation: 'x', method: 'GET', pattern: '/x', handle };
    const accounts = new AccountBook([{ id: ACCOUNT, token: TOKEN }], seededRandom(1));
    const server = await startServer({
      clock: new ManualClock(START),
      listen: { host: '127.0.0.1', port: 0 },
      management: { username: 'u', password: 'p' },
      service: () => ({ accounts, match: createRouter([route]) }),
      maxBodyBytes: 10,
      onError: (error) => void thrown.push(error),
    });
    onTestFinished(() => server.close());
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const failed = await fetch(`${server.url}/x`, { headers });
    expect([failed.status, await failed.json()]).toEqual([500, { error: expect.not.stringContaining('secret') }]);
    expect(thrown).toMatchObject([{ message: 'a secret reason' }]);
    const refused = await fetch(`${server.url}/x?how=refuse`, { headers });
    expect([refused.status, await refused.json()]).toEqual([412, { error: 'not now' }]);
    expect(refused.headers.get('retry-after')).toBe('7');
  });

  test('an address in use is an error at the start', async () => {
    const service = await world();
    const port = Number(new URL(service.emulator.url).port);
    await expect(world({ listen: { host: '127.0.0.1', port } })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

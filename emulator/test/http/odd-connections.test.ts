/**
 * Connections in every unusual state: other clients are still served, a timeout ends the connections, and no stop waits
 * for one.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AccountBook } from '#emulator/state/account-book.ts';
import type { Route } from '#emulator/http/route.ts';
import { createRouter } from '#emulator/http/router.ts';
import { startServer, type RunningServer } from '#emulator/http/server.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { until } from '../../../test/support/until.ts';
import { TOKEN, world } from '../world.ts';

const AUTHORIZED = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const GET = `GET /v2/topics HTTP/1.1\r\n${AUTHORIZED}\r\n`;
const POST = `POST /v2/publish/http://127.0.0.1:1/ HTTP/1.1\r\n${AUTHORIZED}Svc-Delay: 1d\r\n`;
/** First bytes of a ClientHello, as from a client that speaks TLS to a plain port. */
const CLIENT_HELLO = Buffer.from('1603010200010001fc0303', 'hex').toString('latin1') + '\u0000'.repeat(400);

interface Odd {
  readonly name: string;
  readonly bytes: string;
  /** Statuses of the final responses. */
  readonly statuses: readonly number[];
}

const ODD: readonly Odd[] = [
  { name: 'nothing was ever sent', bytes: '', statuses: [408] },
  { name: 'CONNECT', bytes: 'CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n', statuses: [405] },
  {
    name: 'an upgrade was asked for',
    bytes: `GET /v2/topics HTTP/1.1\r\n${AUTHORIZED}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    statuses: [200],
  },
  { name: 'half a request line', bytes: 'GET /v2/to', statuses: [408] },
  { name: 'half of the headers', bytes: 'GET /v2/topics HTTP/1.1\r\nHost: x\r\nAuthor', statuses: [408] },
  { name: 'half of the body', bytes: `${POST}Content-Length: 10\r\n\r\nhalf`, statuses: [408] },
  { name: 'half a chunk', bytes: `${POST}Transfer-Encoding: chunked\r\n\r\nff\r\nhalf`, statuses: [408] },
  { name: 'a body that is announced', bytes: `${POST}Content-Length: 10\r\n\r\n`, statuses: [408] },
  {
    name: 'a body that waits to be asked for, and does not come',
    bytes: `${POST}Expect: 100-continue\r\nContent-Length: 10\r\n\r\n`,
    statuses: [100, 408],
  },
  { name: 'good requests and then half of one', bytes: `${GET}${GET}${GET}GET`, statuses: [200, 200, 200, 408] },
  { name: 'TLS', bytes: CLIENT_HELLO, statuses: [400] },
  { name: 'good requests and then nonsense', bytes: `${GET}${GET}NONSENSE\r\n\r\n`, statuses: [200, 200, 400] },
  { name: 'a refused body that goes on', bytes: `POST /x HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf`, statuses: [400] },
];

/** A client that never closes its side. */
async function hold(url: string, bytes: string): Promise<Socket> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  if (bytes !== '') await new Promise((resolve) => socket.write(bytes, 'latin1', resolve));
  return socket;
}

/** Rejects when a promise does not resolve. The limit is on hanging, not on time. */
async function soon<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than a minute`)), 60_000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

describe.each([true, false])('held by a client that reads: %s', (reads) => {
  test.each(ODD)('$name', async ({ bytes }) => {
    const service = await world();
    const held = await Promise.all([1, 2, 3].map(() => hold(service.emulator.url, bytes)));
    if (reads) for (const socket of held) socket.resume();
    const others = Array.from({ length: 5 }, () => service.call('GET', '/v2/topics'));
    expect((await soon('an answer to others', Promise.all(others))).map(({ status }) => status)).toEqual(
      Array(5).fill(200),
    );
    await soon('the stop', service.emulator.stop());
  });
});

test('unread responses delay neither other clients nor the stop', async () => {
  const service = await world();
  await service.call('POST', '/v2/publish/http://127.0.0.1:1/', {
    headers: { 'Svc-Delay': '1d' },
    body: 'x'.repeat(1_000_000),
  });
  await hold(service.emulator.url, `GET /v2/logs HTTP/1.1\r\n${AUTHORIZED}\r\n`.repeat(40));
  expect((await soon('an answer to others', service.call('GET', '/v2/topics'))).status).toBe(200);
  await soon('the stop', service.emulator.stop());
});

test('a client that requests a tunnel and disconnects does no harm', async () => {
  const service = await world();
  for (let count = 0; count < 20; count++) {
    const socket = await hold(service.emulator.url, 'CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    if (count % 2 === 0) await once(socket, 'readable');
    socket.resetAndDestroy();
  }
  expect((await service.call('GET', '/v2/topics')).status).toBe(200);
});

const TIMEOUTS = { headersMs: 300, requestMs: 600, answerMs: 900, idleMs: 300, lingerMs: 300, checkMs: 25 };

async function impatient(timeouts = TIMEOUTS): Promise<RunningServer> {
  const route = (pattern: string, json: unknown): Route => ({
    api: 'message',
    operation: 'x',
    method: 'GET',
    pattern,
    handle: () => ({ status: 200, json }),
  });
  const publish: Route = { ...route('/v2/publish/*destination', {}), method: 'POST' };
  const routes = [route('/v2/topics', []), route('/large', 'x'.repeat(40_000_000)), publish];
  const accounts = new AccountBook([{ id: 'a', token: TOKEN }], seededRandom(1));
  const server = await startServer({
    clock: systemClock,
    timeouts,
    listen: { host: '127.0.0.1', port: 0 },
    management: { username: 'u', password: 'p' },
    service: () => ({ accounts, match: createRouter(routes) }),
    maxBodyBytes: 1_000,
    onError: (error) => expect.unreachable(String(error)),
  });
  onTestFinished(() => server.close());
  return server;
}

/** Checks that the service has closed the connection: the system resets it when more is sent. */
function gone(socket: Socket): Promise<boolean> {
  return until({ what: 'the end of the connection' }, () => {
    if (socket.errored !== null) return true;
    // Line ends between requests are not a request.
    socket.write('\r\n');
    return false;
  });
}

describe('time ends', () => {
  test.each(ODD)('$name', async ({ bytes, statuses }) => {
    const server = await impatient();
    const socket = await hold(server.url, bytes);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await soon('the last answer', once(socket, 'end'));
    const told = Buffer.concat(chunks)
      .toString()
      .matchAll(/HTTP\/1\.1 (\d+)/g);
    expect([...told].map((match) => Number(match[1]))).toEqual(statuses);
    expect(await gone(socket)).toBe(true);
  });

  test('an answer that nobody takes', async () => {
    const server = await impatient();
    const socket = await hold(server.url, `GET /large HTTP/1.1\r\n${AUTHORIZED}\r\n`);
    expect(await gone(socket)).toBe(true);
  });

  test('no answer that is taken in time', async () => {
    const server = await impatient({ ...TIMEOUTS, answerMs: 5_000 });
    const socket = await hold(server.url, `GET /large HTTP/1.1\r\n${AUTHORIZED}Connection: close\r\n\r\n`);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await soon('the answer', once(socket, 'end'));
    expect(bytes).toBeGreaterThan(40_000_000);
  });
});

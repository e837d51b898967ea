/** Large bodies over real sockets, to correct and to faulty scrapers. */
import { createServer, get, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { byteLength, SharedBodies } from '#operate/http/shared-body.ts';
import { until } from '../../support/until.ts';
import { ask, NOW, scrapeBody, serving, world } from './world.ts';

const MEGABYTE = 1_048_576;
/** More megabytes than any socket takes without a reader. */
const LARGE = 48;

/** Builds a body of equal blocks, each call another one. */
function large(megabytes = LARGE): readonly Uint8Array[] {
  return Array.from({ length: megabytes }, () => PIECE);
}
const PIECE = Buffer.alloc(MEGABYTE, 'metric{label="value"} 1\n');

interface Answering {
  readonly port: number;
  readonly clock: ManualClock;
  readonly responses: ServerResponse[];
  readonly ended: () => number;
}

/** Starts a server that responds with the given bodies in order, and then repeats the last. */
async function answering(bodies: readonly (readonly Uint8Array[])[], maxBytes = Infinity): Promise<Answering> {
  const clock = new ManualClock(NOW);
  const shared = new SharedBodies(clock, maxBytes);
  const responses: ServerResponse[] = [];
  let ended = 0;
  const server = createServer((_request, response) => {
    const parts = bodies[Math.min(responses.length, bodies.length - 1)]!;
    responses.push(response);
    response.on('error', () => undefined);
    response.writeHead(200, { 'Content-Length': byteLength(parts) });
    void shared.write(response, parts).then(() => (ended += 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => close(server));
  return { port: (server.address() as AddressInfo).port, clock, responses, ended: () => ended };
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Sends a request and reads nothing. */
function stalled(port: number): Socket & { gone: boolean } {
  const socket = Object.assign(connect(port, '127.0.0.1'), { gone: false });
  socket.on('error', () => undefined);
  socket.on('close', () => (socket.gone = true));
  socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
  socket.pause();
  onTestFinished(() => void socket.destroy());
  return socket;
}

function bytesOf(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/metrics', agent: false }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => (bytes += chunk.length));
      response.once('end', () => resolve(bytes));
      response.once('error', reject);
    }).once('error', reject);
  });
}

describe('a large body', () => {
  test('arrives whole at ten concurrent clients', async () => {
    const { port, ended } = await answering([large(8)]);
    const all = await Promise.all(Array.from({ length: 10 }, () => bytesOf(port)));
    expect(all).toEqual(Array.from({ length: 10 }, () => 8 * MEGABYTE));
    await until({ what: 'all answers have ended' }, () => ended() === 10);
  });

  test('waits for a slow reader, without being copied into memory, and is aborted after a minute', async () => {
    const { port, clock, responses, ended } = await answering([large()]);
    const socket = stalled(port);
    await until({ what: 'the sockets are full' }, () => responses[0]?.writableNeedDrain === true);
    expect(responses[0]!.writableLength).toBeLessThan(2 * MEGABYTE);
    // Other clients are served in the meantime.
    expect(await bytesOf(port)).toBe(LARGE * MEGABYTE);
    await clock.advance(59_999);
    expect([ended(), responses[0]!.destroyed]).toEqual([1, false]);
    await clock.advance(1);
    await until({ what: 'the answer is given up' }, () => ended() === 2);
    expect(responses[0]!.destroyed).toBe(true);
    socket.resume();
    await until({ what: 'the connection is cut' }, () => socket.gone);
    expect(clock.timers).toBe(0);
  });

  test('is released at once by a client that disconnects', async () => {
    const { port, clock, responses, ended } = await answering([large()]);
    const sockets = Array.from({ length: 5 }, () => stalled(port));
    await until({ what: 'all wait' }, () => responses.filter((response) => response.writableNeedDrain).length === 5);
    for (const socket of sockets) socket.destroy();
    await until({ what: 'nothing is written any more' }, () => ended() === 5);
    expect(clock.timers).toBe(0);
    expect(await bytesOf(port)).toBe(LARGE * MEGABYTE);
  });

  test('an older one is cut for newer ones when both would use too much memory', async () => {
    const bodies = [large(), large(), large(), large()];
    const { port, responses } = await answering(bodies, 2 * LARGE * MEGABYTE);
    const sockets: Socket[] = [];
    for (let at = 0; at < 3; at++) {
      sockets.push(stalled(port));
      await until({ what: `answer ${at} waits` }, () => responses[at]?.writableNeedDrain === true);
    }
    await until({ what: 'the oldest is cut' }, () => responses[0]!.destroyed);
    expect(responses.map((response) => response.destroyed)).toEqual([true, false, false]);
    expect(await bytesOf(port)).toBe(LARGE * MEGABYTE);
    expect(responses.map((response) => response.destroyed).slice(0, 3)).toEqual([true, true, false]);
  });

  test('is kept alive by many at the price of one', async () => {
    const { port, responses } = await answering([large()], 2 * LARGE * MEGABYTE);
    for (let at = 0; at < 6; at++) stalled(port);
    await until({ what: 'all wait' }, () => responses.filter((response) => response.writableNeedDrain).length === 6);
    expect(await bytesOf(port)).toBe(LARGE * MEGABYTE);
    expect(responses.slice(0, 6).some((response) => response.destroyed)).toBe(false);
  });
});

describe('the server', () => {
  test('serves the requested format, whole or gzipped, to GET and HEAD', async () => {
    const asked: string[] = [];
    const metrics = (format: string) => {
      asked.push(format);
      return Promise.resolve(scrapeBody(...Array.from({ length: 200 }, (_, at) => `a{b="${at}"} ${format}\n`)));
    };
    const { address } = await serving(world({ metrics }));
    const openMetrics = await ask(address, '/metrics', { headers: { Accept: 'application/openmetrics-text' } });
    expect(openMetrics.text.split('\n')[0]).toBe('a{b="0"} openmetrics');
    expect(openMetrics.headers['content-length']).toBe(String(openMetrics.body.length));
    const head = await ask(address, '/metrics', { method: 'HEAD' });
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(2_000);
    const packed = await ask(address, '/metrics', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(packed.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-length': String(packed.body.length),
      vary: 'Accept, Accept-Encoding',
    });
    expect(asked).toEqual(['openmetrics', 'text', 'text']);
  });

  test('stops in time with scrapers that do not read', async () => {
    const body = { contentType: 'text/plain', parts: large(), gzip: () => Promise.resolve(large()) };
    let answered = 0;
    const deps = world({ metrics: () => Promise.resolve(body).finally(() => (answered += 1)) });
    const server = await serving(deps);
    const socket = stalled(Number(new URL(server.address).port));
    await until({ what: 'the scrape is under way' }, () => answered === 1);
    const stopped = server.close();
    await deps.clock.advance(2_000);
    await stopped;
    socket.resume();
    await until({ what: 'the connection is cut' }, () => socket.gone);
    expect(deps.log).toEqual([]);
  });
});

/** Idle connections must not block other clients, and busy ones must not block a probe. */
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startListener } from '#operate/http/http-listener.ts';
import { textReply } from '#operate/http/reply.ts';
import { until } from '../../support/until.ts';
import { ask, world } from './world.ts';

async function listening(busy: number, forProbes: number) {
  const { clock, logger } = world();
  const held = Promise.withResolvers<void>();
  let waiting = 0;
  const server = await startListener({
    clock,
    logger,
    listen: { host: '127.0.0.1', port: 0 },
    connections: { busy, forProbes },
    async answer({ path }) {
      if (path === '/slow') {
        waiting++;
        await held.promise;
      }
      return textReply(200, path);
    },
  });
  onTestFinished(async () => {
    held.resolve();
    const ended = server.close();
    await clock.advance(2_000);
    await ended;
  });
  return { ...server, release: held.resolve, waiting: () => waiting };
}

async function open(address: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(address).port) });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

test('the connection that has been idle longest yields to a new one', async () => {
  const { address } = await listening(2, 1);
  const sockets: Socket[] = [];
  for (let count = 0; count < 3; count++) sockets.push(await open(address));
  const first = new Promise((resolve) => sockets[0]!.once('close', resolve));
  expect((await ask(address, '/metrics')).status).toBe(200);
  await first;
  expect(sockets.slice(1).map(({ closed }) => closed)).toEqual([false, false]);
});

test('a thousand idle connections block no client', async () => {
  const { address } = await listening(8, 2);
  for (let count = 0; count < 1_000; count++) await open(address);
  expect((await ask(address, '/-/healthy')).status).toBe(200);
  expect((await ask(address, '/metrics')).status).toBe(200);
});

test('a connection that sent a part of a request is idle', async () => {
  const { address } = await listening(2, 1);
  for (let count = 0; count < 3; count++) (await open(address)).write('GET /metrics HTTP/1.1\r\nHost: ');
  expect((await ask(address, '/metrics')).status).toBe(200);
});

test('while all connections are busy only probes get responses, and afterwards every request', async () => {
  const { address, release, waiting } = await listening(2, 2);
  const slow = [ask(address, '/slow'), ask(address, '/slow')];
  await until({ what: 'both requests are under way' }, () => waiting() === 2);
  const refused = await ask(address, '/metrics');
  expect([refused.status, refused.headers['retry-after'], refused.headers.connection]).toEqual([503, '1', 'close']);
  expect((await ask(address, '/-/healthy')).status).toBe(200);
  expect((await ask(address, '/-/ready')).status).toBe(200);
  release();
  expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await ask(address, '/metrics')).status).toBe(200);
});

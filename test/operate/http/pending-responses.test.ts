/** Clients that request large responses and do not read them, over real sockets. */
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startListener, type ListenerRequest } from '#operate/http/http-listener.ts';
import { json, type Reply } from '#operate/http/reply.ts';
import { until } from '../../support/until.ts';
import { world } from './world.ts';

/** More than any socket takes without a reader. */
const LARGE = 16 * 1_048_576;

interface Serving {
  readonly port: number;
  /** Paths of the rendered and of the closed responses. */
  readonly rendered: string[];
  readonly closed: string[];
}

/** Starts a listener with large responses. */
async function serving(pendingBytes: number): Promise<Serving> {
  const { clock, logger } = world();
  const rendered: string[] = [];
  const closed: string[] = [];
  const answer = async ({ path, signal }: ListenerRequest): Promise<Reply> => {
    rendered.push(path);
    signal.addEventListener('abort', () => closed.push(path));
    return path === '/small' ? json(200, 'small') : { status: 200, contentType: 'text/plain', body: 'x'.repeat(LARGE) };
  };
  const server = await startListener({
    clock,
    logger,
    listen: { host: '127.0.0.1', port: 0 },
    pendingBytes,
    answer,
  });
  onTestFinished(async () => {
    const ended = server.close();
    await clock.advance(2_000);
    await ended;
  });
  return { port: Number(new URL(server.address).port), rendered, closed };
}

/** Sends requests for these paths. @returns a socket that reads nothing before `resume` */
function unread(port: number, ...paths: string[]): Socket & { bytes: number } {
  const socket = Object.assign(connect(port, '127.0.0.1'), { bytes: 0 });
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => (socket.bytes += chunk.length));
  socket.pause();
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe('clients that do not read', () => {
  test('have one response in memory, however many they request on a connection', async () => {
    const { port, rendered } = await serving(Infinity);
    const greedy = unread(port, '/1', '/2', '/3', '/4');
    await until({ what: 'the first is rendered' }, () => rendered.length > 0);
    unread(port, '/small');
    await until({ what: 'another client is served' }, () => rendered.includes('/small'));
    expect(rendered).toEqual(['/1', '/small']);
    greedy.resume();
    await until({ what: 'all responses are read' }, () => greedy.bytes > 4 * LARGE);
    expect(rendered).toEqual(['/1', '/small', '/2', '/3', '/4']);
  });

  test('are closed beyond the bound, the oldest first, while one that reads gets its response', async () => {
    const { port, rendered, closed } = await serving(3 * LARGE);
    for (let n = 1; n <= 5; n++) {
      unread(port, `/${n}`, `/${n}/again`);
      await until({ what: `${n} are rendered` }, () => rendered.length === n);
    }
    await until({ what: 'two are closed' }, () => closed.length === 2);
    const reader = unread(port, '/read');
    reader.resume();
    await until({ what: 'the reader has all' }, () => reader.bytes > LARGE);
    expect(closed.slice(0, 3)).toEqual(['/1', '/2', '/3']);
    expect(closed).not.toContain('/4');
    expect(rendered).toEqual(['/1', '/2', '/3', '/4', '/5', '/read']);
  });
});

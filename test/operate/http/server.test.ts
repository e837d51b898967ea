/** The server in its environment: addresses, bad clients, and shutdown. */
import { Agent, createServer } from 'node:http';
import { createServer as createNetServer, type AddressInfo } from 'node:net';
import { existsSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ListenError } from '#foundation/http/listen.ts';
import { startServer } from '#operate/server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { ask, closed, engine, plan, raw, scrapeBody, serving, world } from './world.ts';

async function message(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    expect(error).toBeInstanceOf(ListenError);
    return (error as Error).message;
  }
  throw new Error('did not reject');
}

describe('a TCP address', () => {
  test('with port 0 is the selected one', async () => {
    const { address } = await serving(world());
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    expect((await ask(address, '/-/healthy')).status).toBe(200);
  });

  test.each(['::', '0.0.0.0'])('of every interface (%s) is shown as one that works from this machine', async (host) => {
    const { address } = await serving(world(), { host, port: 0 });
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect((await ask(address, '/-/healthy')).status).toBe(200);
  });

  test('in use is named, with the remedy', async () => {
    const { address } = await serving(world());
    const port = Number(new URL(address).port);
    expect(await message(startServer(world(), { host: '127.0.0.1', port }))).toBe(
      `cannot listen on 127.0.0.1:${port}: another program uses it. Stop that program, or change the address in server.listen; port 0 selects any free port.`,
    );
  });

  test('that the machine lacks is named', async () => {
    expect(await message(startServer(world(), { host: '192.0.2.1', port: 0 }))).toMatch(
      /^cannot listen on 192\.0\.2\.1:0: this machine has no such address\./,
    );
  });
});

describe('a unix socket', () => {
  test('admits its owner alone, and is gone after the stop', async () => {
    const path = join(tempDir(), 'opsd.db.sock');
    const server = await serving(world(), { socketPath: path });
    expect(server.address).toBe(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect((await ask(path, '/-/healthy')).status).toBe(200);
    await server.close();
    expect(existsSync(path)).toBe(false);
  });

  test('of a dead process is replaced', async () => {
    const folder = tempDir();
    const path = join(folder, 's');
    // A socket whose file was moved survives its server's cleanup, as that of a killed process does.
    const dead = createNetServer();
    await new Promise<void>((resolve) => dead.listen(join(folder, 'first'), resolve));
    renameSync(join(folder, 'first'), path);
    await new Promise((resolve) => dead.close(resolve));
    expect(existsSync(path)).toBe(true);

    await serving(world(), { socketPath: path });
    expect((await ask(path, '/-/healthy')).status).toBe(200);
  });

  test('of a living one is not', async () => {
    const path = join(tempDir(), 's');
    await serving(world(), { socketPath: path });
    expect(await message(startServer(world(), { socketPath: path }))).toBe(
      `cannot listen on ${path}: another daemon listens there. Stop it, or set another path in storage.sqlite.path or OPSD_STORE.`,
    );
    expect((await ask(path, '/-/healthy')).status).toBe(200);
  });

  test('never replaces a file', async () => {
    const path = join(tempDir(), 's');
    writeFileSync(path, 'precious');
    expect(await message(startServer(world(), { socketPath: path }))).toContain(
      'the path is a file that is not a socket',
    );
    expect(statSync(path).size).toBe(8);
  });

  test('with too long a path is rejected before anything is created', async () => {
    const folder = join(tempDir(), 'x'.repeat(100));
    mkdirSync(folder);
    const path = join(folder, 's');
    expect(await message(startServer(world(), { socketPath: path }))).toBe(
      `cannot listen on ${path}: its path has ${path.length} bytes, but the maximum for a unix socket is 107. Choose a shorter storage.sqlite.path.`,
    );
  });

  test('in a missing folder reports it', async () => {
    const path = join(tempDir(), 'no', 's');
    expect(await message(startServer(world(), { socketPath: path }))).toContain('its folder does not exist');
  });
});

describe('clients', () => {
  const HOST = 'Host: 127.0.0.1\r\n';
  const garbage = '\x00\x01garbage\r\n\r\n';

  test.each([
    ['do not send HTTP', 'hello\r\n\r\n', /^HTTP\/1\.1 400 Bad Request\r\n[^]*not a valid HTTP\/1\.1 request\.\n$/],
    ['pipeline garbage after a request', `GET / HTTP/1.1\r\n${HOST}\r\n${garbage}`, /^HTTP\/1\.1 (200|400) /],
    ['have no Host header', 'GET / HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 /],
    [
      'have two',
      `GET / HTTP/1.1\r\n${HOST}${HOST}Connection: close\r\n\r\n`,
      /^HTTP\/1\.1 400 [^]*several Host headers/,
    ],
    [
      'send an unread body',
      `POST /metrics HTTP/1.1\r\n${HOST}Content-Length: 1000000\r\n\r\nabc`,
      /^HTTP\/1\.1 405 [^]*Connection: close/i,
    ],
  ])('that %s get one response and the end', async (_what, sent, response) => {
    const { address } = await serving(world());
    const socket = raw(address, sent);
    await closed(socket);
    expect(socket.received).toMatch(response);
    expect((await ask(address, '/-/healthy')).status).toBe(200);
  });

  test('that pipeline requests get all responses in order', async () => {
    const { address } = await serving(world());
    const two = `GET /-/healthy HTTP/1.1\r\n${HOST}\r\nGET /nothing HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`;
    const socket = raw(address, two);
    await closed(socket);
    expect(socket.received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
  });

  test('that pipeline more than a few requests without a response are cut, and no more of them begin', async () => {
    let begun = 0;
    const deps = world({ health: () => ({ healthy: ++begun > 0, detail: 'counted' }) });
    const { address } = await serving(deps);
    const asked = 'GET /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n';
    const modest = raw(address);
    for (const answers of [8, 16, 24]) {
      modest.write(asked.repeat(8));
      await until({ what: 'all are answered' }, () => modest.received.split('HTTP/1.1 200').length === answers + 1);
    }
    begun = 0;
    const greedy = raw(address);
    greedy.write(`${asked.repeat(500)}${asked.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')}`);
    await closed(greedy);
    expect(begun).toBeLessThanOrEqual(8);
    expect((await ask(address, '/-/healthy')).status).toBe(200);
    expect(deps.log).toEqual([]);
  });

  test('with huge headers are rejected', async () => {
    const { address } = await serving(world());
    const answer = await ask(address, '/', { headers: { 'X-Long': 'x'.repeat(20_000) } });
    expect(answer.status).toBe(431);
    expect(answer.text).toBe('Request headers must have at most 16384 bytes.\n');
  });

  test('that disconnect during a scrape do no harm', async () => {
    const body = 'a{b="c"} 1\n'.repeat(1_000_000);
    const deps = world({ metrics: () => Promise.resolve(scrapeBody(body)) });
    const { address } = await serving(deps);
    for (let round = 0; round < 5; round++) {
      const socket = raw(address, 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
      await until({ what: 'the first bytes' }, () => socket.received.length > 0);
      socket.destroy();
    }
    expect((await ask(address, '/metrics')).body.length).toBe(body.length);
    expect(deps.log).toEqual([]);
  });

  test('that disconnect end their plan', async () => {
    let signal: AbortSignal | undefined;
    const deps = world({
      engine: engine({
        plan: (_policy, _request, given) => {
          signal = given;
          return new Promise((_resolve, reject) =>
            given.addEventListener('abort', () => reject(given.reason as Error)),
          );
        },
      }),
    });
    const { address } = await serving(deps, { socketPath: join(tempDir(), 's') });
    const impatient = new AbortController();
    const asked = ask(address, '/api/v1/plan', { method: 'POST', body: '{"policy":"x"}', signal: impatient.signal });
    await until({ what: 'the plan has begun' }, () => signal !== undefined);
    impatient.abort();
    await expect(asked).rejects.toThrow('aborted');
    await until({ what: 'the plan is aborted' }, () => signal?.aborted === true);
    expect(deps.log).toEqual([]);
  });
});

describe('stopping', () => {
  test('ends idle connections at once and rejects new ones', async () => {
    const server = await serving(world());
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    expect((await ask(server.address, '/-/healthy', { agent })).headers['connection']).toBe('keep-alive');
    const unused = raw(server.address);
    await until({ what: 'a connection without a request' }, () => unused.readyState === 'open');
    await server.close();
    await closed(unused);
    await expect(ask(server.address, '/-/healthy')).rejects.toThrow('ECONNREFUSED');
    await server.close();
  });

  test('waits for a response in progress, and then ends its connection', async () => {
    let finish: ((value: ReturnType<typeof scrapeBody>) => void) | undefined;
    const deps = world({ metrics: () => new Promise((resolve) => (finish = resolve)) });
    const server = await serving(deps);
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const asked = ask(server.address, '/metrics', { agent });
    await until({ what: 'the scrape has begun' }, () => finish !== undefined);
    const stopped = server.close();
    finish!(scrapeBody('a 1\n'));
    const answer = await asked;
    expect(answer.text).toBe('a 1\n');
    expect(answer.headers['connection']).toBe('close');
    await stopped;
  });

  test('cuts requests in progress after two seconds', async () => {
    let begun = false;
    const deps = world({ metrics: () => new Promise(() => (begun = true)) });
    const server = await serving(deps);
    const asked = ask(server.address, '/metrics');
    const failed = asked.then(
      () => 'answered',
      () => 'cut',
    );
    await until({ what: 'the scrape has begun' }, () => begun);
    let stopped = false;
    const stop = server.close().then(() => (stopped = true));
    await deps.clock.advance(1_999);
    expect(stopped).toBe(false);
    await deps.clock.advance(1);
    expect(await failed).toBe('cut');
    await stop;
  });

  test('aborts a plan with a response', async () => {
    let begun = false;
    const deps = world({
      engine: engine({
        plan: (_policy, _request, signal) =>
          new Promise((_resolve, reject) => {
            begun = true;
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      }),
    });
    const server = await serving(deps, { socketPath: join(tempDir(), 's') });
    const asked = ask(server.address, '/api/v1/plan', { method: 'POST', body: '{"policy":"x"}' });
    await until({ what: 'the plan has begun' }, () => begun);
    const stop = server.close();
    await deps.clock.advance(1_500);
    const answer = await asked;
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'stopping' } });
    await stop;
  });

  test('lets a short plan finish', async () => {
    let finish: (() => void) | undefined;
    const deps = world({
      engine: engine({ plan: () => new Promise((resolve) => (finish = () => resolve({ ok: true, plan: plan() }))) }),
    });
    const server = await serving(deps, { socketPath: join(tempDir(), 's') });
    const asked = ask(server.address, '/api/v1/plan', { method: 'POST', body: '{"policy":"x"}' });
    await until({ what: 'the plan has begun' }, () => finish !== undefined);
    const stop = server.close();
    finish!();
    expect((await asked).status).toBe(200);
    await stop;
  });
});

test('a port that another program holds stays with it', async () => {
  const other = createServer((_request, response) => void response.end('other'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  await message(startServer(world(), { host: '127.0.0.1', port }));
  expect((await ask(`http://127.0.0.1:${port}`, '/')).text).toBe('other');
});

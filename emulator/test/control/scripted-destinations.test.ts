/** Scripted destinations, tested by the outcome of the messages sent to them. */
import { get } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createScriptedDestinations } from '#emulator/control/scripted-destinations.ts';
import { readSteps } from '#emulator/control/scripted-steps.ts';
import type { Step } from '#emulator/types/public.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { ACCOUNT, allLogs, START, world, type World, type WireLogEntry } from '../world.ts';

interface Entry extends WireLogEntry {
  readonly responseBody?: string;
}

/** Publishes once and returns the entries of its attempts, oldest first. */
async function attempts(service: World, url: string, headers: Record<string, string> = {}): Promise<readonly Entry[]> {
  const { json } = await service.call<{ messageId: string }>('POST', `/v2/publish/${url}`, {
    headers: { 'Svc-Retries': '4', 'Svc-Retry-Delay': '1000', 'Svc-Timeout': '10s', ...headers },
    body: 'hello',
  });
  await service.drain();
  const entries = (await allLogs(service, `messageId=${json.messageId}`)) as readonly Entry[];
  return entries.filter(({ state }) => state === 'ERROR' || state === 'DELIVERED').toReversed();
}

const told = (entries: readonly Entry[]) => entries.map(({ error, responseStatus }) => responseStatus ?? error);

describe('steps', () => {
  test('steps run in order, each for its times; the last one applies to all later requests', async () => {
    const service = await world();
    const { destinations } = service.emulator;
    await destinations.script('a.example', [{ status: 500, times: 2 }, 429, 204]);
    expect(told(await attempts(service, 'https://A.example/x?y=1'))).toEqual([500, 500, 429, 204]);
    expect(told(await attempts(service, 'http://a.example/other'))).toEqual([204]);
    const requests = destinations.requests('A.example');
    expect(requests).toHaveLength(5);
    expect(requests[0]).toMatchObject({ at: START, method: 'POST', path: '/x?y=1', headers: { host: 'a.example' } });
    expect(requests[0]!.body.toString()).toBe('hello');
  });

  test('faults: no connection, a broken connection, no response, half a response', async () => {
    const service = await world();
    await service.emulator.destinations.script('a.example', [
      'refuse',
      'reset',
      'hang',
      { fault: 'cut', body: 'half of it', status: 502 },
      200,
    ]);
    const entries = await attempts(service, 'http://a.example/');
    expect(told(entries)).toEqual([
      expect.stringContaining('ECONNREFUSED'),
      expect.stringMatching(/ECONNRESET|other side closed/),
      'timeout: no answer within 10000 ms',
      502,
      200,
    ]);
    expect(entries[3]!.responseBody).toBe('half ');
    // A refused connection is not a request.
    expect(service.emulator.destinations.requests('a.example')).toHaveLength(4);
  });

  test('a cut response with status 2xx delivers the message', async () => {
    const service = await world();
    await service.emulator.destinations.script('a.example', ['cut']);
    expect(told(await attempts(service, 'http://a.example/'))).toEqual([200]);
  });

  test("latency and slow bodies use the service's clock", async () => {
    const service = await world();
    await service.emulator.destinations.script('a.example', [
      { afterMs: 3_000, bodyMs: 4_000, body: 'abcdefghijklm' },
      { afterMs: 10_001 },
      { bodyMs: 60_000, body: 'too slow to come whole' },
    ]);
    const [first] = await attempts(service, 'http://a.example/');
    expect(first).toMatchObject({ state: 'DELIVERED', time: START + 7_000, responseBody: 'abcdefghijklm' });
    const late = await attempts(service, 'http://a.example/', { 'Svc-Retries': '0' });
    expect(told(late)).toEqual(['timeout: no answer within 10000 ms']);
    const [slow] = await attempts(service, 'http://a.example/');
    expect(slow).toMatchObject({ state: 'DELIVERED', time: START + 27_000, responseBody: 'to' });
  });

  test('Retry-After and 489 are applied', async () => {
    const service = await world({ headerPrefix: 'Svc' });
    const date = new Date(START + 120_000).toUTCString();
    await service.emulator.destinations.script('a.example', [
      { status: 503, retryAfter: 60 },
      { status: 503, retryAfter: date, headers: { 'X-Why': 'busy' } },
      { status: 489, nonRetryable: true },
    ]);
    const entries = await attempts(service, 'http://a.example/');
    expect(entries.map(({ time }) => time - START)).toEqual([0, 60_000, 120_000]);
    expect(service.emulator.messages(ACCOUNT)).toMatchObject([{ state: 'FAILED', attempts: 3, lastStatus: 489 }]);
  });
});

describe('places', () => {
  test('the nearest path applies, elsewhere the host', async () => {
    const service = await world();
    const { destinations } = service.emulator;
    await destinations.script('a.example', [201]);
    await destinations.script('a.example/orders/', [202]);
    await destinations.script('a.example/orders/17', [203]);
    const statuses: unknown[] = [];
    for (const path of ['', '/', '/orders', '/orders?x', '/orders/1', '/orders/17/x', '/ordersx']) {
      statuses.push(...told(await attempts(service, `http://a.example${path}`)));
    }
    expect(statuses).toEqual([201, 201, 202, 202, 202, 203, 201]);
  });

  test('a host with a script for one path responds 404 elsewhere', async () => {
    const service = await world();
    const { destinations } = service.emulator;
    await destinations.script('a.example/x', ['refuse', 200]);
    expect(told(await attempts(service, 'http://a.example/y', { 'Svc-Retries': '0' }))).toEqual([404]);
    expect(told(await attempts(service, 'http://a.example/x'))).toEqual([expect.stringContaining('REFUSED'), 200]);
  });

  test('a new script starts at its first step; cleared scripts are removed', async () => {
    const service = await world();
    const { destinations } = service.emulator;
    await destinations.script('a.example', [500, 200]);
    await destinations.script('b.example', [200]);
    await attempts(service, 'http://a.example/');
    await destinations.script('a.example', [501, 202]);
    expect(told(await attempts(service, 'http://a.example/'))).toEqual([501, 202]);
    destinations.clear('a.example');
    expect(destinations.hosts(new URL('http://a.example/'))).toBeUndefined();
    expect(destinations.requests('a.example')).toEqual([]);
    expect(destinations.hosts(new URL('http://b.example/'))).toEqual(expect.any(Number));
    destinations.clear();
    expect(destinations.hosts(new URL('http://b.example/'))).toBeUndefined();
  });

  test('the last thousand requests are kept', async () => {
    const service = await world();
    const { destinations } = service.emulator;
    await destinations.script('a.example', [200]);
    for (let count = 0; count < 1_003; count++) {
      await service.call('POST', `/v2/publish/http://a.example/${count}`, { headers: { 'Svc-Delay': `${count}s` } });
    }
    await service.drain();
    const requests = destinations.requests('a.example');
    expect([requests.length, requests[0]!.path, requests.at(-1)!.path]).toEqual([1_000, '/3', '/1002']);
  });
});

describe('an invalid script is rejected with the reason', () => {
  test.each([
    [[], 'steps must be a list with at least one step'],
    ['200', 'steps must be a list'],
    [[200, 99], 'steps[1].status must be a status from 200 to 599'],
    [['explode'], 'steps[0].fault must be one of refuse, reset, hang, cut'],
    [[null], 'steps[0] must be a status, a fault'],
    [[{ code: 200 }], 'steps[0] has the unknown field code; known fields: status'],
    [[{ constructor: 1 }], 'steps[0] has the unknown field constructor'],
    [[{ headers: { 'X-A': 'a\r\nb' } }], 'steps[0].headers must be'],
    [[{ headers: { 'X A': 'a' } }], 'steps[0].headers must be'],
    [[{ afterMs: -1 }], 'steps[0].afterMs must be milliseconds'],
    [[{ times: 0 }], 'steps[0].times must be'],
    [[{ retryAfter: '1\n' }], 'steps[0].retryAfter must be'],
    [[{ body: 1 }], 'steps[0].body must be a string'],
    [[{ nonRetryable: 'yes' }], 'steps[0].nonRetryable must be true or false'],
  ])('%j', (steps, reason) => {
    expect(() => readSteps(steps)).toThrow(reason);
  });

  test.each(['', '/x', 'a b', 'http://a.example', 'a.example:80', 'user@a'])('the place %j', async (place) => {
    const destinations = createScriptedDestinations({ clock: new ManualClock(START) });
    await expect(destinations.script(place, [200])).rejects.toThrow('a place is a host name');
  });
});

test('a stop aborts hanging requests, leaves no timer, and can be repeated', async () => {
  const clock = new ManualClock(START);
  const destinations = createScriptedDestinations({ clock });
  onTestFinished(() => destinations.stop());
  await destinations.script('a.example', ['hang', { afterMs: 1_000 }] satisfies Step[]);
  const url = `http://127.0.0.1:${destinations.hosts(new URL('http://a.example/'))}/`;
  const answers = [0, 1].map(() => get(url, { headers: { host: 'a.example' } }));
  const broken = answers.map((request) => new Promise((resolve) => request.on('error', resolve)));
  await expect.poll(() => clock.timers).toBe(1);
  await destinations.stop();
  await destinations.stop();
  expect(await Promise.all(broken)).toHaveLength(2);
  expect(clock.timers).toBe(0);
  await expect(destinations.script('a.example', [200])).rejects.toThrow('have stopped');
});

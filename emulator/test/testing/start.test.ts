/** The library for tests of applications, used as an application's test does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { serviceOptions, settingsOf } from '#emulator/testing/options.ts';
import { startEmulator, type Emulator, type EmulatorOptions } from 'msgsvc-emulator';
import { emulatorCommand } from '../../../src/cli/commands/emulator.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { OPERATIONS } from '../../../test/support/interface-document.ts';

const ROOT = join(import.meta.dirname, '../../..');
const HOUR = 3_600_000;
const NOON = Date.parse('2030-01-01T12:00:00Z');

async function started(options?: EmulatorOptions): Promise<Emulator> {
  const emulator = await startEmulator(options);
  onTestFinished(() => emulator.stop());
  return emulator;
}

async function post(emulator: Emulator, path: string, headers: Record<string, string> = {}): Promise<number> {
  const authorization = `Bearer ${emulator.token}`;
  const sent = { method: 'POST', headers: { authorization, 'Content-Type': 'text/plain', ...headers }, body: 'grüezi' };
  const { status } = await fetch(`${emulator.url}/v2/${path}`, sent);
  return status;
}

test('has pages on loopback, unless they are not wanted', async () => {
  const statusOf = async (options: EmulatorOptions): Promise<number> =>
    (await fetch((await started(options)).url)).status;
  expect(await statusOf({})).toBe(200);
  expect(await statusOf({ pages: false })).toBe(404);
  for (const pages of [undefined, false, true])
    expect(serviceOptions(settingsOf({ host: '0.0.0.0', pages })).pages).toBe(pages === true);
});

test('needs no option: its credentials are those of the command', async () => {
  const emulator = await started();
  expect(emulator).toMatchObject({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
    token: 'token',
    accountId: '7d8a1f5e-3c42-4b6e-9a10-5f2e8c7b4d31',
    username: 'user',
    password: 'password',
  });
  expect(emulatorCommand.options['token']?.help).toContain(`default: ${emulator.token}.`);
  expect(emulatorCommand.options['account']?.help).toContain(`default: ${emulator.accountId}.`);
  expect(emulatorCommand.options['management']?.help).toContain(`default: ${emulator.username}:${emulator.password}.`);
  expect(emulator.clock.mode).toBe('real');
  const authorization = `Basic ${Buffer.from('user:password').toString('base64')}`;
  const stats = `${emulator.url}/v2/msgsvc/stats/${emulator.accountId}`;
  expect((await fetch(stats, { headers: { authorization } })).status).toBe(200);
});

test('ends with its block', async () => {
  let url: string;
  {
    await using emulator = await startEmulator();
    url = emulator.url;
    expect((await fetch(`${url}/health`)).status).toBe(200);
  }
  await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed');
});

test('a message has its settings, its progress, and its last response', async () => {
  const emulator = await started({ time: 'virtual', startAt: new Date(NOON), headerPrefix: 'Acme' });
  await emulator.destinations.script('shop.example', [{ status: 503, body: 'später' }, 200]);
  const headers = { 'Acme-Retries': '2', 'Acme-Label': 'billing', 'Acme-Forward-X-Order': '7', 'Acme-Delay': '60s' };
  expect(await post(emulator, 'publish/https://shop.example/orders', headers)).toBe(200);

  const [waiting] = emulator.messages();
  expect(waiting).toMatchObject({
    state: 'CREATED',
    url: 'https://shop.example/orders',
    method: 'POST',
    headers: { 'content-type': 'text/plain', 'x-order': '7' },
    body: 'grüezi',
    bodyBytes: new Uint8Array(Buffer.from('grüezi')),
    attempts: 0,
    maxRetries: 2,
    createdAt: NOON,
    notBefore: NOON + 60_000,
    labels: ['billing'],
  });
  await emulator.clock.advance(60_000);
  expect(emulator.messages()[0]).toMatchObject({ attempts: 1, responseStatus: 503, responseBody: 'später' });
  await emulator.clock.advance(HOUR);
  expect(emulator.messages()).toMatchObject([
    { id: waiting!.id, state: 'DELIVERED', attempts: 2, responseStatus: 200 },
  ]);
  expect(emulator.destinations.requests('shop.example')).toMatchObject([
    { at: NOON + 60_000, method: 'POST', path: '/orders', body: 'grüezi' },
    { body: 'grüezi' },
  ]);
});

test('dead letters are those of both queues, oldest failure first', async () => {
  const emulator = await started({ time: 'virtual', failureFunction: true });
  await emulator.destinations.script('shop.example', [500]);
  await emulator.destinations.script('flows.example', ['reset', 200]);
  const once = { 'Svc-Retries': '0' };
  await post(emulator, 'trigger/https://flows.example/onboarding', once);
  await emulator.clock.advance(1_000);
  await post(emulator, 'publish/https://shop.example/orders', once);
  await emulator.clock.advance(1_000);

  const [run, message] = emulator.deadLetters();
  expect(emulator.deadLetters()).toHaveLength(2);
  expect(run).toMatchObject({ kind: 'workflow', url: 'https://flows.example/onboarding' });
  expect(run!.workflowRunId).toBeTruthy();
  expect(run!.failureFunctionState).toMatch(/^CALLBACK_/);
  expect(run!.error).toBeTruthy();
  expect(run).not.toHaveProperty('responseStatus');
  expect(message).toMatchObject({ kind: 'message', state: 'FAILED', responseStatus: 500 });
  expect(message!.failedAt).toBeGreaterThan(run!.failedAt);
});

test('the clock moves forward to a moment, never backward', async () => {
  const emulator = await started({ time: 'virtual', startAt: NOON });
  await emulator.clock.set(new Date(NOON + HOUR));
  expect(emulator.clock.now()).toBe(NOON + HOUR);
  await expect(emulator.clock.set(NOON)).rejects.toThrow('time does not go back');
  await expect(emulator.clock.advance(-1)).rejects.toThrow('time does not go back');
  expect(emulator.clock.now()).toBe(NOON + HOUR);
});

test.each([
  ['advance', '60000', 'invalid call of clock.advance: ms: Invalid input: expected number, received string'],
  ['advance', null, 'ms: Invalid input: expected number, received null'],
  ['advance', [5], 'ms: Invalid input: expected number, received array'],
  ['advance', undefined, 'ms: '],
  ['advance', Number.NaN, 'ms: '],
  ['advance', Number.POSITIVE_INFINITY, 'ms: '],
  ['set', null, 'invalid call of clock.set: time: '],
  ['set', '2031-01-01', 'time: '],
  ['set', new Date(Number.NaN), 'time: '],
  ['set', NOON / 1_000, 'not 1893499200; seconds need a factor of 1,000'],
] as const)('clock.%s rejects %j', async (name, value, problem) => {
  const emulator = await started({ time: 'virtual', startAt: NOON });
  await expect(emulator.clock[name](value as never)).rejects.toThrow(problem);
  expect(emulator.clock.now()).toBe(NOON);
});

test('the clock rejects options that it does not have', async () => {
  const { clock } = await started({ time: 'virtual' });
  await expect(clock.advance(1, { patienceMs: '5' as never })).rejects.toThrow('clock.advance: patienceMs: ');
  await expect(clock.set(clock.now(), { patience: 5 } as never)).rejects.toThrow('clock.set: the options: ');
  await expect(clock.advance(1, null as never)).rejects.toThrow('clock.advance: the options: ');
});

test.each<Parameters<typeof vi.useFakeTimers>[0]>([
  {},
  { toFake: ['setImmediate'] },
  { toFake: ['setTimeout', 'performance', 'Date'] },
])('time advances while a test has fake timers: %j', async (options) => {
  const silent = await httpSink(() => undefined);
  const hosts = { 'silent.example': Number(new URL(silent.url).port) };
  const emulator = await started({ time: 'virtual', hosts });
  await emulator.destinations.script('slow.example', [{ body: 'slow', bodyMs: 1_000 }]);
  vi.useFakeTimers(options);
  onTestFinished(() => void vi.useRealTimers());
  await post(emulator, 'publish/https://slow.example/orders');
  await emulator.clock.advance(HOUR);
  await post(emulator, 'publish/https://silent.example/orders', { 'Svc-Retries': '0', 'Svc-Timeout': '10s' });
  await emulator.clock.advance(HOUR, { patienceMs: 20 });
  expect(emulator.messages()).toMatchObject([{ state: 'DELIVERED', responseBody: 'slow' }, { state: 'FAILED' }]);
});

test('real time can be advanced too, and proceeds from there', async () => {
  const emulator = await started();
  const before = emulator.clock.now();
  await emulator.clock.advance(HOUR);
  expect(emulator.clock.now()).toBeGreaterThanOrEqual(before + HOUR);
  expect(emulator.clock.mode).toBe('real');
});

test('a fault applies to its requests, and counts them', async () => {
  const emulator = await started();
  const { id, hits } = emulator.faults.add({
    operations: ['publish'],
    times: 1,
    fault: { kind: 'status', status: 503 },
  });
  expect(hits).toBe(0);
  await emulator.destinations.script('shop.example', [200]);
  expect(await post(emulator, 'publish/https://shop.example/orders')).toBe(503);
  expect(await post(emulator, 'publish/https://shop.example/orders')).toBe(200);
  expect(emulator.faults.list()).toMatchObject([{ id, hits: 1, times: 1 }]);
  expect([emulator.faults.remove(id), emulator.faults.remove(id)]).toEqual([true, false]);
});

test.each([
  ['an unknown operation', { operations: ['publsh'], fault: { kind: 'lost' } }, 'unknown operation publsh'],
  ['an unknown field', { tims: 1, fault: { kind: 'lost' } }, 'tims'],
  ['an unknown kind', { fault: { kind: 'lots' } }, 'fault.kind'],
])('a fault rule with %s is rejected', async (_what, rule, problem) => {
  const emulator = await started();
  expect(() => emulator.faults.add(rule as never)).toThrow(problem);
  expect(emulator.faults.list()).toEqual([]);
});

test.each([
  ['an unknown option', { tokn: 'x' }, 'tokn'],
  ['an empty token', { token: '' }, 'token'],
  ['a user name with a colon', { username: 'a:b' }, 'username'],
  ['an invalid header prefix', { headerPrefix: 'a b' }, 'headerPrefix: must be letters'],
  ['an unknown plan', { plan: 'gold' }, 'plan'],
  ['a start in seconds', { startAt: NOON / 1_000 }, 'startAt: must be a date or epoch milliseconds'],
  ['a start in microseconds', { startAt: NOON * 1_000 }, 'startAt: must be a date or epoch milliseconds'],
  ['a start that is no time', { startAt: Number.NaN }, 'startAt: '],
  ['a start that is text', { startAt: '2030-01-01' }, 'startAt: '],
  ['a port that is none', { hosts: { 'shop.example': 70_000 } }, 'hosts.shop.example'],
])('%s is rejected', async (_what, options, problem) => {
  await expect(startEmulator(options as never)).rejects.toThrow(problem);
});

test('undefined is the same as an absent option', async () => {
  const emulator = await started({ token: undefined, time: undefined, signingKeys: undefined });
  expect(emulator.token).toBe('token');
});

test('a port in use is an error', async () => {
  const { url } = await started();
  await expect(startEmulator({ port: Number(new URL(url).port) })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('texts of headers are UTF-8 in messages, deliveries, and requests', async () => {
  const emulator = await started({ time: 'virtual' });
  await emulator.destinations.script('shop.example', [{ status: 200, headers: { 'X-Ort': 'Köln €' } }]);
  const sent = { 'Svc-Label': 'Rückläufer', 'Svc-Forward-X-Name': 'Jürgen €' };
  const wire = Object.entries(sent).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]);
  expect(await post(emulator, 'publish/https://shop.example/orders', Object.fromEntries(wire) as typeof sent)).toBe(
    200,
  );
  await emulator.clock.advance(0);
  expect(emulator.messages()).toMatchObject([{ labels: ['Rückläufer'], headers: { 'x-name': 'Jürgen €' } }]);
  expect(emulator.destinations.requests('shop.example')).toMatchObject([{ headers: { 'x-name': 'Jürgen €' } }]);
  expect(emulator.requests()).toMatchObject([{ headers: { 'svc-label': 'Rückläufer' } }]);
});

test('the token is that of the last rotation', async () => {
  const emulator = await started({ token: 'first' });
  await emulator.destinations.script('shop.example', [200]);
  const authorization = `Basic ${Buffer.from('user:password').toString('base64')}`;
  const rotate = `${emulator.url}/v2/msgsvc/rotate-token/${emulator.accountId}`;
  expect((await fetch(rotate, { method: 'POST', headers: { authorization } })).status).toBe(200);
  expect(emulator.token).not.toBe('first');
  expect(await post(emulator, 'publish/https://shop.example/orders')).toBe(200);
});

test('hosts are delivered to a local port', async () => {
  const sink = await httpSink();
  const emulator = await started({ hosts: { 'shop.example': Number(new URL(sink.url).port) }, refusePrivate: true });
  expect(await post(emulator, 'publish/https://shop.example/orders')).toBe(200);
  await emulator.idle();
  expect(sink.requests).toMatchObject([{ method: 'POST', url: '/orders' }]);
  expect(await post(emulator, `publish/${sink.url}/orders`)).toBeGreaterThanOrEqual(400);
});

test('the same seed generates the same ids', async () => {
  const ids = async (): Promise<string> => {
    const emulator = await started({ seed: 7, time: 'virtual', startAt: NOON });
    await emulator.destinations.script('shop.example', [200]);
    await post(emulator, 'publish/https://shop.example/orders');
    return emulator.messages()[0]!.id;
  };
  expect(await ids()).toBe(await ids());
});

test('requests are recorded without credentials', async () => {
  const emulator = await started({ token: 'canary-4711' });
  await emulator.destinations.script('shop.example', [200]);
  await post(emulator, 'publish/https://shop.example/orders');
  expect(emulator.requests()).toMatchObject([
    { method: 'POST', operation: 'publish', status: 200, headers: { authorization: '[hidden]' } },
  ]);
  expect(JSON.stringify(emulator.requests())).not.toContain('canary');
});

test('a reset removes messages, faults, scripts, and requests', async () => {
  const emulator = await started({ signingKeys: { current: 'first' } });
  await emulator.destinations.script('shop.example', [500]);
  await post(emulator, 'publish/https://shop.example/orders', { 'Svc-Retries': '0' });
  await emulator.idle();
  emulator.faults.add({ fault: { kind: 'lost' } });
  const { current, next } = emulator.rollSigningKeys();
  expect(current).not.toBe('first');

  await emulator.reset();
  expect([emulator.messages(), emulator.deadLetters(), emulator.faults.list(), emulator.requests()]).toEqual([
    [],
    [],
    [],
    [],
  ]);
  expect(emulator.destinations.requests('shop.example')).toEqual([]);
  expect(emulator.signingKeys).toEqual({ current, next });
});

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

test('the types name each operation of the service', () => {
  const union = /export type OperationName =([^;]+);/.exec(read('emulator/src/types/public.ts'))![1]!;
  const named = [...union.matchAll(/'([^']+)'/g)].map(([, name]) => name);
  expect(new Set(named)).toEqual(new Set(OPERATIONS.map(({ name }) => name)));
});

test('the types import nothing, so that their copy in the package is complete', () => {
  expect(read('emulator/src/types/public.ts')).not.toMatch(/\b(?:import|from)\b.*['"(]|NodeJS|Buffer/);
});

describe('docs/emulator-reference.md', () => {
  const [, library = ''] = read('docs/emulator-reference.md').split('\n## The library\n');

  test('has each member of an emulator', async () => {
    expect(Object.keys(await started()).filter((name) => !library.includes(`\`${name}`))).toEqual([]);
  });

  test('has the defaults of the options', () => {
    const simple = Object.entries(settingsOf({})).flatMap(([name, value]) =>
      typeof value === 'object' || typeof value === 'function' ? [] : [[name, String(value)] as const],
    );
    expect(simple.length).toBeGreaterThan(10);
    const listed = new Map(
      [...library.matchAll(/^- `(\w+)`: .* Default `?(.+?)`?[.,](?: .*)?$/gm)].map(([, name, value]) => [name, value]),
    );
    for (const [name, value] of simple) expect(listed.get(name), name).toBe(value);
  });
});

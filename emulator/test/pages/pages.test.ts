/** Pages of the emulator over HTTP: their content, their forms, and what they keep from other sites. */
import { execFileSync } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import type { RunOptions } from '#emulator/emulator-options.ts';
import { ACCOUNT, MANAGEMENT, READ_ONLY_TOKEN, TOKEN, world } from '../world.ts';

const PATHS = ['/', ...['dead-letters', 'flow-control', 'clock', 'publish'].map((name) => `/-/pages/${name}`)];

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly location?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A service with time of its own, and a browser that has no script. */
async function paged(options: Partial<RunOptions> = {}) {
  const { emulator, call } = await world({ clock: systemClock, time: 'virtual', pages: true, ...options });
  const { hostname, port } = new URL(emulator.url);
  const ask = (method: string, path: string, headers: Record<string, string> = {}, form?: Record<string, string>) =>
    new Promise<Answer>((resolve, reject) => {
      const sent = request({ hostname, port, method, path, headers }, (response) => {
        const { statusCode: status = 0, headers: got } = response;
        text(response).then((body) => resolve({ status, body, location: got.location, headers: got }), reject);
      });
      sent.on('error', reject);
      sent.end(form && new URLSearchParams(form).toString());
    });
  const open = async (path: string): Promise<string> => (await ask('GET', path)).body;
  const submit = (path: string, form: Record<string, string>) => ask('POST', path, {}, form);
  const publish = async (destination: string, headers: Record<string, string> = {}, body = 'body'): Promise<string> => {
    const { json } = await call<{ messageId: string }>('POST', `/v2/publish/${destination}`, { headers, body });
    return json.messageId;
  };
  return { emulator, ask, open, submit, publish };
}

test('a message has its state, its attempts, and its last response', async () => {
  const { emulator, open, publish } = await paged();
  await emulator.destinations.script('shop.example', [503, 200]);
  const id = await publish('https://shop.example/orders', { 'Svc-Label': 'eu', 'Svc-Forward-X-Order': '7' }, '{"a":1}');
  await emulator.advance(60_000);
  const list = await open('/');
  expect(list).toContain(`href="/-/pages/messages/${id}"`);
  expect(list).toContain('2 of 6');
  const page = await open(`/-/pages/messages/${id}`);
  expect(page).toMatch(/<span class="state ok">delivered<\/span>/);
  expect(page).toMatch(/attempt 1: error, 0 ms, 503[\s\S]*attempt 2: delivered, 0 ms, 200/);
  expect(page).toContain('X-Order: 7\n\n{&quot;a&quot;:1}');
  for (const state of ['created', 'active', 'error', 'retry', 'delivered']) expect(page).toContain(`>${state}</span>`);
  expect(await open('/-/pages/messages/none')).toContain('There is no message none.');
});

test('the list can be searched', async () => {
  const { open, publish } = await paged();
  const one = await publish('https://one.example/', { 'Svc-Delay': '1h', 'Svc-Label': 'eu' });
  const other = await publish('https://other.example/', { 'Svc-Delay': '1h' });
  for (const [query, shown] of [
    ['', [other, one]],
    ['?q=EU', [one]],
    ['?q=other.example', [other]],
    ['?state=CREATED', [other, one]],
    ['?state=FAILED', []],
  ] as const) {
    const found = [...(await open(`/${query}`)).matchAll(/\/-\/pages\/messages\/([^"]+)"/g)].map(([, id]) => id);
    expect(found, query).toEqual(shown);
  }
});

test('both queues and the keys are shown', async () => {
  const { emulator, open, publish } = await paged();
  await emulator.destinations.script('down.example', [500, 500]);
  const flow = { 'Svc-Flow-Control-Key': 'billing', 'Svc-Flow-Control-Value': 'parallelism=3, rate=9, period=1m' };
  const id = await publish('https://down.example/', { 'Svc-Retries': '0', ...flow });
  await emulator.control.seed({ failedRuns: [{ url: 'https://down.example/run' }] });
  await emulator.advance(60_000);
  const [{ dlqId } = { dlqId: '' }] = emulator.messages(ACCOUNT).filter((message) => message.id === id);
  const letters = await open('/-/pages/dead-letters');
  expect(letters).toContain(dlqId!);
  const [run] = emulator.workflowDlq(ACCOUNT);
  expect(letters).toContain(run!.workflowRunId);
  expect(await open('/-/pages/flow-control')).toMatch(/billing[\s\S]*nothing waits[\s\S]*0 of 3[\s\S]*0 of 9 in 1 min/);
});

test('the form publishes as the interface does', async () => {
  const { emulator, open, submit } = await paged({ headerPrefix: 'Acme' });
  const form = { destination: 'http://127.0.0.1:1/?a=1', Method: 'PUT', 'Content-Type': 'text/plain', body: 'é\r\nb' };
  const { status, location } = await submit('/-/pages/publish', { ...form, Retries: '0', Delay: '1h', Label: 'eu' });
  expect(status).toBe(303);
  const [message] = [...emulator.state(ACCOUNT).messages.values()];
  expect(location).toBe(`/-/pages/messages/${message!.id}`);
  expect(message!.url).toBe('http://127.0.0.1:1/?a=1');
  expect(message!.delivery).toMatchObject({ method: 'PUT', maxRetries: 0, labels: ['eu'] });
  expect(message!.delivery.headers).toEqual([['Content-Type', 'text/plain']]);
  expect(Buffer.from(message!.delivery.body).toString()).toBe('é\nb');
  expect(message!.notBefore - message!.createdAt).toBe(3_600_000);
  expect(await open(location!)).toContain('PUT http://127.0.0.1:1/');
});

test('a rejected form shows the reason, and keeps its fields', async () => {
  const { emulator, submit } = await paged();
  const { status, body } = await submit('/-/pages/publish', { destination: 'https://a.example/"', Retries: 'many' });
  expect(status).toBe(400);
  expect(body).toMatch(/role="alert">[\s\S]*Svc-Retries/);
  expect(body).toContain('value="https://a.example/&quot;"');
  expect(body).toContain('value="many"');
  expect((await submit('/-/pages/publish', { destination: 'no-group' })).status).toBe(404);
  expect(emulator.messages(ACCOUNT)).toEqual([]);
});

test('the form moves the clock', async () => {
  const { emulator, submit, publish } = await paged();
  await emulator.destinations.script('shop.example', [200]);
  await publish('https://shop.example/', { 'Svc-Delay': '1h' });
  const start = emulator.control.clock().now;
  const moved = (): number => emulator.control.clock().now - start;
  const states = (): readonly string[] => emulator.messages(ACCOUNT).map(({ state }) => state);
  expect(await submit('/-/pages/clock', { advance: '', by: '59m' })).toMatchObject({ status: 303 });
  expect([moved(), states()]).toEqual([3_540_000, ['CREATED']]);
  await submit('/-/pages/clock', { advance: 'next', by: '1d' });
  expect([moved(), states()]).toEqual([3_600_000, ['DELIVERED']]);
  expect((await submit('/-/pages/clock', { advance: 'soon' })).status).toBe(400);
});

test('a real clock is not moved', async () => {
  const { open, submit } = await paged({ time: undefined as never });
  expect(await open('/-/pages/clock')).toContain('This time cannot be moved.');
  expect((await submit('/-/pages/clock', { advance: '1h' })).status).toBe(409);
});

test('each account has its own pages', async () => {
  const [one, other] = ['acc-1', 'acc-2'].map((id) => ({ id, token: id === ACCOUNT ? TOKEN : 'token-2' }));
  const { ask, open, submit, publish, emulator } = await paged({ accounts: [one!, other!] });
  const id = await publish('https://one.example/', { 'Svc-Delay': '1h' });
  expect(await open('/')).toContain(`/-/pages/messages/${id}?account=acc-1`);
  const ofOther = await open('/?account=acc-2');
  expect(ofOther).not.toContain(id);
  expect(ofOther).toContain('<input type="hidden" name="account" value="acc-2" />');
  for (const path of PATHS) expect(await open(`${path}?account=acc-2`), path).toContain('?account=acc-1"');
  expect((await ask('GET', `/-/pages/messages/${id}?account=acc-2`)).status).toBe(404);
  await submit('/-/pages/publish?account=acc-2', { destination: 'https://other.example/', Delay: '1h' });
  expect(emulator.messages('acc-2')).toHaveLength(1);
});

test('long lists and bodies are cut', async () => {
  const { emulator, open, publish } = await paged();
  await emulator.control.seed({ failedRuns: [{ url: 'https://down.example/', count: 101 }] });
  expect(await open('/-/pages/dead-letters')).toContain('101 in the queue, the newest 100 are shown.');
  const id = await publish('https://shop.example/', { 'Svc-Delay': '1h' }, 'x'.repeat(20_001));
  expect(await open(`/-/pages/messages/${id}`)).toContain('the first 20,000 of 20,001 characters');
  for (let count = 1; count < 101; count++) await publish('https://shop.example/', { 'Svc-Delay': '1h' });
  const list = await open('/?q=shop.example');
  expect(list).toContain('100 of 101.');
  expect(list.match(/<tr role="row">/g)).toHaveLength(101);
});

test('a page reloads itself if that is wanted, but not a form', async () => {
  const { open } = await paged();
  const refresh = '<meta http-equiv="refresh" content="2" />';
  expect(await open('/?q=a')).toContain('href="/?q=a&amp;reload="');
  expect(await open('/?q=a')).not.toContain(refresh);
  const page = await open('/?q=a&reload=');
  expect(page).toContain(refresh);
  expect(page).toContain('<a href="/?q=a">Stop</a>');
  for (const path of ['/-/pages/publish?reload=', '/-/pages/messages/none?reload='])
    expect(await open(path), path).not.toMatch(/http-equiv|Reload/);
});

test('texts of clients and destinations are no markup, and redacted fields stay redacted', async () => {
  const { emulator, open, publish } = await paged();
  const evil = '<script>alert(1)</script>"\'';
  await emulator.destinations.script('evil.example', [{ status: 500, body: evil, headers: { 'x-evil': evil } }]);
  const headers = { 'Svc-Label': evil, 'Svc-Retries': '0', 'Svc-Forward-X-Secret': 'hush' };
  const flow = { 'Svc-Flow-Control-Key': evil, 'Svc-Flow-Control-Value': 'parallelism=1' };
  const redacted = { 'Svc-Redact-Fields': 'header[X-Secret]' };
  const id = await publish(`https://evil.example/${evil}`, { ...headers, ...flow, ...redacted }, evil);
  await emulator.advance(60_000);
  for (const path of [...PATHS, `/-/pages/messages/${id}`, `/?q=${encodeURIComponent(evil)}`]) {
    const page = await open(path);
    expect(page, path).not.toContain('<script');
    expect(page, path).not.toContain('hush');
  }
  expect(await open(`/-/pages/messages/${id}`)).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;');
});

test('no credential of the emulator is on a page', async () => {
  const signingKeys = { current: 'canary-current', next: 'canary-next' };
  const accounts = [{ id: ACCOUNT, token: TOKEN, readOnlyToken: READ_ONLY_TOKEN, signingKeys }];
  const { emulator, open, publish } = await paged({ accounts });
  await emulator.destinations.script('shop.example', [200]);
  const id = await publish('https://shop.example/');
  await emulator.advance(60_000);
  const [delivered] = emulator.destinations.requests('shop.example');
  for (const path of [...PATHS, `/-/pages/messages/${id}`]) {
    const page = await open(path);
    const secrets = [TOKEN, READ_ONLY_TOKEN, ...Object.values(signingKeys), MANAGEMENT.password];
    for (const secret of [...secrets, delivered!.headers['svc-signature'] as string])
      expect(page, path).not.toContain(secret);
  }
});

test('pages allow nothing but their style sheet', async () => {
  const { ask } = await paged();
  for (const path of PATHS) {
    const { headers, body } = await ask('GET', path);
    expect(headers['content-security-policy'], path).toBe(
      "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    );
    expect(headers['cache-control']).toBe('no-store');
    const [, style] = /<link rel="stylesheet" href="([^"]+)"/.exec(body)!;
    expect(await ask('GET', style!)).toMatchObject({ status: 200, headers: { 'content-type': /^text\/css/ } as never });
  }
  expect((await ask('GET', '/assets/other.css')).status).toBe(404);
});

test.each<[number, string, Record<string, string>]>([
  [200, 'GET', { 'sec-fetch-site': 'cross-site' }],
  [403, 'GET', { host: 'rebound.attacker.example' }],
  [403, 'POST', { 'sec-fetch-site': 'cross-site' }],
  [403, 'POST', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' }],
  [403, 'POST', { origin: 'https://attacker.example' }],
  [403, 'POST', { origin: 'null' }],
  [403, 'POST', { host: 'rebound.attacker.example', 'sec-fetch-site': 'same-origin' }],
])('%d for %s with %j', async (status, method, headers) => {
  const { ask, emulator } = await paged();
  for (const path of ['/-/pages/publish', '/-/pages/clock']) {
    const form = method === 'POST' ? { destination: 'https://a.example/', advance: '1h' } : undefined;
    expect((await ask(method, path, headers, form)).status).toBe(status);
  }
  expect(emulator.messages(ACCOUNT)).toEqual([]);
});

test('pages are no requests to the API', async () => {
  const { emulator, ask } = await paged({ control: true });
  emulator.control.faults.add({ fault: { kind: 'status', status: 503 } } as never);
  expect((await ask('GET', '/')).status).toBe(200);
  expect(emulator.control.requests.list()).toEqual([]);
});

test('without pages, their paths are unknown', async () => {
  const { ask } = await paged({ pages: false });
  for (const path of PATHS) expect(await ask('GET', path), path).toMatchObject({ status: 404 });
});

const LOADS = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
const { startEmulator } = await import('#emulator/testing/start.ts');
await using emulator = await startEmulator();
const count = () => loaded.filter((url) => /pages\\/(?!page-)|foundation\\/markup/.test(url)).length;
const before = count();
await fetch(emulator.url);
console.log(before, count() > 10);
`;

test('a start loads no page', () => {
  const cwd = join(import.meta.dirname, '../..');
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', LOADS], { cwd, encoding: 'utf8' })).toBe(
    '0 true\n',
  );
});

/**
 * Failed messages are published again after a deploy, each once and as it was, and leave the DLQ only after their
 * delivery: with any body, with lost responses, and through kill -9 at each step.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { daemonConfig, daemonWorld, QUICK, type DaemonWorld } from '../support/daemon-world.ts';
import type { Passed } from '../support/fault-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { Places } from '../support/leaks.ts';
import { putEndpoints, TEST_TOKEN } from '../support/service.ts';
import { until } from '../support/until.ts';

const TOKEN = 'canary-callback-token-3f';

interface Source {
  readonly path: string;
  readonly method?: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

async function republishWorld() {
  const w = await daemonWorld();
  writeFileSync(join(w.folder, 'key'), randomBytes(32).toString('hex'));
  const hooks = `http://127.0.0.1:${await freePort()}`;
  const config = daemonConfig(w.proxy.url, {
    account: { ...QUICK, deadLetters: { bodies: { keep: '1h', maxBytes: '2MiB', keyFile: 'key' } } },
    hooks: {
      listen: new URL(hooks).host,
      publicUrl: hooks,
      callbacks: { production: { token: TOKEN, maxBodyBytes: 8_388_608 } },
    },
    policies: [
      {
        name: 'republish-after-deploy',
        account: 'production',
        mode: 'enforce',
        on: { deploy: true, after: '1s' },
        select: { resource: 'message-dlq' },
        ramp: { settle: '1s' },
        action: { type: 'message-dlq.republish', retries: 0 },
      },
    ],
  });
  /** Publishes a message that fails. */
  async function fail({ path, method = 'POST', body, headers }: Source): Promise<void> {
    const target = path.startsWith('/') ? `${w.destination.url}${path}` : path;
    const answer = await fetch(`${w.service.url}/v2/publish/${target}`, {
      method: 'POST',
      body,
      headers: {
        Authorization: `Bearer ${TEST_TOKEN}`,
        'Svc-Method': method,
        'Svc-Retries': '0',
        'Svc-Failure-Callback': `${hooks}/hooks/callbacks/production`,
        'Svc-Failure-Callback-Forward-Authorization': `Bearer ${TOKEN}`,
        ...headers,
      },
    });
    expect(answer.status).toBeLessThan(300);
  }
  const letters = async (url: string): Promise<readonly { id: string }[]> => {
    const answer = await fetch(`${url}/api/v1/dead-letters?queue=message`);
    return ((await answer.json()) as { deadLetters: readonly { id: string }[] }).deadLetters;
  };
  /** Deletes what is left in the DLQ. Returns the number. */
  const left = async (): Promise<number> => {
    const answer = await fetch(`${w.service.url}/v2/dlq?toDate=${Date.now()}&count=100`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${TEST_TOKEN}` },
    });
    return ((await answer.json()) as { deleted: number }).deleted;
  };
  return { w, config, fail, letters, left };
}

/** Messages that the destination has accepted. */
function deliveries({ destination }: DaemonWorld): { readonly path: string; readonly body: Buffer }[] {
  const accepted: { path: string; body: Buffer }[] = [];
  destination.answerWith((request, response) => {
    accepted.push({ path: request.url, body: request.body });
    response.end('ok');
  });
  return accepted;
}

const isPublish = ({ method, url }: Passed) => method === 'POST' && url.startsWith('/v2/publish/');
const isDelete = ({ method, url }: Passed) => method === 'DELETE' && url.startsWith('/v2/dlq?dlqIds=');

test('each message arrives once as it was: any body, method, group, label and header', async () => {
  const { w, config, fail, letters, left } = await republishWorld();
  await putEndpoints(w.service, 'group', [
    { name: 'good', url: `${w.destination.url}/good` },
    { name: 'bad', url: `${w.destination.url}/bad` },
  ]);
  w.destination.answerWith((request, response) => void response.writeHead(request.url === '/good' ? 200 : 500).end());
  const { url } = await w.start(config);
  const sources: readonly Source[] = [
    { path: '/empty', body: new Uint8Array() },
    { path: '/binary', body: new Uint8Array([0, 255, 10, 13, 128, 0]), method: 'PUT' },
    { path: '/cut', body: new Uint8Array(Buffer.from('é').subarray(0, 1)), method: 'PATCH' },
    { path: '/large', body: new Uint8Array(randomBytes(1_048_576)) },
    { path: '/query?key=canary-query-4c', body: new Uint8Array(Buffer.from('{"a":1}')), method: 'DELETE' },
    {
      path: '/headers',
      body: new Uint8Array(Buffer.from('text')),
      headers: {
        'Content-Type': 'text/plain; charset=utf-8',
        'Svc-Forward-X-Note': 'kept',
        'Svc-Forward-Authorization': 'Bearer canary-of-destination-8a',
        'Svc-Label': 'orders,a%2Cb',
        'Svc-Flow-Control-Key': 'shop',
        'Svc-Flow-Control-Value': 'parallelism=4',
      },
    },
    { path: 'group', body: new Uint8Array(Buffer.from('of a group')) },
  ];
  for (const source of sources) await fail(source);
  await until({ what: 'all letters are known' }, async () => (await letters(url)).length === sources.length);
  const failed = w.destination.requests.filter(({ url: path }) => path !== '/good');
  const before = new Map(failed.map((request) => [request.url, request]));
  expect(before.size).toBe(sources.length);

  w.destination.requests.length = 0;
  const accepted = deliveries(w);
  w.proxy.admit(async (request) => {
    // An entry is deleted only after its message was delivered.
    if (isDelete(request)) expect(accepted.length).toBeGreaterThan(w.proxy.passed.filter(isDelete).length);
    return true;
  });
  expect((await w.command('deploy', 'v42', '--of', w.destination.url)).code).toBe(0);
  await until({ what: 'all are gone from the store' }, async () => (await letters(url)).length === 0);
  expect(accepted.map(({ path }) => path).toSorted()).toEqual([...before.keys()].toSorted());
  for (const request of w.destination.requests) {
    const source = before.get(request.url)!;
    expect(request.body.equals(source.body), request.url).toBe(true);
    expect(request.method).toBe(source.method);
    const of = ({ headers }: typeof request) => [headers['content-type'], headers['x-note'], headers.authorization];
    expect(of(request)).toEqual(of(source));
  }
  expect(await left()).toBe(0);
  const audit = await w.command('audit', '--output', 'json');
  expect(audit.stdout).toContain('message-dlq.republish');
  expect(audit.stdout).not.toMatch(/canary-|of a group/);
});

const FAULTS = {
  'the response to the publish is lost': (request: Passed) => (isPublish(request) ? 'lose' : 'pass'),
  'the response to the delete is lost': (request: Passed) => (isDelete(request) ? 'lose' : 'pass'),
} as const;

for (const [name, fate] of Object.entries(FAULTS)) {
  test(`a message arrives once although ${name}`, async () => {
    const { w, config, fail, letters, left } = await republishWorld();
    const { url } = await w.start(config);
    await fail({ path: '/order', body: new Uint8Array(Buffer.from('order 1')) });
    await until({ what: 'the letter is known' }, async () => (await letters(url)).length === 1);
    const accepted = deliveries(w);
    let lost = 0;
    w.proxy.decide((request) => {
      const way = lost === 0 ? fate(request) : 'pass';
      if (way === 'lose') lost += 1;
      return way;
    });
    await w.command('deploy', 'v42', '--of', w.destination.url);
    await until({ what: 'the letter is gone' }, async () => (await letters(url)).length === 0);
    expect(lost).toBe(1);
    expect(accepted.map(({ body }) => body.toString())).toEqual(['order 1']);
    expect(await left()).toBe(0);
  });
}

const STEPS = {
  'before the publish arrives': { at: isPublish, reaches: false },
  'after the publish, before its response': { at: isPublish, reaches: true },
  'before the delete arrives': { at: isDelete, reaches: false },
  'after the delete, before its response': { at: isDelete, reaches: true },
} as const;

for (const [name, { at, reaches }] of Object.entries(STEPS)) {
  test(`a message arrives once although the daemon is killed ${name}`, async () => {
    const { w, config, fail, letters, left } = await republishWorld();
    const first = await w.start(config);
    await fail({ path: '/order', body: new Uint8Array(Buffer.from('order 1')) });
    await until({ what: 'the letter is known' }, async () => (await letters(first.url)).length === 1);
    const accepted = deliveries(w);
    let killed: Promise<unknown> | undefined;
    const kill = (request: Passed): boolean => {
      if (killed !== undefined || !at(request)) return false;
      first.daemon.kill('SIGKILL');
      killed = first.daemon.ended;
      return true;
    };
    if (reaches) w.proxy.decide((request) => (kill(request) ? killed! : 'pass'));
    else w.proxy.admit(async (request) => !kill(request));
    await w.command('deploy', 'v42', '--of', w.destination.url);
    await until({ what: 'the kill' }, () => killed !== undefined);
    await killed;
    const { url } = await w.start(config);
    // Before its first reading, the daemon knows no dead letter.
    await until({ what: 'the dead letter is deleted' }, async () => (await left()) === 0);
    await until({ what: 'the letter is gone' }, async () => (await letters(url)).length === 0);
    expect(accepted.map(({ body }) => body.toString())).toEqual(['order 1']);
    expect(await left()).toBe(0);
  });
}

test('an edited message is published once, changed; the edit is in no output, and not in clear in the store', async () => {
  const { w, config, fail, letters, left } = await republishWorld();
  const { daemon, url } = await w.start(config);
  const headers = { 'Content-Type': 'application/json', 'Svc-Forward-X-Version': '1', 'Svc-Forward-X-Gone': 'old' };
  await fail({ path: '/order', body: new Uint8Array(Buffer.from('{"secret":"canary-old-1a"}')), headers });
  await until({ what: 'the letter is known' }, async () => (await letters(url)).length === 1);
  const [letter] = await letters(url);
  const accepted = deliveries(w);
  w.destination.requests.length = 0;
  const edited = '{"secret":"canary-new-2b","field":1}';
  writeFileSync(join(w.folder, 'fixed.json'), edited);
  const places = new Places();
  const change = [
    '--body',
    join(w.folder, 'fixed.json'),
    '--header',
    'X-Version=canary-header-3c',
    '--header',
    'X-Gone=',
  ];
  const ran = await w.command('dlq', 'republish', letter!.id, ...change, '--yes', '--reason', 'the field was missing');
  expect(ran.stderr).toMatch(/edited: 36 bytes, SHA-256 [0-9a-f]{64}; changed headers: X-Version, X-Gone/);
  expect(ran.code).toBe(0);
  await until({ what: 'the letter is gone' }, async () => (await letters(url)).length === 0);
  expect(accepted.map(({ body }) => body.toString())).toEqual([edited]);
  const [request] = w.destination.requests;
  expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'x-version': 'canary-header-3c' });
  expect(request?.headers).not.toHaveProperty('x-gone');
  expect(await left()).toBe(0);
  const audit = await w.command('audit', '--output', 'json');
  expect(audit.stdout).toMatch(/"sha256": *"[0-9a-f]{64}"/);
  places.add('audit', audit.stdout);
  places.add('command', ran.stdout + ran.stderr);
  const paths = [
    '/metrics',
    '/',
    '/dead-letters',
    '/audit',
    '/policies',
    '/api/v1/actions',
    '/api/v1/runs',
    '/api/v1/plans',
  ];
  await places.addPages(url, paths);
  await daemon.stop();
  places.add('log', daemon.stdout() + daemon.stderr());
  places.addStore(w.folder);
  expect(places.leaks(['canary-old-1a', 'canary-new-2b', 'canary-header-3c'])).toEqual([]);
});

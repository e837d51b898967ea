/** Sessions of browsers: sign-in, its end, forged forms, and the errors that a browser sees. */
import { hashSync } from 'bcryptjs';
import fc from 'fast-check';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { ApiToken, Role } from '#operate/http/access.ts';
import { ListenerSecurity } from '#operate/http/listener-security.ts';
import { sessionCookie, setSessionCookie } from '#operate/http/session-cookie.ts';
import { SignInLimit } from '#operate/http/sign-in-limit.ts';
import type { WebConfig } from '#operate/http/web-settings.ts';
import { ownPath } from '#operate/pages/frame/sign-in.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { ask, engine, NOW, RESUME_BILLING, serving, world, type Answer } from './world.ts';

const PASSWORD = 'pass:word';
const HASH = hashSync(PASSWORD, 4);
const PAGE = { Accept: 'text/html' };

function webOf(users: Readonly<Record<string, string>>): WebConfig {
  const all = Object.entries(users).map(([name, hash]) => [name, Secret.of(hash)] as const);
  return { headers: {}, users: new Map(all), digest: '' };
}

function setup() {
  const paused: string[] = [];
  const security = new ListenerSecurity(webOf({ olga: HASH, vera: HASH }), new ManualClock(NOW));
  const roles = new Map<string, Role>([['olga', 'operator']]);
  const tokens: ApiToken[] = [{ name: 'robot', role: 'admin', token: Secret.of('long-token') }];
  const deps = world({
    security,
    roles,
    tokens,
    policies: async () => [RESUME_BILLING],
    engine: engine({ pause: async ({ by }) => void paused.push(by) }),
  });
  return { deps, paused, security, roles, tokens };
}

async function daemon() {
  const made = setup();
  const { address } = await serving(made.deps);
  const post = (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ) =>
    ask(address, path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...PAGE, ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const signIn = async (user: string, secret = PASSWORD): Promise<string> => {
    const answer = await post('/sign-in', { user, secret });
    expect(answer.status).toBe(303);
    return cookieOf(answer);
  };
  const open = (path: string, cookie?: string) =>
    ask(address, path, { headers: { ...PAGE, ...(cookie !== undefined && { Cookie: cookie }) } });
  const formToken = async (cookie: string): Promise<string> =>
    /name="csrf" value="([0-9a-f]{64})"/.exec((await open('/', cookie)).text)![1]!;
  return { ...made, address, post, signIn, open, formToken };
}

/** A browser in which this user has signed in. */
async function browser(user = 'olga') {
  const made = await daemon();
  const cookie = await made.signIn(user);
  const csrf = await made.formToken(cookie);
  const submit = (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ) => made.post(path, { reason: 'to look', csrf, ...fields }, { Cookie: cookie, ...headers });
  return { ...made, cookie, csrf, submit };
}

function cookieOf({ headers }: Answer): string {
  return headers['set-cookie']![0]!.split(';')[0]!;
}

describe('a sign-in', () => {
  test('with user and password begins a session, and continues where it came from', async () => {
    const { post, open } = await daemon();
    const asked = await open('/policies?refresh=10');
    expect(asked.status).toBe(401);
    expect(asked.headers['www-authenticate'], 'no dialog of the browser').toBeUndefined();
    expect(asked.text).toContain('<meta http-equiv="refresh" content="0; url=/sign-in?next=%2Fpolicies" />');
    const form = await open('/sign-in?next=%2Fpolicies');
    expect(form.text).toContain('<input type="hidden" name="next" value="/policies" />');
    const answer = await post('/sign-in', { user: 'olga', secret: PASSWORD, next: '/policies' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/policies']);
    const [cookie = ''] = answer.headers['set-cookie']!;
    expect(cookie).toMatch(/^opsd\d+=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    const page = await open('/policies', cookieOf(answer));
    expect(page.status).toBe(200);
    expect(page.text).toMatch(/olga\s+<span class="faint">operator<\/span>/);
    expect((await open('/sign-in?next=%2Fsources', cookieOf(answer))).headers.location).toBe('/sources');
  });

  test('with a token needs no user', async () => {
    const { signIn, open } = await daemon();
    const page = await open('/', await signIn('', 'long-token'));
    expect(page.text).toMatch(/robot\s+<span class="faint">admin<\/span>/);
  });

  test.each([
    ['olga', 'wrong'],
    ['nobody', PASSWORD],
    ['', PASSWORD],
    ['', ''],
    ['olga', ''],
    ['robot', 'long-token'],
    ['olga', HASH],
  ])('of %j with %j is rejected', async (user, secret) => {
    const { post } = await daemon();
    const answer = await post('/sign-in', { user, secret });
    expect(answer.status).toBe(401);
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect(answer.text).toContain('is wrong.');
    if (secret !== '') expect(answer.text).not.toContain(`value="${secret}"`);
  });

  test('from another site is rejected', async () => {
    const { post } = await daemon();
    const fields = { user: 'olga', secret: PASSWORD };
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ] as Record<string, string>[]) {
      expect((await post('/sign-in', fields, headers)).status).toBe(403);
    }
  });

  describe('after ten wrong credentials from its address', () => {
    const WRONG: Readonly<Record<string, (n: number, of: Awaited<ReturnType<typeof daemon>>) => Promise<Answer>>> = {
      'passwords in the form': (n, { post }) => post('/sign-in', { user: 'olga', secret: `wrong-${n}` }),
      'tokens in the form': (n, { post }) => post('/sign-in', { user: '', secret: `wrong-${n}` }),
      'passwords of requests': (n, { address }) => ask(address, '/api/v1/status', { headers: basic(`wrong-${n}`) }),
      'bearer tokens': (n, { address }) =>
        ask(address, '/api/v1/status', { headers: { Authorization: `Bearer wrong-${n}` } }),
    };
    const basic = (password: string) => ({
      Authorization: `Basic ${Buffer.from(`olga:${password}`).toString('base64')}`,
    });

    test.each(Object.entries(WRONG))('%s are limited, and credentials that work are not', async (_what, wrong) => {
      const made = await daemon();
      const { deps, address, post, signIn } = made;
      // The password is known to be right from here on.
      for (let number = 0; number < 12; number++) await signIn('olga');
      for (let n = 0; n < 10; n++) {
        expect((await wrong(n, made)).status).toBe(401);
        expect((await wrong(n, made)).status, 'a repetition counts once').toBe(401);
      }
      const limited = await wrong(10, made);
      expect([limited.status, limited.headers['retry-after']]).toEqual([429, '300']);
      expect(limited.text).toContain('Too many failed sign-ins');
      for (const other of Object.values(WRONG)) expect((await other(11, made)).status).toBe(429);

      expect((await post('/sign-in', { user: 'olga', secret: PASSWORD })).status).toBe(303);
      expect((await post('/sign-in', { user: '', secret: 'long-token' })).status).toBe(303);
      for (const headers of [basic(PASSWORD), { Authorization: 'Bearer long-token' }]) {
        expect((await ask(address, '/api/v1/status', { headers })).status).toBe(200);
      }
      await deps.clock.advance(300_000);
      expect((await wrong(12, made)).status).toBe(401);
    });
  });

  test('without users and tokens says how to configure them', async () => {
    const { address } = await serving(world());
    const page = await ask(address, '/sign-in', { headers: PAGE });
    expect(page.text).toContain('server.webConfigFile');
    expect(page.text).not.toContain('method="post"');
    expect((await ask(address, '/', { headers: PAGE })).text).not.toContain('/sign-in');
  });
});

describe('the limit of failed sign-ins', () => {
  const failing = () => Promise.resolve(undefined);

  test('counts attempts in progress, by network', async () => {
    const limit = new SignInLimit(new ManualClock(NOW));
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const underWay = Array.from({ length: 10 }, () => limit.attempt('2001:db8:1:2::1', () => promise));
    await expect(limit.attempt('2001:db8:1:2:ffff::9', failing)).rejects.toMatchObject({ status: 429 });
    await expect(limit.attempt('2001:db8:1:3::1', failing)).resolves.toBeUndefined();
    await expect(limit.attempt('::ffff:192.0.2.1', failing)).resolves.toBeUndefined();
    resolve(undefined);
    await Promise.all(underWay);
  });

  test('an address mapped from IPv4 is that address', async () => {
    const limit = new SignInLimit(new ManualClock(NOW));
    for (let number = 0; number < 10; number++) await limit.attempt('::ffff:192.0.2.1', failing);
    await expect(limit.attempt('192.0.2.1', failing)).rejects.toMatchObject({ status: 429 });
    await expect(limit.attempt('192.0.2.2', failing)).resolves.toBeUndefined();
  });
});

describe('a session ends', () => {
  const ends: Readonly<Record<string, (made: Awaited<ReturnType<typeof daemon>>) => unknown>> = {
    'after 12 hours': ({ deps }) => deps.clock.advance(12 * 3_600_000),
    'when the role changes': ({ roles }) => roles.set('olga', 'admin'),
    'when the role is removed': ({ roles }) => roles.delete('olga'),
    'when the password changes': ({ security }) => security.take(webOf({ olga: hashSync('new', 4), vera: HASH })),
    'when the user is removed': ({ security }) => security.take(webOf({ vera: HASH })),
  };

  test.each(Object.keys(ends))('%s', async (name) => {
    const made = await daemon();
    const cookie = await made.signIn('olga');
    expect((await made.open('/', cookie)).status).toBe(200);
    await ends[name]!(made);
    expect((await made.open('/', cookie)).status).toBe(401);
  });

  test('not before 12 hours', async () => {
    const { deps, signIn, open } = await daemon();
    const cookie = await signIn('olga');
    await deps.clock.advance(12 * 3_600_000 - 1);
    expect((await open('/', cookie)).status).toBe(200);
  });

  test.each([
    ['is replaced', [{ name: 'robot', role: 'admin', token: Secret.of('other') }]],
    ['gets another role', [{ name: 'robot', role: 'viewer', token: Secret.of('long-token') }]],
    ['is removed', []],
  ] as const)('when its token %s', async (_name, next) => {
    const { tokens, signIn, open } = await daemon();
    const cookie = await signIn('', 'long-token');
    expect((await open('/', cookie)).status).toBe(200);
    tokens.splice(0, 1, ...next);
    expect((await open('/', cookie)).status).toBe(401);
  });

  test('with a sign-out, in this browser only', async () => {
    const { signIn, open, post, formToken } = await daemon();
    const [one, other] = [await signIn('olga'), await signIn('olga')];
    const answer = await post('/sign-out', { csrf: await formToken(one) }, { Cookie: one });
    expect(answer.status).toBe(303);
    expect(answer.headers['set-cookie']![0]).toContain('Max-Age=0');
    expect([(await open('/', one)).status, (await open('/', other)).status]).toEqual([401, 200]);
  });

  test('when the same user signs in twenty more times', async () => {
    const { signIn, open } = await daemon();
    const vera = await signIn('vera');
    const cookies: string[] = [];
    for (let number = 0; number < 21; number++) cookies.push(await signIn('olga'));
    const statuses = await Promise.all([vera, ...cookies].map(async (cookie) => (await open('/', cookie)).status));
    expect(statuses).toEqual([200, 401, ...Array.from({ length: 20 }, () => 200)]);
  });
});

describe('a form', () => {
  test('of the own session acts, with the name of its user', async () => {
    const { submit, paused } = await browser();
    const answer = await submit('/pauses/add', {});
    expect([answer.status, answer.headers.location]).toEqual([303, '/']);
    expect(paused).toEqual(['olga']);
  });

  test('without the token of its session is rejected', async () => {
    const { signIn, formToken, csrf: own, submit, paused } = await browser();
    for (const csrf of ['', 'x', await formToken(await signIn('olga')), `${own}x`]) {
      const answer = await submit('/pauses/add', { csrf });
      expect(answer.status).toBe(403);
      expect(answer.text).toContain('Reload its page');
    }
    expect(paused).toEqual([]);
  });

  test('from another site is rejected, with any token', async () => {
    const { submit, paused } = await browser();
    for (const headers of [
      { Origin: 'http://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'same-site' },
    ] as Record<string, string>[]) {
      expect((await submit('/pauses/add', {}, headers)).status).toBe(403);
    }
    expect(paused).toEqual([]);
  });

  test('needs a reason, a form, and a known policy', async () => {
    const { address, cookie, csrf, post, submit, paused } = await browser();
    const status = async (fields: Readonly<Record<string, string>>) => (await submit('/pauses/add', fields)).status;
    expect((await post('/pauses/add', { csrf }, { Cookie: cookie })).status).toBe(400);
    expect(await status({ reason: '  ' })).toBe(400);
    expect(await status({ reason: 'x'.repeat(501) })).toBe(400);
    expect(await status({ reason: 'x', policy: 'other' })).toBe(404);
    const json = { method: 'POST', headers: { Cookie: cookie, 'Content-Type': 'application/json' }, body: '{}' };
    expect((await ask(address, '/pauses/add', json)).status).toBe(415);
    expect(paused).toEqual([]);
  });

  test('of a user with basic authentication needs a token as well', async () => {
    const { address, post, paused } = await daemon();
    const headers = { Authorization: `Basic ${Buffer.from(`olga:${PASSWORD}`).toString('base64')}` };
    const page = await ask(address, '/', { headers });
    const csrf = /name="csrf" value="(\w+)"/.exec(page.text)![1]!;
    const reason = 'to look';
    expect((await post('/pauses/add', { reason }, headers)).status).toBe(403);
    expect((await post('/pauses/add', { reason, csrf }, headers)).status).toBe(303);
    expect(paused).toEqual(['olga']);
  });

  test('of a viewer is rejected, and no page shows one', async () => {
    const { open, cookie, submit, paused } = await browser('vera');
    for (const path of ['/', '/policies/resume-billing', '/sources']) {
      const { text } = await open(path, cookie);
      expect([...text.matchAll(/<form[^>]* method="post" action="([^"]+)"/g)].map(([, action]) => action)).toEqual([
        '/sign-out',
      ]);
    }
    for (const path of ['/pauses/add', '/pauses/lift', '/policies/resume-billing', '/plans/x']) {
      const answer = await submit(path, { act: 'approve' });
      expect(answer.status, path).toBe(403);
      expect(answer.text).toContain('is required; vera has the role viewer.');
    }
    expect(paused).toEqual([]);
  });
});

describe('the API with a session', () => {
  const JSON_BODY = { method: 'POST', body: '{"reason": "to look"}' };

  test('reads; acts only with the token in a header, and with the role', async () => {
    const { address, signIn, formToken, paused } = await daemon();
    const pause = async (cookie: string, headers: Readonly<Record<string, string>>) =>
      (await ask(address, '/api/v1/pause', { ...JSON_BODY, headers: { Cookie: cookie, ...headers } })).status;
    const [operator, viewer] = [await signIn('olga'), await signIn('vera')];
    expect((await ask(address, '/api/v1/status', { headers: { Cookie: viewer } })).status).toBe(200);
    expect(await pause(operator, {})).toBe(403);
    expect(await pause(operator, { 'X-CSRF-Token': await formToken(viewer) })).toBe(403);
    expect(await pause(viewer, { 'X-CSRF-Token': await formToken(viewer) })).toBe(403);
    const own = { 'X-CSRF-Token': await formToken(operator) };
    expect(await pause(operator, { ...own, Origin: 'http://evil.example' })).toBe(403);
    expect(paused).toEqual([]);
    expect(await pause(operator, own)).toBe(200);
    expect(paused).toEqual(['olga']);
  });

  test('is never used beside a header with credentials', async () => {
    const { address, signIn } = await daemon();
    const headers = { Cookie: await signIn('olga'), Authorization: 'Bearer wrong' };
    expect((await ask(address, '/api/v1/status', { headers })).status).toBe(401);
  });
});

test('an unknown, empty or broken cookie is no session', async () => {
  const { address, signIn, open } = await daemon();
  const [name = '', value = ''] = (await signIn('olga')).split('=');
  for (const other of ['', 'x', value.slice(1), `${value}x`, value.toLowerCase(), '%00', `"${value}"`]) {
    expect((await open('/', `${name}=${other}`)).status).toBe(401);
  }
  expect((await open('/', `other=1; ${name}=${value}; z`)).status).toBe(200);
  expect((await open('/', `opsd=${value}`)).status).toBe(401);
  expect((await ask(address, '/', { headers: { Cookie: ';;=;' } })).status).toBe(401);
});

test('the cookie of a TLS connection is only sent over TLS, to this host', () => {
  const request = new IncomingMessage(new TLSSocket(new Socket()));
  request.headers.host = 'opsd.example:10777';
  const header = setSessionCookie(request, 'v'.repeat(43));
  expect(header).toBe(`__Host-opsd10777=${'v'.repeat(43)}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure`);
  request.headers.cookie = `opsd10777=${'w'.repeat(43)}; ${header.split(';')[0]!}`;
  expect(sessionCookie(request)).toBe('v'.repeat(43));
});

test('a browser that reaches the socket of the daemon cannot be used by another site', async () => {
  const { deps, paused } = setup();
  const address = join(tempDir(), 's');
  await serving(deps, { socketPath: address });
  const pause = async (headers: Readonly<Record<string, string>>) =>
    (await ask(address, '/api/v1/pause', { method: 'POST', headers, body: '{"reason": "x"}' })).status;
  expect(await pause({ 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
  expect(await pause({ Origin: 'http://evil.example' })).toBe(403);
  expect(paused).toEqual([]);
  expect(await pause({})).toBe(200);
});

describe('errors', () => {
  test('are pages for browsers, and text or JSON for others', async () => {
    const { address, signIn, open } = await daemon();
    const cookie = await signIn('olga');
    const missing = await open('/nothing', cookie);
    expect([missing.status, missing.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(missing.text).toContain('Not found');
    expect((await open('/policies/<b>', cookie)).text).toContain('&lt;b&gt;');
    const api = await open('/api/v1/nothing', cookie);
    expect(api.headers['content-type']).toBe('application/json; charset=utf-8');
    const plain = await ask(address, '/nothing', { headers: { Cookie: cookie } });
    expect(plain.headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  test('of anonymous readers offer the sign-in', async () => {
    const { tokens } = setup();
    const { address } = await serving(world({ tokens }));
    const headers = { ...PAGE, 'Content-Type': 'application/x-www-form-urlencoded' };
    const answer = await ask(address, '/pauses/add', { method: 'POST', headers, body: 'reason=x' });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('href="/sign-in?next=%2F"');
    expect(answer.text, 'a form is not sent again').not.toContain('http-equiv="refresh"');
    expect((await ask(address, '/', { headers: PAGE })).text).toContain('href="/sign-in?next=%2F"');
  });
});

test('the sign-in leads to no other site', () => {
  expect(ownPath('/dead-letters?label=a&x=%2F')).toBe('/dead-letters?label=a&x=%2F');
  for (const other of [
    '//evil.example',
    '/.//evil.example',
    '/\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '',
    null,
  ]) {
    expect(ownPath(other)).toBe('/');
  }
  const parts = fc.constantFrom('/', '\\', '@', ':', '?', '#', 'http', 'evil.example', '\t', '\n', '%2f', '.', '..');
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 8 }), (pieces) => {
      const url = new URL(ownPath(pieces.join('')), 'http://daemon.example/sign-in');
      expect(url.origin).toBe('http://daemon.example');
    }),
  );
});

/**
 * Permissions over TCP: every kind of caller at every address, by a table that is independent of the implementation.
 */
import { hashSync } from 'bcryptjs';
import fc from 'fast-check';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { Role } from '#operate/http/access.ts';
import { API_ROUTES } from '#operate/api/routes.ts';
import { ListenerSecurity } from '#operate/http/listener-security.ts';
import type { WebConfig } from '#operate/http/web-settings.ts';
import { PAGE_ROUTES } from '#operate/pages/page-routes.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { ask, engine, serving, world, NOW } from './world.ts';

const ROLE_OF = { viewer: 0, operator: 1, admin: 2 } as const;

/** Minimum permission at an address: none, reading, or a role. */
type Needs = 'nothing' | 'reading' | Role | 'the socket';

/** Addresses and methods that need more or less than reading. */
const OTHERS: Readonly<Record<string, Needs>> = {
  'GET /-/healthy': 'nothing',
  'GET /-/ready': 'nothing',
  'GET /sign-in': 'nothing',
  'POST /sign-in': 'nothing',
  'POST /sign-out': 'viewer',
  'POST /tour/x': 'operator',
  'POST /api/v1/explain': 'viewer',
  'POST /api/v1/operations/get-flow-control': 'viewer',
  'POST /api/v1/operations/publish': 'operator',
  'POST /api/v1/operations/rotate-token': 'admin',
  'POST /api/v1/acknowledge': 'operator',
  'POST /api/v1/snooze': 'operator',
  'POST /api/v1/retrigger': 'admin',
  'POST /api/v1/deploys': 'operator',
  'POST /api/v1/plan': 'operator',
  'POST /api/v1/cancel': 'operator',
  'POST /api/v1/apply': 'operator',
  'POST /api/v1/approve': 'operator',
  'POST /api/v1/reject': 'operator',
  'POST /api/v1/pause': 'operator',
  'POST /api/v1/unpause': 'admin',
  'POST /api/v1/state/adopt': 'admin',
  'POST /api/v1/state/reset-counter': 'admin',
  'POST /api/v1/state/backup': 'the socket',
  'POST /-/reload': 'admin',
  'POST /incidents/x': 'operator',
  'POST /dead-letters': 'operator',
  'POST /dead-letters/x': 'operator',
  'POST /policies/x': 'operator',
  'POST /plans/x': 'operator',
  'POST /pauses/add': 'operator',
  'POST /pauses/lift': 'admin',
};

// The role for an operation of the service depends on the operation.
const ROUTES = [...API_ROUTES, ...PAGE_ROUTES]
  .filter(({ path }) => !path.startsWith('/assets/'))
  .map(({ method, path }) => `${method} ${path.replace('{id}', path.includes('/operations/') ? 'publish' : 'x')}`);

/** Each GET that is not listed above needs reading. */
const NEEDS: Readonly<Record<string, Needs>> = {
  ...Object.fromEntries(
    ['GET /metrics', 'GET /nothing/here', ...ROUTES]
      .filter((asked) => asked.startsWith('GET '))
      .map((asked) => [asked, 'reading']),
  ),
  ...OTHERS,
};

test('the table has every address that may act', () => {
  expect(Object.keys(NEEDS)).toEqual(expect.arrayContaining(ROUTES));
});

const PASSWORD = 'pass:word';
const HASH = hashSync(PASSWORD, 4);
const USERS = { 'user-viewer': undefined, 'user-operator': 'operator', 'user-admin': 'admin' } as const;

interface Setup {
  readonly tokens: boolean;
  readonly users: boolean;
  readonly anonymous: 'viewer' | 'none';
}

function webOf(users: boolean, web: Partial<WebConfig> = {}): WebConfig {
  const names = users ? Object.keys(USERS) : [];
  return { headers: {}, users: new Map(names.map((name) => [name, Secret.of(HASH)])), digest: '', ...web };
}

function daemon({ tokens, users, anonymous }: Setup) {
  const roles = Object.entries(USERS).flatMap(([name, role]) => (role === undefined ? [] : [[name, role] as const]));
  return world({
    anonymous,
    tokens: tokens
      ? (['viewer', 'operator', 'admin'] as const).map((role) => ({
          name: `token-${role}`,
          role,
          token: Secret.of(`secret-${role}`),
        }))
      : [],
    security: new ListenerSecurity(webOf(users), new ManualClock(NOW)),
    roles: new Map(roles),
  });
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

const CALLERS: Readonly<
  Record<string, { readonly header?: string; readonly by?: 'token' | 'user'; readonly role?: Role }>
> = {
  nobody: {},
  'token of a viewer': { header: 'Bearer secret-viewer', by: 'token', role: 'viewer' },
  'token of an operator': { header: 'bearer  secret-operator', by: 'token', role: 'operator' },
  'token of an admin': { header: 'Bearer secret-admin', by: 'token', role: 'admin' },
  'user without a role': { header: basic('user-viewer', PASSWORD), by: 'user', role: 'viewer' },
  'user who is an operator': { header: basic('user-operator', PASSWORD), by: 'user', role: 'operator' },
  'user who is an admin': {
    header: basic('user-admin', PASSWORD).replace('Basic', 'bASIC'),
    by: 'user',
    role: 'admin',
  },
  'wrong token': { header: 'Bearer secret-nobody' },
  'wrong password': { header: basic('user-admin', 'password') },
  'unknown user': { header: basic('root', PASSWORD) },
  'name of a token as a user': { header: basic('token-admin', 'secret-admin') },
  'hash as a password': { header: basic('user-admin', HASH) },
  'no credentials at all': { header: 'Basic' },
  'no base64': { header: 'Basic %%%' },
  'another scheme': { header: 'Digest username="user-admin"' },
  'token of an admin under another scheme': { header: 'Digest secret-admin' },
  'token of an admin alone': { header: 'secret-admin' },
  'empty header': { header: '' },
};

/** Returns the expected status: 401 for unknown callers, 403 for missing permissions, any other if allowed. */
function expected(
  { tokens, users, anonymous }: Setup,
  caller: (typeof CALLERS)[string],
  asked: string,
): 401 | 403 | 'let in' {
  const needs = NEEDS[asked]!;
  if (needs === 'nothing') return 'let in';
  const isClosed = users || anonymous === 'none';
  const isKnown = (caller.by === 'token' && tokens) || (caller.by === 'user' && users);
  const shows = caller.header !== undefined && (tokens || isClosed);
  // Without access control on reads, the content of these two is not checked.
  const isShown = !isClosed && (asked === 'GET /' || asked === 'GET /metrics');
  if (isShown) return 'let in';
  if (!isKnown && (shows || isClosed)) return 401;
  if (needs === 'reading') return 'let in';
  if (needs === 'the socket') return 403;
  if (!isKnown) return tokens ? 401 : 403;
  return ROLE_OF[caller.role!] >= ROLE_OF[needs] ? 'let in' : 403;
}

test('every caller at every address gets the result of the table', async () => {
  const setups = fc.record({
    tokens: fc.boolean(),
    users: fc.boolean(),
    anonymous: fc.constantFrom('viewer' as const, 'none' as const),
  });
  const seen = new Map<string, Promise<string>>();
  const addressOf = (setup: Setup): Promise<string> => {
    const key = JSON.stringify(setup);
    const known = seen.get(key) ?? serving(daemon(setup)).then(({ address }) => address);
    seen.set(key, known);
    return known;
  };
  await fc.assert(
    fc.asyncProperty(
      setups,
      fc.constantFrom(...Object.keys(CALLERS)),
      fc.constantFrom(...Object.keys(NEEDS)),
      async (setup, name, asked) => {
        const caller = CALLERS[name]!;
        const [method = '', path = ''] = asked.split(' ');
        const headers: Record<string, string> = caller.header === undefined ? {} : { Authorization: caller.header };
        const { status } = await ask(await addressOf(setup), path, { method, headers });
        const got = status === 401 || status === 403 ? status : 'let in';
        expect(got).toBe(expected(setup, caller, asked));
      },
    ),
    { numRuns: 1_000 },
  );
});

test('over the socket no credentials are needed', async () => {
  const address = join(tempDir(), 's');
  await serving(daemon({ tokens: true, users: true, anonymous: 'none' }), { socketPath: address });
  for (const asked of Object.keys(NEEDS)) {
    const [method = '', path = ''] = asked.split(' ');
    const { status } = await ask(address, path, { method, headers: { Authorization: 'Basic wrong' } });
    expect([401, 403], asked).not.toContain(status);
  }
});

describe('a rejection', () => {
  test.each([
    [{ tokens: true, users: true }, 'Basic realm="opsd", charset="UTF-8", Bearer realm="opsd"'],
    [{ tokens: false, users: true }, 'Basic realm="opsd", charset="UTF-8"'],
    [{ tokens: true, users: false }, 'Bearer realm="opsd"'],
  ])('names the ways in: %j', async (some, challenges) => {
    const { address } = await serving(daemon({ ...some, anonymous: 'none' }));
    const { status, headers } = await ask(address, '/metrics');
    expect([status, headers['www-authenticate']]).toEqual([401, challenges]);
    expect((await ask(address, '/-/healthy')).status).toBe(200);
  });

  test('precedes the body, and quotes nothing', async () => {
    const { address } = await serving(daemon({ tokens: true, users: true, anonymous: 'viewer' }));
    const headers = { Authorization: basic('canary-user', 'canary-password') };
    const answer = await ask(address, '/api/v1/pause', { method: 'POST', headers, body: 'x'.repeat(100_000) });
    expect(answer.status).toBe(401);
    expect(answer.text).not.toMatch(/canary/);
  });
});

test('the audit log records the caller', async () => {
  const by: string[] = [];
  const base = daemon({ tokens: true, users: true, anonymous: 'viewer' });
  const { address } = await serving({ ...base, engine: engine({ pause: async (asked) => void by.push(asked.by) }) });
  for (const header of [basic('user-operator', PASSWORD), 'Bearer secret-operator']) {
    const asked = { method: 'POST', headers: { Authorization: header }, body: '{"reason": "to look"}' };
    expect((await ask(address, '/api/v1/pause', asked)).status).toBe(200);
  }
  expect(by).toEqual(['user-operator', 'token-operator']);
});

describe('requests that a browser sends for another site', () => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, boolean])[] = [
    [{}, true],
    [{ 'Sec-Fetch-Site': 'same-origin', Origin: 'http://opsd.example' }, true],
    [{ 'Sec-Fetch-Site': 'none' }, true],
    [{ Origin: 'http://opsd.example' }, true],
    [{ Origin: 'https://opsd.example' }, true],
    [{ 'Sec-Fetch-Site': 'cross-site' }, false],
    [{ 'Sec-Fetch-Site': 'same-site' }, false],
    [{ 'Sec-Fetch-Site': 'cross-site', Origin: 'http://opsd.example' }, false],
    [{ Origin: 'http://evil.example' }, false],
    [{ Origin: 'http://opsd.example.evil.example' }, false],
    [{ Origin: 'http://opsd.example:8080' }, false],
    [{ Origin: 'null' }, false],
    [{ Origin: '' }, false],
    [{ 'Sec-Fetch-Site': '' }, false],
    [{ Origin: 'file://', Host: '' }, false],
  ];

  test.each(cases)('%j: admitted with a password: %s', async (headers, isLetIn) => {
    const by: string[] = [];
    const base = daemon({ tokens: true, users: true, anonymous: 'viewer' });
    const commands = engine({ pause: async (asked) => void by.push(asked.by) });
    const { address } = await serving({ ...base, hosts: ['opsd.example'], engine: commands });
    const pause = async (authorization: string) => {
      const all = { Host: 'opsd.example', ...headers, Authorization: authorization };
      return (await ask(address, '/api/v1/pause', { method: 'POST', headers: all, body: '{"reason": "x"}' })).status;
    };
    expect(await pause(basic('user-admin', PASSWORD))).toBe(isLetIn ? 200 : 403);
    // A browser never sends a token on its own.
    expect(await pause('Bearer secret-admin')).toBe(200);
    expect(by).toEqual(isLetIn ? ['user-admin', 'token-admin'] : ['token-admin']);
    const read = await ask(address, '/metrics', {
      headers: { ...headers, Authorization: basic('user-admin', PASSWORD) },
    });
    expect(read.status).toBe(200);
  });
});

describe('guesses of a password', () => {
  const GUESSES = 10;

  /** Status of a read as a user, from an address of this machine. */
  async function guessed() {
    const base = daemon({ tokens: false, users: true, anonymous: 'none' });
    const { address } = await serving(base);
    const read = (user: string, password: string, localAddress = '127.0.0.1') =>
      ask(address, '/metrics', { headers: { Authorization: basic(user, password) }, localAddress });
    const status = async (...given: Parameters<typeof read>) => (await read(...given)).status;
    const flood = async (): Promise<void> => {
      for (let guess = 0; guess < GUESSES; guess++) expect(await status('user-admin', `guess ${guess}`)).toBe(401);
    };
    return { address, clock: base.clock, read, status, flood };
  }

  test('are limited for each address, for five minutes', async () => {
    const { read, status, flood, clock } = await guessed();
    await flood();
    const limited = await read('user-admin', 'one more');
    expect([limited.status, limited.headers['retry-after']]).toEqual([429, '300']);
    expect(await status('nobody', 'one more'), 'an unknown user is a guess as well').toBe(429);
    expect(await status('user-admin', PASSWORD), 'a right guess shows nothing either').toBe(429);
    expect(await status('user-admin', PASSWORD, '127.0.0.2'), 'another address').toBe(200);
    await clock.advance(300_000);
    expect(await status('user-admin', PASSWORD)).toBe(200);
  });

  test('lock out no user behind the same address who has signed in before', async () => {
    const { status, flood } = await guessed();
    expect(await status('user-viewer', PASSWORD)).toBe(200);
    await flood();
    expect(await status('user-viewer', PASSWORD)).toBe(200);
    expect(await status('user-viewer', 'guess')).toBe(429);
  });

  test('that are repeated count once: a client with an old password locks out no one', async () => {
    const { status } = await guessed();
    for (let time = 0; time < 3 * GUESSES; time++) expect(await status('user-operator', 'old')).toBe(401);
    expect(await status('user-admin', PASSWORD)).toBe(200);
  });

  test('share the limit with the form', async () => {
    const { address, flood } = await guessed();
    await flood();
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ user: 'user-admin', secret: PASSWORD }).toString();
    expect((await ask(address, '/sign-in', { method: 'POST', headers, body })).status).toBe(429);
  });
});

describe('the rate limit', () => {
  test('accepts the burst, then one per interval; probes are exempt', async () => {
    const base = daemon({ tokens: false, users: false, anonymous: 'viewer' });
    const security = new ListenerSecurity(webOf(false, { rateLimit: { intervalMs: 1_000, burst: 2 } }), base.clock);
    const { address } = await serving({ ...base, security });
    const statuses = async (count: number) => {
      const seen: number[] = [];
      for (let number = 0; number < count; number++) seen.push((await ask(address, '/metrics')).status);
      return seen;
    };
    expect(await statuses(3)).toEqual([200, 200, 429]);
    expect((await ask(address, '/-/healthy')).status).toBe(200);
    await base.clock.advance(1_000);
    expect(await statuses(2)).toEqual([200, 429]);
    await base.clock.advance(60_000);
    expect(await statuses(3)).toEqual([200, 200, 429]);
    const { headers, text } = await ask(address, '/api/v1/status');
    expect(headers['retry-after']).toBe('1');
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'rate_limited' } });
    security.take(webOf(false));
    expect(await statuses(3)).toEqual([200, 200, 200]);
  });
});

test('added and removed users apply from the next request on', async () => {
  const base = daemon({ tokens: false, users: false, anonymous: 'viewer' });
  const security = new ListenerSecurity(webOf(false), base.clock);
  const { address } = await serving({ ...base, security });
  const status = async (header?: string) =>
    (await ask(address, '/metrics', header === undefined ? {} : { headers: { Authorization: header } })).status;
  expect(await status()).toBe(200);
  security.take(webOf(true));
  expect([await status(), await status(basic('user-viewer', PASSWORD))]).toEqual([401, 200]);
  security.take(webOf(false, { users: new Map([['user-viewer', Secret.of(hashSync('other', 4))]]) }));
  expect([await status(basic('user-viewer', PASSWORD)), await status(basic('user-viewer', 'other'))]).toEqual([
    401, 200,
  ]);
});

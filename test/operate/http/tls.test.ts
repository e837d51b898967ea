/** A listener with TLS: admitted clients, and certificates that change under open connections. */
import { once } from 'node:events';
import { request as httpsRequest, Agent, type AgentOptions } from 'node:https';
import { duplexPair } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '#foundation/platform/secret.ts';
import { ListenerSecurity } from '#operate/http/listener-security.ts';
import type { WebTls } from '#operate/http/tls-settings.ts';
import type { WebConfig } from '#operate/http/web-settings.ts';
import { authority, type Authority, type Issued } from '../../support/certificates.ts';
import { closed, raw, serving, world, type World } from './world.ts';

let ours: Authority;
let theirs: Authority;
let first: Issued;

beforeAll(async () => {
  ours = await authority('ours');
  theirs = await authority('theirs');
  first = await ours.issue();
});

function webOf(issued: Issued, tls: Partial<WebTls> = {}, web: Partial<WebConfig> = {}): WebConfig {
  return {
    tls: {
      cert: issued.cert,
      certFile: 'server.crt',
      key: Secret.of(issued.key),
      clientAuth: 'NoClientCert',
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.3',
      honorCipherOrder: true,
      notAfter: 0,
      ...tls,
    },
    headers: {},
    users: new Map(),
    digest: '',
    ...web,
  };
}

interface Listening {
  readonly address: string;
  readonly security: ListenerSecurity;
  readonly world: World;
}

async function listening(web: WebConfig): Promise<Listening> {
  const base = world();
  const security = new ListenerSecurity(web, base.clock);
  const { address } = await serving({ ...base, security });
  return { address, security, world: base };
}

function agent(options: AgentOptions = {}): Agent {
  const made = new Agent({ ca: ours.cert, ...options });
  onTestFinished(() => made.destroy());
  return made;
}

interface Seen {
  readonly status: number;
  /** Serial number of the server's certificate. */
  readonly serial: string;
  /** True if the request used an existing connection. */
  readonly isReused: boolean;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** @returns the response, or the reason for its absence */
function get(address: string, by: Agent = agent()): Promise<Seen | string> {
  return new Promise((resolve) => {
    const request = httpsRequest(`${address}/-/healthy`, { agent: by }, (response) => {
      const socket = response.socket as import('node:tls').TLSSocket;
      const serial = socket.getPeerX509Certificate()?.serialNumber ?? '';
      const seen = { status: response.statusCode!, serial, isReused: request.reusedSocket, headers: response.headers };
      // The connection becomes free one turn later.
      response.resume().on('end', () => setImmediate(() => resolve(seen)));
    });
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    request.end();
  });
}

const statusOf = (seen: Seen | string): number | string => (typeof seen === 'string' ? 'refused' : seen.status);

describe('TLS', () => {
  test('is used on the address, which says so', async () => {
    const { address } = await listening(webOf(first));
    expect(address).toMatch(/^https:\/\/127\.0\.0\.1:/);
    expect(await get(address)).toMatchObject({ status: 200 });
    expect(await get(address, agent({ ca: theirs.cert }))).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });

  test('is required: plain HTTP is cut without a response', async () => {
    const { address } = await listening(webOf(first));
    const socket = raw(address, 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    await closed(socket);
    expect(socket.received).not.toContain('HTTP/1.1 200');
    expect(socket.received).not.toContain('a 1');
  });

  test('carries the response to input that is not HTTP', async () => {
    const { address } = await listening(webOf(first));
    const socket = connectTls({ port: Number(new URL(address).port), host: '127.0.0.1', ca: ours.cert });
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.write('no HTTP\r\n\r\n');
    await closed(socket);
    expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test('uses the configured versions', async () => {
    const { address } = await listening(webOf(first, { minVersion: 'TLSv1.3' }));
    expect(statusOf(await get(address, agent({ maxVersion: 'TLSv1.2' })))).toBe('refused');
    expect(statusOf(await get(address))).toBe(200);
  });

  test('ends with the daemon, even during a handshake', async () => {
    const base = world();
    const server = await serving({ ...base, security: new ListenerSecurity(webOf(first), base.clock) });
    const socket = raw(server.address);
    const [near, far] = duplexPair();
    connectTls({ socket: near, ca: ours.cert }).on('error', () => undefined);
    // The server responds to the first message, and receives no second one.
    far.once('data', (hello: Buffer) => socket.write(hello));
    await once(socket, 'data');
    const [ended, cut] = [server.close(), closed(socket)];
    await base.clock.advance(2_000);
    await ended;
    await cut;
    expect(socket.destroyed).toBe(true);
    // Without a stop such a connection ends after ten seconds.
  }, 8_000);
});

/** Go's table: each kind of client, and whether it is admitted. */
describe('client certificates', () => {
  const kinds = {
    'no certificate': () => undefined,
    'one of ours': () => ours.issue({ use: 'client', sans: [{ type: 'dns', value: 'scraper.example' }] }),
    'one of others': () => theirs.issue({ use: 'client', sans: [{ type: 'dns', value: 'scraper.example' }] }),
    'one that has ended': () =>
      ours.issue({ use: 'client', notBefore: new Date('2020-01-01'), notAfter: new Date('2020-02-01') }),
    'one that begins tomorrow': () => ours.issue({ use: 'client', notBefore: new Date(Date.now() + 86_400_000) }),
    'one for servers': () => ours.issue({ use: 'server' }),
  } as const;
  const refused = (...bad: (keyof typeof kinds)[]) =>
    Object.fromEntries(Object.keys(kinds).map((kind) => [kind, (bad as string[]).includes(kind) ? 'refused' : 200]));
  const unproven = ['one of others', 'one that has ended', 'one that begins tomorrow', 'one for servers'] as const;

  test.each([
    ['NoClientCert', refused()],
    ['RequestClientCert', refused()],
    ['RequireAnyClientCert', refused('no certificate')],
    ['VerifyClientCertIfGiven', refused(...unproven)],
    ['RequireAndVerifyClientCert', refused('no certificate', ...unproven)],
  ] as const)('%s', async (clientAuth, expected) => {
    const { address } = await listening(webOf(first, { clientAuth, clientCa: ours.cert }));
    const seen: Record<string, unknown> = {};
    for (const [kind, issue] of Object.entries(kinds)) {
      for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
        const issued = await issue();
        const status = statusOf(await get(address, agent({ maxVersion, ...issued })));
        expect(seen[kind] ?? status, `${kind} over ${maxVersion}`).toBe(status);
        seen[kind] = status;
      }
    }
    expect(seen).toEqual(expected);
  });

  test('that are rejected are logged with reason and setting, at most once a minute', async () => {
    const tls = { clientAuth: 'RequireAndVerifyClientCert', clientCa: ours.cert } as const;
    const { address, world: base } = await listening(webOf(first, { ...tls }));
    const lines = () =>
      base.log
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => msg === 'client rejected')
        .map(({ level, refusal, rule, unlogged }) => [level, refusal, rule, unlogged]);
    const rule = 'client_auth_type RequireAndVerifyClientCert in server.webConfigFile';
    const invalid = 'the client certificate is invalid:';
    const expected: unknown[] = [];
    for (const [kind, refusal] of [
      ['no certificate', 'no client certificate'],
      ['one of others', `${invalid} its authority is not in client_ca_file (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`],
      ['one that has ended', `${invalid} it has expired (CERT_HAS_EXPIRED)`],
      ['one that begins tomorrow', `${invalid} it is not valid yet; compare the clocks (CERT_NOT_YET_VALID)`],
      ['one for servers', `${invalid} its extended key usage is not for clients (INVALID_PURPOSE)`],
    ] as const) {
      const client = (await kinds[kind]()) ?? {};
      for (let times = 0; times < 2; times += 1) expect(statusOf(await get(address, agent(client)))).toBe('refused');
      expected.push(['warn', refusal, rule, expected.length === 0 ? undefined : 1]);
      expect(lines()).toEqual(expected);
      await base.clock.advance(60_000);
    }
  });

  test.each([
    [{ type: 'dns', value: 'scraper.example' }, 'scraper.example'],
    [{ type: 'ip', value: '192.0.2.7' }, '192.0.2.7'],
    [{ type: 'ip', value: '2001:db8::7' }, '2001:db8::7'],
    [{ type: 'email', value: 'ops@example.com' }, 'ops@example.com'],
    [{ type: 'url', value: 'spiffe://example/scraper' }, 'spiffe://example/scraper'],
  ] as const)('must have an allowed name, such as %j', async (name, allowed) => {
    const tls = { clientAuth: 'RequireAndVerifyClientCert', clientCa: ours.cert } as const;
    const { address } = await listening(webOf(first, { ...tls, allowedSans: ['else.example', allowed] }));
    const other = { type: 'dns', value: 'a.example' } as const;
    expect(statusOf(await get(address, agent(await ours.issue({ use: 'client', sans: [other, name] }))))).toBe(200);
    expect(statusOf(await get(address, agent(await ours.issue({ use: 'client', sans: [other] }))))).toBe('refused');
    expect(statusOf(await get(address, agent(await ours.issue({ use: 'client', sans: [], name: allowed }))))).toBe(
      'refused',
    );
    expect(statusOf(await get(address))).toBe('refused');
  });

  test('cannot contain a name inside another', async () => {
    const tls = { clientAuth: 'RequireAndVerifyClientCert', clientCa: ours.cert } as const;
    const { address } = await listening(webOf(first, { ...tls, allowedSans: ['good.example'] }));
    const sans = [{ type: 'url', value: 'http://x/, DNS:good.example, DNS:z.example' }] as const;
    expect(statusOf(await get(address, agent(await ours.issue({ use: 'client', sans }))))).toBe('refused');
  });

  test('count for each connection: no earlier session is resumed', async () => {
    const tls = { clientAuth: 'RequireAndVerifyClientCert', clientCa: ours.cert } as const;
    const issued = await ours.issue({ use: 'client' });
    const isReused = async (web: WebConfig, maxVersion: 'TLSv1.2' | 'TLSv1.3'): Promise<boolean> => {
      const port = Number(new URL((await listening(web)).address).port);
      const visit = async (session?: Buffer) => {
        const known = session === undefined ? {} : { session };
        const socket = connectTls({ port, host: '127.0.0.1', ca: ours.cert, maxVersion, ...issued, ...known });
        let last: Buffer | undefined;
        socket.on('session', (given) => (last = given));
        socket.end('GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').resume();
        await once(socket, 'secureConnect');
        const reused = socket.isSessionReused();
        await closed(socket);
        return { reused, session: last ?? socket.getSession() };
      };
      return (await visit((await visit()).session)).reused;
    };
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      expect(await isReused(webOf(first), maxVersion)).toBe(true);
      expect(await isReused(webOf(first, tls), maxVersion)).toBe(false);
    }
  });
});

describe('certificates that change', () => {
  test('apply to new connections; open ones stay', async () => {
    const { address, security } = await listening(webOf(first));
    const kept = agent({ keepAlive: true, maxSockets: 1 });
    const before = (await get(address, kept)) as Seen;
    const second = await ours.issue();
    security.take(webOf(second));
    const on = (await get(address, kept)) as Seen;
    expect(on).toMatchObject({ status: 200, isReused: true });
    const after = (await get(address)) as Seen;
    expect(after.status).toBe(200);
    expect(after.serial).not.toBe(before.serial);
  });

  test('of clients: those of the previous authority are rejected from now on', async () => {
    const tls = { clientAuth: 'RequireAndVerifyClientCert' } as const;
    const { address, security } = await listening(webOf(first, { ...tls, clientCa: ours.cert }));
    const [mine, other] = [await ours.issue({ use: 'client' }), await theirs.issue({ use: 'client' })];
    const both = async () => [statusOf(await get(address, agent(mine))), statusOf(await get(address, agent(other)))];
    expect(await both()).toEqual([200, 'refused']);
    security.take(webOf(first, { ...tls, clientCa: theirs.cert }));
    expect(await both()).toEqual(['refused', 200]);
  });

  test('that cannot be served change nothing', async () => {
    const { address, security } = await listening(webOf(first, {}, { headers: { 'X-XSS-Protection': '1' } }));
    const other = await ours.issue();
    expect(() => security.take(webOf({ cert: first.cert, key: other.key }))).toThrow(/key values mismatch/);
    expect(() => security.take({ headers: {}, users: new Map(), digest: '' })).toThrow(/cannot become one of plain/);
    expect(await get(address)).toMatchObject({ status: 200, headers: { 'x-xss-protection': '1' } });
  });
});

describe('other settings of the file', () => {
  test('headers are in every response, and replace the usual ones', async () => {
    const headers = { 'X-Frame-Options': 'sameorigin', 'Content-Security-Policy': "default-src 'self'" };
    const { address, security } = await listening(webOf(first, {}, { headers }));
    const lower = { 'x-frame-options': 'sameorigin', 'content-security-policy': "default-src 'self'" };
    expect(await get(address)).toMatchObject({ headers: lower });
    security.take(webOf(first));
    expect(await get(address)).toMatchObject({
      headers: { 'content-security-policy': expect.stringContaining("'none'") },
    });
  });
});

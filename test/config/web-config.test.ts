/** The web configuration file in the format of exporters. Unsupported content is reported with its place. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { formatProblems } from '#config/load.ts';
import { readWebConfig, type WebConfigRead } from '#config/web-config.ts';
import type { WebConfig } from '#operate/http/web-settings.ts';
import { authority, type Issued } from '../support/certificates.ts';
import { tempDir } from '../support/temp-dir.ts';

const HASH = '$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG';
/** Files next to it. */
const files: Record<string, string> = {};
let pair: Issued;
let other: Issued;
let ca: string;

beforeAll(async () => {
  const root = await authority();
  ca = root.cert;
  pair = await root.issue({ notAfter: new Date('2031-05-06T07:08:09Z') });
  other = await root.issue();
  const encrypted = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  Object.assign(files, {
    'server.crt': pair.cert,
    'server.key': pair.key,
    'other.key': other.key,
    'ca.crt': ca,
    'short.crt': pair.cert.slice(0, 200),
    'cut.crt': ca + other.cert.slice(0, 200),
    'broken.crt': pair.cert.replace(/^[A-Za-z0-9+/]{20}/m, 'AAAAAAAAAAAAAAAAAAAA'),
    'encrypted.key': encrypted.privateKey,
  });
});

function read(text: string, options: { noUsers?: string; taken?: string[] } = {}): WebConfigRead {
  const folder = tempDir();
  for (const [name, beside] of Object.entries(files)) writeFileSync(join(folder, name), beside);
  writeFileSync(join(folder, 'web.yaml'), text);
  return readWebConfig(join(folder, 'web.yaml'), { shown: 'web.yaml', taken: [], ...options });
}

function good(text: string): WebConfig {
  const { web, problems } = read(text);
  expect(formatProblems(problems)).toBe('');
  return web!;
}

/** Returns the problems, one line each: place, path, message, help. */
function wrong(text: string, options: Parameters<typeof read>[1] = {}): readonly string[] {
  const { web, problems } = read(text, options);
  expect(web === undefined).toBe(problems.some(({ severity }) => severity === 'error'));
  return problems.map(
    ({ line, column, path, message, help }) =>
      `${line}:${column} ${path}: ${message.replaceAll(/\/\S+\//g, 'FOLDER/')}${help === undefined ? '' : ` (${help})`}`,
  );
}

const TLS = 'tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n';

describe('a valid web configuration file', () => {
  test.each(['{}', 'tls_server_config:\n', 'tls_server_config: { cert_file: "", key_file: "" }\n'])(
    'can be empty: %j',
    (text) => {
      expect(good(text)).toMatchObject({ headers: {}, users: new Map() });
      expect(good(text).tls).toBeUndefined();
    },
  );

  test('names certificate and key next to itself', () => {
    const { tls } = good(TLS);
    expect(tls).toMatchObject({
      cert: pair.cert,
      certFile: expect.stringMatching(/^\/.*\/server\.crt$/) as string,
      clientAuth: 'NoClientCert',
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.3',
      honorCipherOrder: true,
      notAfter: Date.parse('2031-05-06T07:08:09Z'),
    });
    expect(tls?.key.reveal()).toBe(pair.key);
  });

  test('can contain them itself', () => {
    const block = (text: string): string => text.trimEnd().replaceAll('\n', '\n    ');
    const { tls } = good(
      `tls_server_config:\n  cert: |\n    ${block(pair.cert)}\n  key: |\n    ${block(pair.key)}\n  client_ca: |\n    ${block(ca)}\n  client_auth_type: RequireAndVerifyClientCert\n`,
    );
    expect(tls).toMatchObject({ cert: pair.cert, clientCa: ca, clientAuth: 'RequireAndVerifyClientCert' });
  });

  test('selects versions, ciphers and curves by their names in Go', () => {
    const { tls } = good(
      `${TLS}  min_version: TLS12\n  max_version: TLS12\n  prefer_server_cipher_suites: false\n  cipher_suites:\n  - TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384\n  - TLS_AES_128_GCM_SHA256\n  curve_preferences: [CurveP384, X25519]\n`,
    );
    expect(tls).toMatchObject({
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.2',
      honorCipherOrder: false,
      curves: 'P-384:X25519',
    });
    expect(tls?.ciphers).toMatch(/:ECDHE-ECDSA-AES256-GCM-SHA384$/);
    expect(good(`${TLS}  cipher_suites: [TLS_AES_128_GCM_SHA256]\n`).tls).toMatchObject({ minVersion: 'TLSv1.3' });
  });

  test.each([
    ['RequireClientCert', 'RequireAnyClientCert'],
    ['RequestClientCert', 'RequestClientCert'],
    ['""', 'NoClientCert'],
  ])('can set client_auth_type: %s', (written, meant) => {
    expect(good(`${TLS}  client_auth_type: ${written}\n`).tls).toMatchObject({ clientAuth: meant });
  });

  test('has headers, users, a rate limit, and accepts http2 either way', () => {
    const web = good(
      `http_server_config:\n  http2: true\n  headers:\n    X-Frame-Options: sameorigin\n    X-XSS-Protection: 1\n    Strict-Transport-Security: ""\nbasic_auth_users:\n  alice: ${HASH}\n  __proto__: ${HASH}\nrate_limit: { interval: 100ms, burst: 20 }\n`,
    );
    expect(web.headers).toEqual({ 'X-Frame-Options': 'sameorigin', 'X-XSS-Protection': '1' });
    expect([...web.users].map(([name, hash]) => [name, hash.reveal()])).toEqual([
      ['alice', HASH],
      ['__proto__', HASH],
    ]);
    expect(web.rateLimit).toEqual({ intervalMs: 100, burst: 20 });
    expect(good('rate_limit: { interval: 0, burst: 0 }\n').rateLimit).toBeUndefined();
  });

  test('replaces nothing: a dollar is a dollar', () => {
    const { headers } = good('http_server_config: { headers: { Content-Security-Policy: "a ${env:HOME} $2y" } }\n');
    expect(headers).toEqual({ 'Content-Security-Policy': 'a ${env:HOME} $2y' });
  });

  test('differs when a file that it names differs', () => {
    const before = good(TLS);
    expect(good(TLS).digest).toBe(before.digest);
    files['server.crt'] = `${pair.cert}\n`;
    expect(good(TLS).digest).not.toBe(before.digest);
    files['server.crt'] = pair.cert;
  });
});

describe('problems are reported at their place', () => {
  const folder = join(import.meta.dirname, '../fixtures/web-config');
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

  test.each(names.map((name) => name.slice(0, -'.yaml'.length)))('%s', async (name) => {
    const told = wrong(readFileSync(join(folder, `${name}.yaml`), 'utf8'));
    expect(told).not.toEqual([]);
    await expect(`${told.join('\n')}\n`).toMatchFileSnapshot(join(folder, `${name}.txt`));
  });

  test('users of hooks, and of the name of a token', () => {
    const users = `basic_auth_users:\n  oncall: ${HASH}\n`;
    expect(wrong(users, { noUsers: 'they have tokens' })).toEqual([
      '2:3 basic_auth_users.oncall: users are not allowed here (they have tokens)',
    ]);
    expect(wrong(users, { taken: ['oncall'] })).toEqual([
      expect.stringContaining('oncall is already the name of another caller'),
    ]);
  });

  test('in a file with unknown keys, without a secret', () => {
    const key = pair.key.split('\n')[1]!;
    for (const text of [`users:\n\talice: ${HASH}\n`, `kee: "-----BEGIN PRIVATE KEY----- ${key}\n  : {\n`]) {
      const told = formatProblems(read(text).problems);
      expect(told).not.toBe('');
      for (const secret of [HASH, key]) expect(told).not.toContain(secret);
    }
  });

  test.each(['users: { alice: canary }\n', 'alice: canary\n', 'basic_auth_users:\n  alice: x\n  alice: canary\n'])(
    'where users are written differently, without a password: %j',
    (text) => {
      const told = formatProblems(read(text).problems);
      expect(told).not.toBe('');
      expect(told).not.toContain('canary');
    },
  );

  test('all at once, without a secret', () => {
    const { problems } = read(
      `basic_auth_users:\n  alice: canary-hash\n  bob: ${HASH} bad\ntls_server_config:\n  key: canary-key\n  keey: canary-kee\n  cert: |\n    -----BEGIN PRIVATE KEY-----\n    canarypem\n  : bad\n`,
    );
    const text = formatProblems(problems);
    expect(text).not.toBe('');
    expect(text).not.toMatch(/canary/);
    expect(text).not.toContain(HASH);
  });
});

/** The web configuration file in the format of exporters. Unsupported content is reported with its place. */
import { writeFileSync } from 'node:fs';
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
  test.each<readonly [string, string, readonly string[]]>([
    [
      'an unknown key',
      'tls_server_confg: {}\n',
      ['1:1 tls_server_confg: unknown key (did you mean tls_server_config?)'],
    ],
    ['nothing at all', '', ['1:1 : the file is empty (write {} for no settings)']],
    ['no more than a word', '# soon\n', ['1:1 : the file is empty (write {} for no settings)']],
    ['a key of a later version', 'auth_excluded_paths: [/x]\n', [expect.stringContaining('unknown key') as string]],
    [
      'no key for the certificate',
      'tls_server_config:\n  cert_file: server.crt\n',
      ['1:1 tls_server_config: the key is missing (add key_file)'],
    ],
    [
      'no certificate for the key',
      'tls_server_config:\n  key_file: server.key\n',
      ['1:1 tls_server_config: the certificate is missing (add cert_file)'],
    ],
    [
      'a file that is not there',
      TLS.replace('server.crt', 'no.crt'),
      ['2:14 tls_server_config.cert_file: the file does not exist (the path is relative to the folder of this file)'],
    ],
    [
      'a key of another certificate',
      TLS.replace('server.key', 'other.key'),
      [
        '3:13 tls_server_config.key_file: the key in FOLDER/other.key does not match the certificate in FOLDER/server.crt (replace both together)',
      ],
    ],
    [
      'a certificate that is cut off',
      TLS.replace('server.crt', 'short.crt'),
      ['2:14 tls_server_config.cert_file: invalid certificate (check that the file is complete)'],
    ],
    [
      'no certificate at all',
      TLS.replace('server.crt', 'server.key'),
      ['2:14 tls_server_config.cert_file: no certificate in PEM form (PEM begins with -----BEGIN CERTIFICATE-----)'],
    ],
    [
      'authorities that are cut off',
      `${TLS}  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: cut.crt\n`,
      ['5:19 tls_server_config.client_ca_file: invalid certificate (check that the file is complete)'],
    ],
    [
      'an authority whose own is missing',
      `${TLS}  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: server.crt\n`,
      [
        '5:19 tls_server_config.client_ca_file: every client certificate would be invalid: the root of these authorities is missing (add the root certificate)',
      ],
    ],
    [
      'a certificate that is none',
      TLS.replace('server.crt', 'broken.crt'),
      ['2:14 tls_server_config.cert_file: invalid certificate (check that the file is complete)'],
    ],
    [
      'a certificate in place of the key',
      TLS.replace('server.key', 'ca.crt'),
      ['3:13 tls_server_config.key_file: no private key in PEM form (PEM begins with -----BEGIN PRIVATE KEY-----)'],
    ],
    [
      'an encrypted key',
      TLS.replace('server.key', 'encrypted.key'),
      [
        '3:13 tls_server_config.key_file: this key is encrypted, and the daemon has no passphrase (decrypt it with openssl pkey -in FILE -out FILE)',
      ],
    ],
    [
      'both of a kind',
      `${TLS}  cert: x\n`,
      ['4:9 tls_server_config.cert: cert and cert_file exclude each other (remove cert)'],
    ],
    [
      'authorities that no client is asked about',
      `${TLS}  client_ca_file: ca.crt\n`,
      [
        '4:19 tls_server_config.client_ca_file: no effect: without client_auth_type, no certificate is requested (write client_auth_type: RequireAndVerifyClientCert)',
      ],
    ],
    [
      'no authorities',
      `${TLS}  client_auth_type: RequireAndVerifyClientCert\n`,
      [
        '4:21 tls_server_config.client_auth_type: RequireAndVerifyClientCert without authorities: a certificate of any authority would be valid (add client_ca_file)',
      ],
    ],
    [
      'names that no client is asked for',
      `${TLS}  client_allowed_sans: [a]\n`,
      [
        '4:3 tls_server_config.client_allowed_sans: no effect: without client_auth_type, no certificate is requested (write client_auth_type: RequireAndVerifyClientCert)',
      ],
    ],
    [
      'names that prove nothing',
      `${TLS}  client_allowed_sans: [a]\n  client_auth_type: RequireAnyClientCert\n`,
      [
        '4:3 tls_server_config.client_allowed_sans: RequireAnyClientCert does not verify certificates: anyone can create one with such a name (write client_auth_type: RequireAndVerifyClientCert)',
      ],
    ],
    [
      'an auth type that is misspelt',
      `${TLS}  client_auth_type: RequireAndVerifyClientCerts\n`,
      [
        '4:21 tls_server_config.client_auth_type: expected one of , NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert, RequireClientCert, got text "RequireAndVerifyClientCerts" (did you mean RequireAndVerifyClientCert?)',
      ],
    ],
    [
      'an old version',
      `${TLS}  min_version: TLS10\n`,
      [
        '4:16 tls_server_config.min_version: expected TLS12 or TLS13, got text "TLS10" (older versions are insecure and not supported)',
      ],
    ],
    [
      'versions the wrong way round',
      `${TLS}  min_version: TLS13\n  max_version: TLS12\n`,
      ['5:16 tls_server_config.max_version: lower than the minimum version (check min_version and cipher_suites)'],
    ],
    [
      'a cipher that is not known',
      `${TLS}  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA255]\n`,
      [expect.stringMatching(/^4:19 .*did you mean TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\?/) as string],
    ],
    [
      'settings of TLS without a certificate',
      'tls_server_config:\n  min_version: TLS13\n',
      ['2:16 tls_server_config.min_version: no effect: TLS needs a certificate (add cert_file and key_file)'],
    ],
    [
      'a header of another kind',
      'http_server_config:\n  headers:\n    X-Powered-By: me\n    X-Frame-Option: deny\n',
      [
        '3:5 http_server_config.headers.X-Powered-By: unknown key (the keys here are Content-Security-Policy, X-Frame-Options, X-Content-Type-Options, X-XSS-Protection, Strict-Transport-Security)',
        '4:5 http_server_config.headers.X-Frame-Option: unknown key (did you mean X-Frame-Options?)',
      ],
    ],
    [
      'values that no browser knows',
      'http_server_config:\n  headers:\n    X-Frame-Options: maybe\n    Content-Security-Policy: "a\\nb"\n',
      [
        '3:22 http_server_config.headers.X-Frame-Options: must be deny or sameorigin',
        '4:30 http_server_config.headers.Content-Security-Policy: invalid header value (write one line of text)',
      ],
    ],
    [
      'no hash',
      'basic_auth_users:\n  alice: s3cr3t\n',
      [
        '2:10 basic_auth_users.alice: not a bcrypt hash (htpasswd -nBC 10 "" | tr -d \':\\n\' prompts for the password and prints its hash)',
      ],
    ],
    [
      'a mapping in place of a hash',
      'basic_auth_users: { alice: { hash: 1 } }\n',
      [
        expect.stringMatching(/^1:2\d basic_auth_users\.alice: /) as string,
        expect.stringMatching(/^1:2\d basic_auth_users\.alice: not a bcrypt hash/) as string,
      ],
    ],
    [
      'a hash that takes too long',
      `basic_auth_users:\n  alice: ${HASH.replace('$10$', '$16$')}\n`,
      ['2:10 basic_auth_users.alice: the cost of this hash is 16; it must be 4 to 15 (create one with cost 10)'],
    ],
    [
      'names that cannot be sent, or told apart',
      `basic_auth_users:\n  "a:b": ${HASH}\n  local: ${HASH}\n`,
      [
        '2:3 basic_auth_users["a:b"]: invalid user name (write 1 to 200 visible characters without a colon)',
        '3:3 basic_auth_users.local: local is already the name of another caller (rename the user, so that the audit log can distinguish them)',
      ],
    ],
    [
      'an interval without a unit',
      'rate_limit: { interval: 5, burst: 1 }\n',
      ['1:25 rate_limit.interval: expected a duration such as 1s or 100ms, or 0 for no limit, got number 5 (write 5s)'],
    ],
    [
      'a burst of nothing',
      'rate_limit: { interval: 1s }\n',
      [
        '1:25 rate_limit.burst: with an interval and a burst of 0, every request would be rejected (write the number of requests that may come at once)',
      ],
    ],
  ])('%s', (_what, text, expected) => {
    expect(wrong(text)).toEqual(expected);
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

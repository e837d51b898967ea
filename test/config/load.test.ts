/** A valid configuration becomes one complete value. Tests of invalid ones that fixtures cannot express. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Config } from '#config/config.ts';
import { formatProblems, loadConfig, type LoadResult, parseConfig, type ConfigProblem } from '#config/load.ts';
import { authority } from '../support/certificates.ts';
import { tempDir } from '../support/temp-dir.ts';
import { unprivileged } from '../support/unprivileged.ts';

const EMBEDDED = 'accounts: [{ name: main, url: embedded }]\n';
const POLICY = `
  - name: resume-billing
    account: main
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume }
`;

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly baseDir?: string;
  readonly secrets?: boolean;
}

function parse(text: string, options: Options = {}): LoadResult {
  return parseConfig(text, { file: 'opsd.yaml', baseDir: '/etc/opsd', env: {}, ...options });
}

function good(text: string, options: Options = {}): Config {
  const result = parse(text, { secrets: false, ...options });
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.config;
}

function bad(text: string, options: Options = {}): readonly ConfigProblem[] {
  const result = parse(text, options);
  if (result.ok) throw new Error('no problem was found');
  return result.problems;
}

/** Prints how often the schema of policies was built after each configuration. It is built once in a process. */
const COUNT_BUILDS = `
  import { policySettings } from '#automate/policies/settings.ts';
  import { parseConfig } from '#config/load.ts';
  const { def } = policySettings._zod;
  const build = def.getter;
  let builds = 0;
  def.getter = () => (builds++, build());
  for (const text of process.argv.slice(1)) {
    parseConfig(text, { file: 'opsd.yaml', baseDir: '/etc/opsd', env: {} });
    console.log(builds);
  }
`;

test.each([201, 500, 1_500, 3_000])('%i levels of mappings are a problem of the file, not a crash', (levels) => {
  const nested = `${'{ a: '.repeat(levels)}1${' }'.repeat(levels)}`;
  for (const text of [`accounts: ${nested}\n`, `accounts: ${'{"message":'.repeat(levels)}\n`]) {
    expect(parse(text)).toMatchObject({ problems: [{ message: 'lists or mappings are nested too deeply' }] });
  }
});

test('the schema of policies is built when a configuration has policies', () => {
  const texts = [EMBEDDED, `${EMBEDDED}policies: [{ name: one }]\n`];
  const cwd = join(import.meta.dirname, '../..');
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', COUNT_BUILDS, ...texts], { cwd });
  expect(printed.toString()).toBe('0\n1\n');
});

describe('a valid configuration', () => {
  test('the shortest one has everything', () => {
    const config = good('accounts:\n  - { name: main, url: "https://eu.msgsvc.example", token: t }\n');
    expect(config.accounts).toHaveLength(1);
    expect(config.accounts[0]).toMatchObject({
      name: 'main',
      messageApi: { url: 'https://eu.msgsvc.example', token: 't' },
      wire: {
        headerPrefix: 'Svc',
        product: 'msgsvc',
        integrationEmailField: 'integration_email',
        bandwidthUnit: 'B',
      },
      client: { requestsPerSecond: 10, timeout: 10_000 },
    });
    expect(config.accounts[0]).not.toHaveProperty('url');
    expect(config.accounts[0]).not.toHaveProperty('token');
    expect(config.accounts[0]!.managementApi).toBeUndefined();
    expect(config).toMatchObject({
      version: 1,
      server: { listen: { host: '127.0.0.1', port: 10_777 } },
      policies: [],
      sourceFile: '/etc/opsd/opsd.yaml',
      files: ['/etc/opsd/opsd.yaml'],
    });
  });

  test('every path is absolute, and starts at the folder of the file', () => {
    const config = good(`
storage: { sqlite: { path: state/opsd.db }, backup: { dir: copies } }
engine: { killSwitchFile: PAUSE }
server: { tokens: [{ name: ops, role: viewer, tokenFile: ops }], users: { readFile: viewer }, webConfigFile: web.yaml }
telemetry: { traces: { otlp: { url: "http://a.example", headers: { xFile: text } } } }
policyFiles: []
policies:
  - name: delete-hopeless
    account: short
    every: 1h
    select: { resource: workflow-dlq }
    where: entry.cause == "permanent"
    action: { type: workflow-dlq.delete, archive: { dir: ./archive } }
accounts:
  - name: main
    messageApi: { url: "https://a.example", tokenFile: secrets/token, actionTokenFile: ../action }
    managementApi: { url: "https://b.example", accountId: a, username: u, passwordFile: /run/password }
  - { name: short, url: "https://a.example", tokenFile: ./token }
`);
    expect(config.storage.sqlite?.path).toBe('/etc/opsd/state/opsd.db');
    expect(config.storage.backup).toEqual({ every: 86_400_000, dir: '/etc/opsd/copies', keep: 7 });
    expect(config.policies[0]?.settings.action).toMatchObject({ archive: { dir: '/etc/opsd/archive' } });
    expect(config.engine.killSwitchFile).toBe('/etc/opsd/PAUSE');
    expect(config.server).toMatchObject({
      webConfigFile: '/etc/opsd/web.yaml',
      tokens: [{ tokenFile: '/etc/opsd/ops' }],
    });
    // Keys that an author chooses have no paths.
    expect(config.server.users).toEqual({ readFile: 'viewer' });
    expect(config.telemetry.traces).toMatchObject({ otlp: { headers: { xFile: 'text' } } });
    expect(config.accounts[0]).toMatchObject({
      messageApi: { tokenFile: '/etc/opsd/secrets/token', actionTokenFile: '/etc/action' },
      managementApi: { passwordFile: '/run/password' },
    });
    expect(config.accounts[1]?.messageApi).toEqual({ url: 'https://a.example', tokenFile: '/etc/opsd/token' });
  });

  test.each(['users', 'headers', 'labels', 'callbacks'])('paths below the name %s are absolute as well', (name) => {
    const config = good(`${EMBEDDED}
hooks: { alertmanager: { ${name}: { tokenFile: ./token } } }
notifications: { owners: { ${name}: { webhook: { url: "http://a.example", tokenFile: ./other } } } }
`);
    expect(config.hooks.alertmanager[name]).toMatchObject({ tokenFile: '/etc/opsd/token' });
    expect(config.notifications.owners[name]).toMatchObject({ webhook: { tokenFile: '/etc/opsd/other' } });
  });

  test('variables are replaced in values, and parsed as numbers only where one is expected', () => {
    const text = `
accounts:
  - name: "\${env:REGION}-main"
    url: embedded
    client: { requestsPerSecond: "\${env:RATE}", timeout: "\${env:TIMEOUT:-7s}" }
    collectors: { logs: { enabled: "\${env:LOGS}" } }
    flowControlKeys: ["\${env:RATE}", "$\${env:RATE}"]
version: \${env:VERSION}
`;
    const config = good(text, { env: { REGION: 'eu', RATE: '2.5', LOGS: 'false', VERSION: '1' } });
    expect(config.accounts[0]).toMatchObject({
      name: 'eu-main',
      client: { requestsPerSecond: 2.5, timeout: 7_000 },
      collectors: { logs: { enabled: false } },
      flowControlKeys: ['2.5', '${env:RATE}'],
    });
  });

  test('a variable is a value, whatever its content', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (value) => {
        const api = 'url: "https://a.example", accountId: "${env:T}", username: u, password: p';
        const config = good(`accounts: [{ name: m, managementApi: { ${api} } }]\n`, { env: { T: value } });
        expect(config.accounts[0]?.managementApi?.accountId).toBe(value);
      }),
    );
    const yaml = 'x }]\nlog: { level: debug }\naccounts: [{ name: y';
    expect(bad('accounts: [{ name: "${env:T}", url: embedded }]\n', { env: { T: yaml } })).toHaveLength(1);
  });

  test.each(['007', '1_000', '0x10', ' 1', '1 ', '', 'yes', 'True', '.5', '1e', 'Infinity'])(
    'a variable that holds %j is neither number nor boolean',
    (value) => {
      const text = 'accounts: [{ name: m, url: embedded, client: { requestsPerSecond: "${env:V}" } }]\n';
      expect(bad(text, { env: { V: value } })).toMatchObject([{ path: 'accounts[0].client.requestsPerSecond' }]);
    },
  );

  test('aliases and merge keys are followed; own keys win', () => {
    const config = good(`
accounts:
  - name: main
    url: embedded
    client: &slow { requestsPerSecond: 1, timeout: 3s }
    flowControlKeys: &keys [a, b]
  - name: other
    url: embedded
    client: { <<: *slow, timeout: 9s }
    flowControlKeys: *keys
`);
    expect(config.accounts[1]).toMatchObject({
      client: { requestsPerSecond: 1, timeout: 9_000 },
      flowControlKeys: ['a', 'b'],
    });
  });

  test('a database with several hosts is refused, with the reason', () => {
    for (const url of ['postgres://u:p@a:5432,b:5432/opsd', 'postgres://u:p@/opsd?host=a,b']) {
      const problems = bad(`${EMBEDDED}storage: { postgres: { url: "${url}" } }\n`);
      expect(problems).toMatchObject([{ path: 'storage.postgres.url' }]);
      expect(problems[0]!.message).toMatch(/^names several hosts, but the daemon connects to one: use the address/);
    }
  });

  test('keys such as __proto__ are only unknown keys', () => {
    expect(bad(`${EMBEDDED}__proto__: { polluted: true }\nconstructor: 1\n`)).toMatchObject([
      { path: '__proto__', message: 'unknown key' },
      { path: 'constructor', message: 'unknown key' },
    ]);
    expect({}).not.toHaveProperty('polluted');
  });

  test('the hash follows the contents', () => {
    expect(good(EMBEDDED).hash).toBe(good(EMBEDDED).hash);
    expect(good(EMBEDDED).hash).toMatch(/^[0-9a-f]{64}$/);
    expect(good(`${EMBEDDED}# changed\n`).hash).not.toBe(good(EMBEDDED).hash);
  });

  test('the hash of replicas that differ only by their name is the same', () => {
    const named = (name: string, more = '') =>
      good(`${EMBEDDED}storage: { postgres: { url: "postgres://db/opsd", replica: ${name}${more} } }\n`);
    expect(named('one').hash).toBe(named('another-one').hash);
    expect(named('one').contents).not.toBe(named('another-one').contents);
    expect(named('one', ', leaseFor: 10s').hash).not.toBe(named('one').hash);
  });

  test('a byte order mark and Windows line ends are accepted', () => {
    const folder = tempDir();
    writeFileSync(join(folder, 'opsd.yaml'), `\uFEFF${EMBEDDED.replaceAll('\n', '\r\n')}log: { level: loud }\r\n`);
    const result = loadConfig(join(folder, 'opsd.yaml'), { env: {} });
    expect(result).toMatchObject({ ok: false, problems: [{ line: 2, column: 15, path: 'log.level' }] });
  });
});

describe('files of policies', () => {
  function folderWith(files: Readonly<Record<string, string>>): string {
    const folder = tempDir();
    mkdirSync(join(folder, 'policies'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return folder;
  }
  const named = (name: string): string => `policies:${POLICY.replace('resume-billing', name)}`;

  test('are read in order, after the inline ones, and keep their place', () => {
    const folder = folderWith({
      'opsd.yaml': `${EMBEDDED}${named('inline')}policyFiles: [policies/*.yaml, extra.yaml, policies/b.yaml]\n`,
      'policies/b.yaml': named('b'),
      'policies/a.yaml': `# One comment.\n${named('a')}`,
      'policies/.hidden.yaml': 'not: this',
      'policies/readme.md': 'nor this',
      'extra.yaml': named('extra'),
    });
    const result = loadConfig(join(folder, 'opsd.yaml'), { env: {} });
    if (!result.ok) throw new Error(formatProblems(result.problems));
    expect(result.config.policies.map((policy) => [policy.settings.name, policy.source])).toEqual([
      ['inline', 'opsd.yaml:3'],
      ['a', 'policies/a.yaml:3'],
      ['b', 'policies/b.yaml:2'],
      ['extra', 'extra.yaml:2'],
    ]);
    expect(result.config.files.map((file) => file.slice(folder.length + 1))).toEqual([
      'opsd.yaml',
      'policies/a.yaml',
      'policies/b.yaml',
      'extra.yaml',
    ]);
    expect(result.config.policyFiles[0]).toBe(join(folder, 'policies/*.yaml'));
  });

  test('count in the hash', () => {
    const folder = folderWith({ 'opsd.yaml': `${EMBEDDED}policyFiles: [p.yaml]\n`, 'p.yaml': named('a') });
    const hash = (): unknown => {
      const result = loadConfig(join(folder, 'opsd.yaml'), { env: {} });
      return result.ok && result.config.hash;
    };
    const before = hash();
    writeFileSync(join(folder, 'p.yaml'), named('b'));
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect(hash()).not.toBe(before);
  });

  test('are found in a mounted ConfigMap, whose files are links into hidden folders', () => {
    const folder = folderWith({ 'opsd.yaml': `${EMBEDDED}policyFiles: [policies/*]\n` });
    mkdirSync(join(folder, 'policies/..2026'));
    writeFileSync(join(folder, 'policies/..2026/a.yaml'), named('a'));
    symlinkSync('..2026', join(folder, 'policies/..data'));
    symlinkSync('..data/a.yaml', join(folder, 'policies/a.yaml'));
    const result = loadConfig(join(folder, 'opsd.yaml'), { env: {} });
    expect(result.ok && result.config.policies.map((policy) => policy.source)).toEqual(['policies/a.yaml:2']);
  });

  test('that are dangling links or loops are errors with their paths, also if a pattern names them', () => {
    const folder = folderWith({
      'opsd.yaml': `${EMBEDDED}policyFiles: [policies/*.yaml]\n`,
      'policies/a.yaml': named('a'),
    });
    symlinkSync('gone.yaml', join(folder, 'policies/b.yaml'));
    symlinkSync('c.yaml', join(folder, 'policies/c.yaml'));
    const result = loadConfig(join(folder, 'opsd.yaml'), { env: {} });
    expect(result.ok ? [] : result.problems).toMatchObject([
      { path: 'policyFiles[0]', severity: 'error', message: 'policies/b.yaml: the file does not exist' },
      { path: 'policyFiles[0]', severity: 'error', message: 'policies/c.yaml: the file cannot be read: ELOOP' },
    ]);
  });

  test('problems of all files are reported at once, in the order of the files', () => {
    const folder = folderWith({
      'opsd.yaml': `log: { level: loud }\n${EMBEDDED}policyFiles: [policies/*.yaml]\n`,
      'policies/a.yaml': named('a').replace('anyLabel', 'anyLable'),
      'policies/b.yaml': named('b').replace('[billing]', '"billing'),
      'policies/c.yaml': named('c').replace('main', 'nobody'),
    });
    const result = loadConfig(join(folder, 'opsd.yaml'), { env: {} });
    const problems = result.ok ? [] : result.problems;
    expect(problems.map((problem) => `${problem.file.slice(folder.length + 1)}:${problem.line}`)).toEqual([
      'opsd.yaml:1',
      'policies/a.yaml:4',
      'policies/b.yaml:4',
      'policies/c.yaml:3',
    ]);
  });
});

describe('files of secrets', () => {
  const text = 'accounts: [{ name: m, url: "https://a.example", tokenFile: token }]\n';

  test('are checked while loading, unless disabled', () => {
    const baseDir = tempDir();
    expect(bad(text, { baseDir })).toMatchObject([{ path: 'accounts[0].tokenFile', line: 1, column: 60 }]);
    expect(parse(text, { baseDir, secrets: false })).toMatchObject({ ok: true });
    writeFileSync(join(baseDir, 'token'), 'secret\n');
    expect(parse(text, { baseDir })).toMatchObject({ ok: true, warnings: [] });
  });

  test('must be readable', async () => {
    const baseDir = tempDir();
    writeFileSync(join(baseDir, 'token'), 'secret\n');
    chmodSync(join(baseDir, 'token'), 0o000);
    const problems = await unprivileged(() => bad(text, { baseDir }));
    expect(problems).toMatchObject([{ message: 'the file cannot be read: permission denied' }]);
  });
});

describe('a client certificate', () => {
  const text = 'accounts: [{ name: m, url: "https://a.example", token: t-0123456789 }]\n';
  const of = (receiver: string): string => `${text}notifications: { alertmanager: { ${receiver} } }\n`;

  test.each([
    ['url: "https://a.example", certFile: c', 'notifications.alertmanager.certFile', 'certFile needs keyFile'],
    ['url: "https://a.example", keyFile: k', 'notifications.alertmanager.keyFile', 'keyFile needs certFile'],
    [
      'url: "http://a.example", certFile: c, keyFile: k',
      'notifications.alertmanager.certFile',
      'no effect: a client certificate needs an address with https://',
    ],
  ])('needs both files, and TLS: %s', (receiver, path, message) => {
    expect(parse(of(receiver), { secrets: false })).toMatchObject({ ok: false, problems: [{ path, message }] });
  });

  test('must exist, and match its key', async () => {
    const baseDir = tempDir();
    const files = of('url: "https://a.example", certFile: client.crt, keyFile: client.key');
    expect(bad(files, { baseDir })).toMatchObject([
      { path: 'notifications.alertmanager.certFile', message: 'the file does not exist' },
      { path: 'notifications.alertmanager.keyFile', message: 'the file does not exist' },
    ]);
    const ca = await authority();
    const [one, other] = [await ca.issue(), await ca.issue()];
    writeFileSync(join(baseDir, 'client.crt'), one.cert);
    writeFileSync(join(baseDir, 'client.key'), other.key);
    const [cert, key] = [join(baseDir, 'client.crt'), join(baseDir, 'client.key')];
    expect(bad(files, { baseDir })).toMatchObject([
      {
        path: 'notifications.alertmanager.keyFile',
        message: `the key in ${key} does not match the certificate in ${cert}`,
      },
    ]);
    writeFileSync(key, one.key);
    expect(parse(files, { baseDir })).toMatchObject({ ok: true, warnings: [] });
    const long = `accounts: [{ name: m, messageApi: { url: "https://a.example", token: t-0123456789, certFile: client.crt, keyFile: client.key } }]\n`;
    const loaded = parse(long, { baseDir });
    expect(loaded).toMatchObject({
      ok: true,
      config: { accounts: [{ messageApi: { certFile: cert, keyFile: key } }] },
    });
  });
});

describe('the environment of an image', () => {
  const silent = 'accounts: [{ name: m, url: "https://x.example", token: t }]';

  test('sets where to listen and to keep state, if the file does not', () => {
    const env = {
      OPSD_LISTEN: '0.0.0.0:10777',
      OPSD_PROBES_LISTEN: '0.0.0.0:10779',
      OPSD_STORE: '/var/lib/opsd/opsd.db',
    };
    const host = '0.0.0.0';
    expect(parse(silent, { env })).toMatchObject({
      config: {
        server: { listen: { host, port: 10_777 }, probes: { listen: { host, port: 10_779 } } },
        storage: { sqlite: { path: env.OPSD_STORE } },
      },
    });
    const listens = 'server: { listen: "127.0.0.1:1", probes: { listen: "127.0.0.1:2" } }';
    const said = `${listens}\nstorage: { sqlite: { path: /a.db } }\n${silent}`;
    expect(parse(said, { env })).toMatchObject({
      config: {
        server: { listen: { host: '127.0.0.1', port: 1 }, probes: { listen: { port: 2 } } },
        storage: { sqlite: { path: '/a.db' } },
      },
    });
  });

  test('the place of the store hides no backups', () => {
    const said = `storage: { backup: { dir: /backup } }\n${silent}`;
    expect(parse(said, { env: { OPSD_STORE: '/data/opsd.db' } })).toMatchObject({
      config: { storage: { sqlite: { path: '/data/opsd.db' }, backup: { dir: '/backup', keep: 7 } } },
    });
  });

  test('hides nothing else in the file', () => {
    const said = `server: { tokens: [{ name: a, role: viewer, token: t }], probes: { listen: ":1" } }\n${silent}`;
    expect(parse(said, { env: { OPSD_LISTEN: '0.0.0.0:10777' } })).toMatchObject({
      config: { server: { listen: { port: 10_777 }, tokens: [{ name: 'a' }], probes: { listen: { port: 1 } } } },
    });
    const other = `server: { tokens: [{ name: a, role: viewer, token: t }], listen: ":1" }\n${silent}`;
    expect(parse(other, { env: { OPSD_PROBES_LISTEN: '0.0.0.0:10779' } })).toMatchObject({
      config: { server: { listen: { port: 1 }, tokens: [{ name: 'a' }], probes: { listen: { port: 10_779 } } } },
    });
  });

  test('follows the same rules', () => {
    expect(bad(silent, { env: { OPSD_LISTEN: 'everywhere' } })).toMatchObject([
      { message: 'OPSD_LISTEN: expected an address such as 127.0.0.1:10777' },
    ]);
    expect(bad(silent, { env: { OPSD_PROBES_LISTEN: 'everywhere' } })).toMatchObject([
      { message: 'OPSD_PROBES_LISTEN: expected an address such as 127.0.0.1:10777' },
    ]);
    expect(parse(silent, { env: { OPSD_LISTEN: '', OPSD_STORE: '' } })).toMatchObject({ ok: true });
  });

  test('names an invalid proxy, without its password', () => {
    const problems = bad(silent, { env: { HTTPS_PROXY: 'socks5://opsd:canary-password@proxy.example' } });
    expect(problems).toMatchObject([{ message: 'HTTPS_PROXY: not the http:// or https:// URL of a proxy' }]);
    expect(formatProblems(problems)).toMatch(/write a URL such as http:\/\/proxy.example:3128/);
    expect(formatProblems(problems)).not.toContain('canary-password');
    expect(parse(silent, { env: { HTTPS_PROXY: 'http://opsd:canary-password@proxy.example' } }).ok).toBe(true);
    expect(parse(silent, { env: { HTTPS_PROXY: 'socks5://proxy.example' }, secrets: false }).ok).toBe(true);
  });
});

describe('problems', () => {
  test('never show a secret, in any place', () => {
    const secret = fc.stringMatching(/^[A-Z]{12}$/);
    const line = fc.constantFrom(
      (s: string) => `accounts: [{ name: m, url: nowhere, token: ${s}, passwrd: ${s} }]`,
      (s: string) => `accounts: [{ name: m, url: nowhere, token: [${s}], tokne: ${s}, api-key: "${s}" }]`,
      (s: string) => `accounts:\n  - name: m\n    token: ${s}\n     url: x\n`,
      (s: string) => `accounts:\n  - name: m\n    token: "${s}\n    url: x\n`,
      (s: string) => `accounts:\n  - name: m\n    token: |\n      ${s}\n    url: {\n`,
      (s: string) => `accounts:\n  - name: m\n    token: >-\n     ${s}\n   url: nowhere\n`,
      (s: string) => `accounts: [{ name: m, url: "https://u:${s}@a.example/?x", token: @${s} }]`,
      (s: string) => `accounts: [{ name: m, url: "https://u:${s}@a.example/?x", token: ${s} }]`,
      (s: string) =>
        `${EMBEDDED}telemetry: { traces: { otlp: { url: x, headers: { X-Key: { y: ${s} }, z: [${s}] } } } }`,
      (s: string) => `accounts: { password: ${s} }\ntoken: ${s}\n`,
      (s: string) => `accounts:\n  - name: m\n    token: ${s}\n    token: ${s}\n`,
      (s: string) => `accounts: [{ name: m, url: nowhere, token: ${s}, token: [${s}] }]`,
      (s: string) => `notifications: { webhook: { url: a, url: "https://a.example/${s}" } }`,
      (s: string) => `token: ${s}\n- ${s.slice(0, 1)}`,
      () => '${env:V}: ${env:V}\n',
      () => 'accounts: [{ name: "${env:V}", url: "${env:V}", client: { timeout: "${env:V}" } }]',
      () => 'accounts: [{ name: "a", url: embedded, "${env:V}": 1 }]\nlog: { level: "${env:V}" }',
      () =>
        `${EMBEDDED}policies: [{ name: "\${env:V}", account: "\${env:V}", where: "entry.\${env:V} == '\${env:V}'" }]`,
    );
    fc.assert(
      fc.property(secret, line, (value, write) => {
        const told = JSON.stringify(bad(write(value), { env: { V: value } }));
        expect(told).not.toContain(value);
      }),
      { numRuns: 300 },
    );
  });

  test('are reported for any text, and never thrown', () => {
    const lines = fc.constantFrom(
      ...'accounts:|  - name: m|    url: embedded|policies:|  - where: >|      a|    b: *x|&x c|<<: *x|{|[|"|\'|---|...|%YAML 1.1|? q|: r|!!set|#|\t|- - - -|a: b: c|key|policyFiles: [x/*]|\u0000|\uD800|__proto__: {}|? [a]|"\\x"'.split(
        '|',
      ),
    );
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 9 }), (text) => {
        const result = parse(text.join('\n'), { secrets: false });
        for (const problem of result.ok ? result.warnings : result.problems) {
          expect(problem.line).toBeGreaterThan(0);
          expect(problem.line).toBeLessThanOrEqual(text.length + 1);
          expect(problem.message).not.toBe('');
        }
        expect(formatProblems(result.ok ? result.warnings : result.problems)).not.toContain('undefined');
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    `${EMBEDDED}server: { tokens: { oncall: x } }`,
    `${EMBEDDED}server: { tokens: [~] }`,
    `${EMBEDDED}server: { tokens: [{ name: { a: 1 }, role: admin, token: x }] }`,
    `${EMBEDDED}server: { tokens: [{ name: [{}], role: admin, token: x }] }`,
    `${EMBEDDED}policies: [{ name: p, account: main, preconditions: { a: 1 } }]`,
    `${EMBEDDED}policies: [{ name: { a: 1 }, account: main, preconditions: [~] }]`,
  ])('a value of an unexpected type is a problem, not a crash: %s', (text) => {
    expect(bad(text)).not.toEqual([]);
  });

  test('excessive nesting is a problem, not a crash', () => {
    expect(bad(`a: ${'['.repeat(20_000)}`)).toHaveLength(1);
    expect(bad(`${'- '.repeat(20_000)}a`)[0]?.message).toMatch(/nested|mapping/);
  });

  test('a missing file is one', () => {
    const folder = tempDir();
    expect(loadConfig(join(folder, 'opsd.yaml'), { env: {} })).toMatchObject({
      ok: false,
      problems: [{ file: join(folder, 'opsd.yaml'), line: 1, column: 1, message: 'the file does not exist' }],
    });
    expect(loadConfig(folder, { env: {} })).toMatchObject({ ok: false, problems: [{ message: 'this is a folder' }] });
  });

  test('names that are equal only after a variable is replaced are the same names', () => {
    const text = 'accounts: [{ name: main, url: embedded }, { name: "${env:V}", url: embedded }]\n';
    expect(bad(text, { env: { V: 'main' } })).toMatchObject([
      { message: 'another account is of this name, at line 1' },
    ]);
    const policies = `${EMBEDDED}policies:${POLICY}${POLICY.replace('resume-billing', '"${env:V}"')}`;
    expect(bad(policies, { env: { V: 'resume-billing' } })).toMatchObject([
      { line: 8, message: 'another policy is of this name, at opsd.yaml:3:11' },
    ]);
  });

  test('a long line is shortened around the error', () => {
    const keys = Array.from({ length: 40 }, (_, index) => `key-number-${index}`).join(', ');
    const text = `accounts: [{ name: m, url: embedded, flowControlKeys: [${keys}], wrong: 1, searchIndexes: [${keys}] }]`;
    const [problem] = bad(text);
    const { text: shown, caret, length } = problem!.excerpt!;
    expect(shown.length).toBeLessThanOrEqual(160);
    expect(shown.slice(caret, caret + length)).toBe('wrong');
  });

  test('have colors where a terminal shows them', () => {
    const problems = bad('log: { level: loud }\n');
    expect(formatProblems(problems, { color: true })).toContain('\u001B[');
    // oxlint-disable-next-line no-control-regex
    expect(formatProblems(problems, { color: true }).replace(/\u001B\[[\d;]*m/g, '')).toBe(formatProblems(problems));
    expect(formatProblems([])).toBe('');
  });

  test('warnings alone do not stop the daemon', () => {
    const result = parse('accounts: [{ name: m, url: embedded, token: t }]\n');
    expect(result).toMatchObject({ ok: true, warnings: [{ severity: 'warning', path: 'accounts[0].token' }] });
  });
});

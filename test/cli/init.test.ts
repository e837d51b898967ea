/** `opsd init`, against the embedded service: what it finds, what it writes, and what it must never show. */
import { chmodSync, existsSync, lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '#config/load.ts';
import { writeFiles } from '#cli/commands/init-files.ts';
import { productCandidates, tryProducts } from '#cli/commands/wire-discovery.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { httpSink } from '../support/http-sink.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testEmulator } from '../support/test-emulator.ts';
import { opsd, terminal, type TerminalOptions } from './terminal.ts';

const MANAGEMENT = ['--account-id', 'acc-1', '--username', 'user'];

/** Runs `opsd init` into a new folder, and checks that it shows no secret. */
async function init(args: readonly string[], options: TerminalOptions = {}, folder = tempDir()) {
  const output = join(folder, 'opsd.yaml');
  const ran = await opsd(['init', '--output', output, ...args], { clock: systemClock, ...options });
  expect(ran.stdout + ran.stderr).not.toMatch(/test-token|s3cr3t/);
  return { ...ran, folder, output };
}

function secretFile(text: string): string {
  const file = join(tempDir(), 'secret');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function loaded(file: string, env: Readonly<Record<string, string>> = {}) {
  const result = loadConfig(file, { env });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config.accounts;
}

test('flags alone write a configuration that opsd check --connect accepts, and refer to the file of the token', async () => {
  const { url } = await testEmulator();
  const [token, password] = [secretFile(TEST_TOKEN), secretFile('password')];
  const files = ['--token-file', token, '--password-file', password];
  const done = await init(['--message-url', url, '--management-url', url, ...MANAGEMENT, ...files]);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toBe(`\
Message API: ${url}, token accepted
Header prefix: Svc, not confirmed, because no failed run has the service’s headers
Management API: ${url}, password accepted
Product: msgsvc

Written: ${done.output}
Start the daemon: opsd run --config ${done.output}
Then check it:    opsd doctor --config ${done.output}
`);
  expect(loaded(done.output)).toMatchObject([
    {
      name: 'production',
      messageApi: { url, tokenFile: token },
      managementApi: { url, accountId: 'acc-1', username: 'user', passwordFile: password },
    },
  ]);
  const check = await opsd(['check', '--connect', done.output], { clock: systemClock });
  expect(check).toMatchObject({ code: 0, stderr: '' });
  expect(existsSync(join(done.folder, 'secrets'))).toBe(false);
});

test('on a terminal it asks for what is missing, and keeps secrets in files that only their owner can read', async () => {
  const { url } = await testEmulator();
  const done = await init([], { answers: [url, ` ${TEST_TOKEN} `, url, 'acc-1', 'user', 'password'] });
  expect(done.code).toBe(0);
  expect(done.stderr.split(/: /).map((question) => question.trim())).toEqual([
    'URL of the message API (empty',
    'without it)',
    'Token',
    'URL of the management API (empty',
    'without it)',
    'Id of the account',
    'User',
    'Password or API key',
    '',
  ]);
  expect(loaded(done.output)).toMatchObject([{ messageApi: { url }, managementApi: { url } }]);
  for (const [name, secret] of Object.entries({ token: TEST_TOKEN, password: 'password' })) {
    const file = join(done.folder, 'secrets', `production-${name}`);
    expect(readFileSync(file, 'utf8')).toBe(`${secret}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  expect(statSync(join(done.folder, 'secrets')).mode & 0o777).toBe(0o700);
  expect(readFileSync(done.output, 'utf8')).not.toContain(TEST_TOKEN);
});

test.each([
  ['the environment', [], { env: { MSGSVC_TOKEN: TEST_TOKEN } }],
  ['stdin', ['--token-file', '-'], { input: `${TEST_TOKEN}\n` }],
])('a secret may come from %s', async (_source, args, options) => {
  const { url } = await testEmulator();
  const done = await init(['--message-url', url, '--account', 'eu', ...args], options);
  expect(done.code).toBe(0);
  expect(loaded(done.output)).toMatchObject([
    { name: 'eu', messageApi: { tokenFile: join(done.folder, 'secrets/eu-token') } },
  ]);
});

test('it finds the right token of several, the base of a copied URL, the header prefix, and the path', async () => {
  const { url } = await testEmulator({ headerPrefix: 'Acme-Q', product: 'acme_q' });
  const refused = 'http://127.0.0.1:9/run';
  await fetch(`${url}/v2/trigger/${refused}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TEST_TOKEN}`, 'Acme-Q-Retries': '0' },
  });
  await expect
    .poll(async () => {
      const answer = await fetch(`${url}/v2/workflows/dlq`, { headers: { Authorization: `Bearer ${TEST_TOKEN}` } });
      return ((await answer.json()) as { messages: unknown[] }).messages.length;
    })
    .toBe(1);
  const token = secretFile(`Bearer read-s3cr3t\n${TEST_TOKEN}\n`);
  const args = ['--token-file', token, '--management-url', `${url}/v2/`, ...MANAGEMENT, '--product', 'acme_q'];
  const done = await init(['--message-url', `${url}/v2/publish`, ...args], { env: { MSGSVC_PASSWORD: 'password' } });
  expect(done.stdout).toContain(`Message API: ${url}, token 2 of the source accepted\n`);
  expect(done.stdout).toContain('Header prefix: Acme-Q, found in the failed runs\n');
  expect(done.code).toBe(0);
  expect(loaded(done.output)).toMatchObject([
    {
      messageApi: { url, tokenFile: join(done.folder, 'secrets/production-token') },
      managementApi: { url },
      wire: { headerPrefix: 'Acme-Q', product: 'acme_q' },
    },
  ]);
});

test('the product is found by the names in the hosts of the account', async () => {
  const { url } = await testEmulator({ product: 'acme_q' });
  const { output } = await init(['--message-url', url], { env: { MSGSVC_TOKEN: TEST_TOKEN } });
  void output;
  const [plain] = loaded(
    (await init(['--message-url', (await testEmulator()).url], { env: { MSGSVC_TOKEN: TEST_TOKEN } })).output,
  );
  const account = {
    ...plain!,
    messageApi: { ...plain!.messageApi!, url: 'https://eu-1.acme-q.example' },
    managementApi: { url, accountId: 'acc-1', username: 'user', passwordFile: 'x' },
  };
  expect(productCandidates(account)).toEqual(['msgsvc', 'eu_1', 'acme_q']);
  const { io } = terminal({ clock: systemClock });
  const found = await tryProducts(account, Secret.of('password'), io);
  expect(found).toMatchObject({ product: 'acme_q', attempt: { ok: true } });
  const refused = await tryProducts(account, Secret.of('wrong'), io);
  expect(refused).toMatchObject({ product: 'acme_q', attempt: { ok: false, code: 'unauthorized' } });
});

test.each([
  ['a refused token', 'wrong-s3cr3t', 'the service answered 401'],
  ['a wrong path', TEST_TOKEN, 'the service answered 404'],
])('%s writes nothing, and says why', async (what, secret, said) => {
  const { url } =
    what === 'a wrong path'
      ? await httpSink((_r, response) => void response.writeHead(404).end())
      : await testEmulator();
  const done = await init(['--message-url', url], { env: { MSGSVC_TOKEN: secret } });
  expect(done).toMatchObject({ code: 1, stderr: 'opsd: nothing was written\n' });
  expect(done.stdout).toContain(said);
  expect(existsSync(done.output)).toBe(false);
});

test('it overwrites neither a configuration nor a secret, except with --force', async () => {
  const sink = await httpSink();
  const folder = tempDir();
  writeFileSync(join(folder, 'opsd.yaml'), 'mine');
  const env = { MSGSVC_TOKEN: TEST_TOKEN };
  const refused = await init(['--message-url', sink.url], { env }, folder);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('exists; nothing was changed');
  expect(sink.requests).toEqual([]);
  expect(readFileSync(refused.output, 'utf8')).toBe('mine');

  const { url } = await testEmulator();
  expect(await init(['--message-url', url, '--force'], { env }, folder)).toMatchObject({ code: 0 });
  const other = await init(['--message-url', url, '--output', join(folder, 'other.yaml')], { env }, folder);
  expect(other.stderr).toContain('secrets/production-token exists; nothing was changed');
  expect(existsSync(join(folder, 'other.yaml'))).toBe(false);
});

describe('on a terminal, a rejected answer is asked for again, and no other', () => {
  test.each<readonly [string, (url: string) => readonly string[], readonly string[]]>([
    [
      'token',
      (url) => [url, 'wrong-s3cr3t', '', 'other-s3cr3t', TEST_TOKEN],
      ['Token (empty: stop)', 'Token (empty: stop)'],
    ],
    [
      'URL, also an invalid one',
      (url) => ['ftp://x', TEST_TOKEN, '', 'http://127.0.0.1:9', url],
      ['URL of the message API (empty: stop)', 'URL of the message API (empty: stop)'],
    ],
    [
      'password',
      (url) => [url, TEST_TOKEN, url, 'acc-1', 'nobody', 'wrong-s3cr3t', 'user', 'password'],
      ['User (empty: nobody)', 'Password or API key (empty: stop)'],
    ],
    [
      'URL of the management API',
      (url) => [url, TEST_TOKEN, 'http://127.0.0.1:9', 'acc-1', 'user', 'password', url, ''],
      ['URL of the management API (empty: stop)', 'Id of the account (empty: acc-1)'],
    ],
  ])('%s', async (_part, answersFor, again) => {
    const { url } = await testEmulator();
    const answers = answersFor(url);
    const done = await init([], { answers });
    expect(done.code).toBe(0);
    expect(loaded(done.output)).toMatchObject([{ messageApi: { url } }]);
    const questions = done.stderr
      .split(/(?<!empty|without it): (?!stop|acc|nobody|without)/)
      .filter((one) => one !== '');
    expect(questions).toHaveLength(answers.length);
    expect(questions.slice(-again.length)).toEqual(again);
    expect(readFileSync(join(done.folder, 'secrets/production-token'), 'utf8')).toBe(`${TEST_TOKEN}\n`);
  });

  test('an empty answer stops, and nothing is written', async () => {
    const { url } = await testEmulator();
    const done = await init([], { answers: [url, 'wrong-s3cr3t', '', ''] });
    expect(done.code).toBe(1);
    expect(done.stderr).toMatch(/Token \(empty: stop\): opsd: nothing was written\n$/);
    expect(existsSync(done.output)).toBe(false);
  });
});

describe('an account is added to an existing file', () => {
  const FIRST = 'name: production\n    messageApi: { url: "https://x.example", token: "${env:T}" } # ours';
  const env = { T: 't', MSGSVC_TOKEN: TEST_TOKEN };

  async function added(text: string, args: readonly string[], options: TerminalOptions = { env }) {
    const folder = tempDir();
    const file = join(folder, 'opsd.yaml');
    writeFileSync(file, text);
    const { url } = await testEmulator();
    const done = await init(['--message-url', url, ...args], options, folder);
    return { ...done, url, text: readFileSync(file, 'utf8') };
  }

  test.each([
    [
      'with comments',
      `# mine\naccounts:\n  - ${FIRST}\n    # wire: {}\n\n# rest\nengine:   {mode: audit}\n`,
      '    # wire: {}\n',
    ],
    [
      'without an indentation',
      `accounts:\n- name:   production\n  url: "https://x.example"\n  token: x\n`,
      'token: x\n',
    ],
    ['without a last line break', `accounts:\n  - ${FIRST}`, '# ours'],
    [
      'with Windows line breaks',
      `accounts:\r\n  - name: production\r\n    url: embedded\r\nengine: {}\r\n`,
      'embedded\r\n',
    ],
    ['in brackets', 'accounts: [{ name: production, url: embedded}, # one\n  ]\n', 'embedded}'],
  ])('%s, and all other text stays', async (_what, text, before) => {
    const done = await added(text, ['--account', 'eu']);
    expect(done.code, done.stderr).toBe(0);
    const at = text.indexOf(before) + before.length;
    expect(done.text.startsWith(text.slice(0, at))).toBe(true);
    expect(done.text.endsWith(text.slice(at))).toBe(true);
    expect(done.text.replaceAll('\r\n', '')).not.toMatch(text.includes('\r') ? '\n' : '\r');
    expect(loaded(done.output, env)).toMatchObject([
      { name: 'production' },
      { name: 'eu', messageApi: { url: done.url, tokenFile: join(done.folder, 'secrets/eu-token') } },
    ]);
  });

  test('behind a symbolic link, with its mode', async () => {
    const [folder, real] = [tempDir(), join(tempDir(), 'real.yaml')];
    writeFileSync(real, `accounts:\n  - ${FIRST}\n`);
    chmodSync(real, 0o664);
    symlinkSync(real, join(folder, 'opsd.yaml'));
    const { url } = await testEmulator();
    expect(await init(['--message-url', url, '--account', 'eu'], { env }, folder)).toMatchObject({ code: 0 });
    expect(readFileSync(real, 'utf8')).toContain('name: eu');
    expect(statSync(real).mode & 0o777).toBe(0o664);
    expect(lstatSync(join(folder, 'opsd.yaml')).isSymbolicLink()).toBe(true);
  });

  test.each([
    [
      'a name that it has',
      `accounts:\n  - ${FIRST}\n`,
      ['--account', 'production'],
      'has an account production already',
    ],
    ['no name', `accounts:\n  - ${FIRST}\n`, [], 'Add an account to it with --account NAME'],
    [
      'an invalid file',
      'accounts: [{ nam: x }]\n',
      ['--account', 'eu'],
      'is invalid, so no account can be added to it',
    ],
    ['an invalid name', `accounts:\n  - ${FIRST}\n`, ['--account', 'a b'], 'accounts[0].name'],
  ])('but not with %s: the file stays', async (_why, text, args, said) => {
    const done = await added(text, args);
    expect(done).toMatchObject({ code: 1, stdout: '', text });
    expect(done.stderr).toContain(said);
  });

  test('on a terminal its name is asked for first', async () => {
    const done = await added(`accounts:\n  - ${FIRST}\n`, [], { env, answers: ['eu', ''] });
    expect(done.stderr).toContain('opsd.yaml exists. Name of the account to add (empty: stop): URL of the management');
    expect(done.text).toContain('- name: eu\n');
  });

  test('but not to one that changes in the meantime', () => {
    const file = join(tempDir(), 'opsd.yaml');
    const old = `accounts:\n  - ${FIRST}\n`;
    writeFileSync(file, `${old}# edited\n`);
    const draft = { account: 'eu', messageApi: { url: 'https://y.example', token: { text: 's3cr3t' } } };
    expect(() => writeFiles(file, draft, { env, isForced: false, existing: old })).toThrow(
      /was changed in the meantime/,
    );
    expect(readFileSync(file, 'utf8')).toBe(`${old}# edited\n`);
  });
});

test('a secret file that others can read gets a warning', async () => {
  const { url } = await testEmulator();
  const token = join(tempDir(), 'token');
  writeFileSync(token, TEST_TOKEN);
  // Regardless of the umask.
  chmodSync(token, 0o644);
  const { code, stderr } = await init(['--message-url', url, '--token-file', token]);
  expect([code, stderr]).toEqual([0, `warning: other users can read ${token}; restrict it with chmod 600 ${token}\n`]);
});

test('the management API alone is enough, and a missing folder is created', async () => {
  const { url } = await testEmulator();
  const folder = join(tempDir(), 'new');
  const password = secretFile('password');
  const done = await init(['--management-url', url, ...MANAGEMENT, '--password-file', password], {}, folder);
  expect(done.stdout).toContain('Message API: left out\n');
  expect(done.code).toBe(0);
  expect(loaded(done.output)).toMatchObject([{ managementApi: { url } }]);
});

test('an invalid answer is reported before any request', async () => {
  const { code, stderr } = await init(['--message-url', 'ftp://x'], { env: { MSGSVC_TOKEN: 's3cr3t' } });
  expect(code).toBe(1);
  expect(stderr).toContain('the answers are not valid');
});

/** `opsd check --connect`: its requests, and its report for each kind of failure. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { authority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { httpSink, type Answer } from '../support/http-sink.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testEmulator } from '../support/test-emulator.ts';
import { opsd } from './terminal.ts';

const SECRETS = { token: 'tok-4711-s3cr3t', actionToken: 'act-4711-s3cr3t', password: 'pw-4711-s3cr3t' };

const wire = (name: string): string => readFileSync(join(import.meta.dirname, `../fixtures/wire/${name}.json`), 'utf8');

const GOOD: Answer = ({ url }, response) => {
  const body = url.includes('/stats/') ? wire('get-account-stats') : wire('list-workflow-dlq');
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
};

function fileOf(url: string, { all = false }: { readonly all?: boolean } = {}): string {
  const file = join(tempDir(), 'opsd.yaml');
  const { token, actionToken, password } = SECRETS;
  const action = all ? `, actionToken: ${actionToken}` : '';
  const management = `    managementApi: { url: "${url}", accountId: acc-1, username: ops, password: ${password} }\n`;
  writeFileSync(
    file,
    `accounts:\n  - name: main\n    messageApi: { url: "${url}", token: ${token}${action} }\n${all ? management : ''}`,
  );
  return file;
}

async function connect(url: string, options: { readonly all?: boolean } = {}) {
  const outcome = await opsd(['check', '--connect', fileOf(url, options)]);
  for (const secret of Object.values(SECRETS)) {
    expect(outcome.stdout + outcome.stderr).not.toContain(secret);
    expect(outcome.stdout + outcome.stderr).not.toContain(Buffer.from(`ops:${secret}`).toString('base64'));
  }
  return outcome;
}

test('one GET is sent for each credential, and nothing else', async () => {
  const sink = await httpSink(GOOD);
  const { code, stdout } = await connect(sink.url, { all: true });
  expect(code).toBe(0);
  const basic = `Basic ${Buffer.from(`ops:${SECRETS.password}`).toString('base64')}`;
  expect(sink.requests.map(({ method, url, headers }) => [method, url, headers.authorization])).toEqual([
    ['GET', '/v2/workflows/dlq?count=1', `Bearer ${SECRETS.token}`],
    ['GET', '/v2/workflows/dlq?count=1', `Bearer ${SECRETS.actionToken}`],
    ['GET', '/v2/msgsvc/stats/acc-1?period=1h', basic],
  ]);
  expect(stdout).toContain(`
CONNECTION  CREDENTIAL   CALL                              RESULT
main        token        GET /v2/workflows/dlq?count=1     accepted
main        actionToken  GET /v2/workflows/dlq?count=1     accepted; write permission was not checked
main        password     GET /v2/msgsvc/stats/…?period=1h  accepted
`);
});

test.each([
  [401, 'the service answered 401: no [secret] here; check the token'],
  [503, 'the service answered 503'],
  [404, 'the service answered 404'],
])('a response %i fails, and is not retried', async (status, said) => {
  const sink = await httpSink((_request, response) => {
    response.writeHead(status).end(JSON.stringify({ error: `no ${SECRETS.token} here` }));
  });
  const { code, stdout } = await connect(sink.url);
  expect(code).toBe(1);
  expect(stdout).toContain(`failed: list-workflow-dlq (GET ${sink.url}/v2/workflows/dlq): ${said}`);
  expect(sink.requests).toHaveLength(1);
});

test('the last line is the only verdict', async () => {
  const sink = await httpSink((_request, response) => void response.writeHead(401).end());
  const failed = await connect(sink.url, { all: true });
  expect(failed.stdout).not.toContain('is valid');
  expect(failed.stderr).toMatch(/opsd\.yaml: 3 of 3 connections failed\n$/);
  const good = await connect((await httpSink(GOOD)).url);
  expect(good.stdout.trimEnd().split('\n').at(-1)).toMatch(/opsd\.yaml is valid: 1 account, /);
  expect(good.stderr).toBe('');
});

test('the texts of the emulator about wrong credentials are not taken for credentials', async () => {
  const { stdout } = await connect((await testEmulator()).url, { all: true });
  expect(stdout).toContain('401: the message API needs the bearer token of an account, in the header Authorization; ');
  expect(stdout).toContain(
    '401: the management API needs basic authentication with its username and password, in the header Authorization; ',
  );
});

test('a write token without read permission is recognized', async () => {
  const sink = await httpSink((request, response) => {
    if (request.headers.authorization?.endsWith(SECRETS.actionToken) === true) response.writeHead(403).end();
    else void GOOD(request, response);
  });
  const { code, stdout } = await connect(sink.url, { all: true });
  expect(code).toBe(0);
  expect(stdout).toContain('known, without read permission; write permission was not checked');
});

test('a refused connection has its address, and the note that nothing was sent', async () => {
  const { code, stdout } = await connect(`http://127.0.0.1:${await freePort()}`);
  expect(code).toBe(1);
  expect(stdout).toMatch(/failed: .*ECONNREFUSED\); the request was not sent; check that the service can be reached/);
});

test('TLS to a plain port names the scheme, not the certificate', async () => {
  const sink = await httpSink(GOOD);
  const { code, stdout } = await connect(sink.url.replace('http:', 'https:'));
  expect(code).toBe(1);
  expect(stdout).toContain('the port does not use TLS; set a port that does');
  expect(stdout).not.toContain('certificate');
});

test.each([
  ['https', 'check the certificate of the service'],
  ['http', 'use https:// in the URL of the account if this port uses TLS'],
])('%s to a port with an unknown certificate', async (scheme, said) => {
  const { cert, key } = await (await authority()).issue();
  const server = createServer({ cert, key }, (_request, response) => void response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { code, stdout } = await connect(`${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(code).toBe(1);
  expect(stdout).toContain(said);
});

test('the results are data if data is requested', async () => {
  const sink = await httpSink((_request, response) => void response.writeHead(401).end());
  const { code, stdout } = await opsd(['check', '--connect', '-o', 'json', fileOf(sink.url)]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    valid: true,
    connections: [{ account: 'main', credential: 'token', call: 'GET /v2/workflows/dlq?count=1', ok: false }],
  });
});

test('no request is made for an embedded service, without secrets, or unless requested', async () => {
  const file = join(tempDir(), 'opsd.yaml');
  writeFileSync(file, 'accounts: [{ name: main, url: embedded }]\n');
  expect(await opsd(['check', '--connect', file])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('No connections to check') as string,
  });
  const sink = await httpSink(GOOD);
  await opsd(['check', fileOf(sink.url, { all: true })]);
  expect(sink.requests).toEqual([]);
});

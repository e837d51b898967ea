/** `opsd doctor`: each check with its finding and its fix, with and without a daemon. */
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore } from '#storage/sqlite.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { scrapeBody, serving, world } from '../operate/http/world.ts';
import { freePort } from '../support/free-port.ts';
import { httpProxy, PROXY_PASSWORD, proxyEnvironment } from '../support/http-proxy.ts';
import { httpSink, type Answer } from '../support/http-sink.ts';
import { onLoopback } from '../support/loopback.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { testEmulator } from '../support/test-emulator.ts';
import { opsd, type Outcome } from './terminal.ts';

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly result: string;
  readonly fix?: string;
}

/** Writes a configuration over a service, and returns its path. */
function configOf(service: string, more = '', account = ''): string {
  const file = join(tempDir(), 'opsd.yaml');
  const message = `messageApi: { url: "${service}", token: ${TEST_TOKEN} }`;
  const management = `managementApi: { url: "${service}", accountId: acc-1, username: user, password: password }`;
  const text = `accounts:\n  - name: main\n    ${message}\n    ${management}\n${account}server: { listen: "127.0.0.1:0" }\n${more}`;
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

async function doctor(config: string, args: readonly string[] = []): Promise<Outcome> {
  const ran = await opsd(['doctor', '--config', config, ...args], {
    clock: systemClock,
    isTTY: true,
    env: { NO_COLOR: '1' },
  });
  expect(ran.stdout + ran.stderr).not.toContain(TEST_TOKEN);
  return ran;
}

async function findings(config: string, args: readonly string[] = []): Promise<readonly Finding[]> {
  const { code, stdout } = await doctor(config, ['-o', 'json', ...args]);
  const { checks, findings: count } = JSON.parse(stdout) as { checks: Finding[]; findings: number };
  const found = checks.filter(({ state }) => state === 'finding');
  expect(count).toBe(found.length);
  expect(code).toBe(count === 0 ? 0 : 3);
  for (const { fix } of found) expect(fix).toMatch(/\w/);
  return found;
}

test('without a daemon it proves the service and the store, and has no findings', async () => {
  const { url } = await testEmulator();
  const config = configOf(url);
  const { code, stdout } = await doctor(config);
  const shown = stdout.replaceAll(config.replace('/opsd.yaml', ''), 'F').replace(/[\d.]+ GiB of [\d.]+/, 'N GiB of N');
  expect(shown.replaceAll(/\n {17}/g, ' ')).toBe(`\
✓ configuration  F/opsd.yaml: valid, accounts: 1, policies: 0
– daemon         F/data/opsd.db.sock: no daemon is running
✓ token          main: GET /v2/workflows/dlq?count=1 accepted
✓ password       main: GET /v2/msgsvc/stats/…?period=1h accepted
✓ clock          main: agrees with the clock of the service
– header prefix  main: Svc is not confirmed: no failed run has the service’s headers
✓ product        main: msgsvc, as the service knows it
– webhook        no notifications are configured
✓ store          F/data/opsd.db: the first start creates it
✓ disk           F: N GiB of N GiB free

No findings.
`);
  expect(code).toBe(0);
});

const REFUSED: Answer = (_request, response) => void response.writeHead(401).end();

test('a refused token has the fix, and no further request is made with it', async () => {
  const sink = await httpSink(REFUSED);
  expect(await findings(configOf(sink.url))).toMatchObject([
    { check: 'token', fix: 'write the right secret into the file that the configuration names' },
    { check: 'password' },
  ]);
  expect(sink.requests).toHaveLength(2);
});

test('an address without a service has the fix', async () => {
  const found = await findings(configOf(`http://127.0.0.1:${await freePort()}`));
  const fix = expect.stringContaining('check the URL') as string;
  expect(found).toMatchObject([
    { check: 'connection', fix },
    { check: 'connection', fix },
  ]);
});

test('a failure of the service is not one of the credential', async () => {
  const sink = await httpSink((_request, response) => void response.writeHead(503).end());
  expect(await findings(configOf(sink.url))).toMatchObject([{ check: 'service' }, { check: 'service' }]);
});

test('the clock, the header prefix and the product are compared with those of the service', async () => {
  const emulator = await testEmulator({ headerPrefix: 'Acme', product: 'acme' });
  await fetch(`${emulator.url}/v2/trigger/http://127.0.0.1:9/run`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TEST_TOKEN}`, 'Acme-Retries': '0' },
  });
  await until({ what: 'the run is in the DLQ' }, () => emulator.workflowDlq('acc-1').length === 1);
  // The service behind a proxy with another clock.
  const ahead = createServer((request, response) => {
    const headers = { authorization: request.headers.authorization! };
    void fetch(`${emulator.url}${request.url}`, { headers }).then(async (answer) => {
      response.setHeader('Date', new Date(systemClock.now() + 600_000).toUTCString());
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
  });
  const config = configOf(await onLoopback(ahead), '', '    wire: { product: other }\n');
  expect(await findings(config)).toMatchObject([
    { check: 'service' },
    {
      check: 'clock',
      result: expect.stringMatching(/(?:9m|10m).* ahead of this machine’s/) as string,
      fix: expect.stringContaining('NTP') as string,
    },
    { check: 'header prefix', fix: 'set wire.headerPrefix: Acme' },
    { check: 'product', fix: 'set wire.product to the name in its management paths' },
  ]);
});

test('receivers of notifications must respond, and their paths are not shown', async () => {
  const { url } = await testEmulator();
  const [good, bad] = [await httpSink((_r, response) => void response.writeHead(405).end()), await freePort()];
  const config = configOf(
    url,
    `notifications:\n  webhook: { url: "http://127.0.0.1:${bad}/s3cr3t" }\n  alertmanager: { url: "${good.url}" }\n`,
  );
  const { stdout } = await doctor(config);
  expect(stdout).toContain('✓ webhook        notifications.alertmanager: ');
  expect(stdout).toContain('✗ webhook        notifications.webhook: ');
  expect(stdout).not.toContain('s3cr3t');
  expect(good.requests.map(({ method, headers }) => [method, headers.authorization])).toEqual([['HEAD', undefined]]);
});

test('the store is opened read-only, and other users must not read it', async () => {
  const { url } = await testEmulator();
  const folder = tempDir();
  const path = join(folder, 'opsd.db');
  const config = configOf(url, `storage: { sqlite: { path: "${path}" } }\n`);
  openStore(path)[Symbol.dispose]();
  expect((await doctor(config)).stdout).toContain('opens');
  chmodSync(path, 0o644);
  expect(await findings(config)).toMatchObject([{ check: 'store', fix: `chmod 600 ${path}` }]);
  chmodSync(path, 0o600);
  writeFileSync(path, 'no database'.repeat(1_000));
  expect(await findings(config)).toMatchObject([
    { check: 'store', result: expect.stringContaining('not a database') as string },
  ]);
});

test('keys of bodies must be usable, and bodies in clear are a finding', async () => {
  const { url } = await testEmulator();
  const file = join(tempDir(), 'key');
  const config = (bodies: string) => configOf(url, '', `    deadLetters: { bodies: ${bodies} }\n`);
  expect(await findings(config('{}'))).toMatchObject([
    { check: 'bodies', subject: 'main', result: 'bodies and headers of messages are stored in clear' },
  ]);
  const [one, two] = ['ab'.repeat(32), Buffer.alloc(32, 7).toString('base64')];
  writeFileSync(file, `${one}\n${two}\n`);
  const sealed = config(`{ keyFile: "${file}" }`);
  expect(await findings(sealed)).toEqual([]);
  const { stdout } = await doctor(sealed);
  expect(stdout).toMatch(/✓ bodies {9}main: sealed with key [0-9a-f]{8}, also opens [0-9a-f]{8}/);
  expect(stdout).not.toContain(one);
  // A file that became invalid is a problem of the configuration.
  writeFileSync(file, `${one}\ns3cr3t\n`);
  const [broken] = await findings(sealed);
  expect(broken).toMatchObject({ check: 'configuration' });
  expect(JSON.stringify(broken)).toContain('line 2 is no key');
  expect(JSON.stringify(broken)).not.toContain('s3cr3t');
});

test('an invalid configuration is a finding', async () => {
  const file = join(tempDir(), 'opsd.yaml');
  writeFileSync(file, 'accounts: [{ name: main }]\n');
  expect(await findings(file)).toMatchObject([
    { check: 'configuration', fix: `\`opsd check ${file}\` shows every problem` },
  ]);
});

const METRICS = { metrics: () => Promise.resolve(scrapeBody('opsd_build_info{version="1"} 1\na{b="} 2"} NaN 17\n')) };

test('a running daemon must be healthy, and its metrics must parse', async () => {
  const good = await serving(world(METRICS));
  const healthy = await opsd(['doctor', '--url', good.address, '-o', 'json']);
  expect(healthy.code).toBe(0);
  expect(JSON.parse(healthy.stdout)).toMatchObject({
    checks: [
      { check: 'configuration', state: 'skipped' },
      { check: 'daemon', result: 'opsd 0.1.0, up 1 h' },
      { check: 'scrape', result: '/metrics has 2 samples' },
    ],
  });
  const sick = await serving(
    world({
      health: () => ({ healthy: false, detail: 'the scheduler is stuck' }),
      metrics: () => Promise.resolve(scrapeBody('opsd_build_info 1\nno sample\n')),
    }),
  );
  const { code, stdout } = await opsd(['doctor', '--url', sick.address]);
  expect(code).toBe(3);
  expect(stdout).toContain('✗ daemon         ' + sick.address + ': the scheduler is stuck');
  expect(stdout).toContain('✗ scrape         /metrics has an invalid line: no sample');
  expect(stdout).toContain('2 findings.');
});

test('a receiver of spans that fails is a finding', async () => {
  const detail = 'the receiver of spans is otlp.example:4318: nothing listens there (ECONNREFUSED); check it';
  const spans = { key: 'spans', severity: 'warning', summary: 'Spans are not exported', detail, since: 0 } as const;
  const given = world(METRICS);
  const daemon = await serving({ ...given, engine: { ...given.engine, conditions: () => [spans] } });
  const { code, stdout } = await opsd(['doctor', '--url', daemon.address]);
  expect(code).toBe(3);
  expect(stdout).toMatch(/✗ spans +the receiver of spans is otlp\.example:4318: nothing/);
});

/** A Prometheus with these responses to a query and to the list of targets. */
async function prometheus(result: readonly unknown[], activeTargets: readonly unknown[]): Promise<string> {
  const { url } = await httpSink(({ url: path }, response) => {
    response.end(JSON.stringify({ data: path.includes('/query') ? { result } : { activeTargets } }));
  });
  return url;
}

test('Prometheus must have the target up; a target that is down has its error', async () => {
  const { address } = await serving(world(METRICS));
  const check = async (url: string) => {
    const { stdout } = await opsd(['doctor', '--url', address, '--prometheus', `${url}/`, '-o', 'json']);
    return (JSON.parse(stdout) as { checks: Finding[] }).checks.at(-1);
  };
  expect(await check(await prometheus([{ metric: { instance: 'opsd:10777' } }], []))).toMatchObject({
    state: 'ok',
    result: 'scrapes opsd at opsd:10777',
  });
  const down = { health: 'down', scrapeUrl: 'http://opsd:10777/metrics', lastError: 'connection refused' };
  expect(await check(await prometheus([], [{ ...down, scrapeUrl: 'http://x:1/' }, down]))).toMatchObject({
    state: 'finding',
    result: 'the target http://opsd:10777/metrics is down: connection refused',
  });
  expect(await check(await prometheus([], []))).toMatchObject({
    state: 'finding',
    fix: expect.stringContaining('scrape_configs') as string,
  });
  const other = await httpSink((_request, response) => void response.end('<html>'));
  expect(await check(other.url)).toMatchObject({ result: 'responds 200, and not as a Prometheus' });
});

test('a daemon that is named and does not respond is a finding', async () => {
  const socket = join(tempDir(), 'nowhere.sock');
  const url = `http://127.0.0.1:${await freePort()}`;
  for (const [option, place] of [
    ['--socket', socket],
    ['--url', url],
  ] as const) {
    const { code, stdout } = await opsd(['doctor', option, place]);
    expect(code).toBe(3);
    expect(stdout).toContain(`✗ daemon         ${place}: no daemon listens on`);
    expect(stdout).toMatch(/1 finding\.\n$/);
  }
});

test('receivers behind a proxy are reached through it, and its login is not shown', async () => {
  const sink = await httpSink();
  const proxy = await httpProxy(sink.url);
  proxyEnvironment({ http_proxy: proxy.url, https_proxy: proxy.url });
  const { url } = await testEmulator();
  const config = configOf(
    url,
    'notifications:\n  webhook: { url: "https://hooks.example/x" }\n  alertmanager: { url: "http://alerts.example" }\n',
  );
  const { stdout } = await doctor(config);
  const shown = (text: string) => text.replaceAll(/\s+/g, ' ');
  expect(shown(stdout)).toContain('notifications.alertmanager: http://alerts.example responds (200 to HEAD)');
  expect(proxy.requests.toSorted()).toEqual(['CONNECT hooks.example:443', 'HEAD http://alerts.example/']);
  proxy.refusal = 403;
  const refused = await doctor(config);
  expect(shown(refused.stdout)).toMatch(/https:\/\/hooks\.example does not respond: Failed to establish tunnel/);
  expect(refused.stdout + refused.stderr).not.toContain(PROXY_PASSWORD);
});

/** TLS and users in the real program: certificates and users that change at run time, and secrets that do not leak. */
import { hashSync } from 'bcryptjs';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { authority, type Authority } from '../support/certificates.ts';
import { daemonWorld, repairConfig, type DaemonWorld } from '../support/daemon-world.ts';
import { parseExposition, type Exposition } from '../support/exposition.ts';
import { basic, httpsClient } from '../support/https.ts';
import { Places } from '../support/leaks.ts';
import { opsd } from '../support/program.ts';
import { until } from '../support/until.ts';

const PASSWORD = 'canary-password-2f77';
const HASH = hashSync(PASSWORD, 4);
const ADMIN = basic('alice', PASSWORD);
const OK = 'opsd_config_last_reload_successful';
const NOT_AFTER = 'opsd_tls_certificate_not_after_timestamp_seconds';

const TLS = 'tls_server_config: { cert_file: server.crt, key_file: server.key }\n';
const USERS = `basic_auth_users:\n  alice: ${HASH}\n`;

/** Writes all files at once, as a volume does. */
function put(world: DaemonWorld, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(world.folder, `${name}.new`), text);
    renameSync(join(world.folder, `${name}.new`), join(world.folder, name));
  }
}

async function pairOf(ca: Authority, notAfter?: Date) {
  const { cert, key } = await ca.issue({ ...(notAfter !== undefined && { notAfter }) });
  return { 'server.crt': cert, 'server.key': key };
}

function configOf(world: DaemonWorld, server: string): string {
  return repairConfig(world, { mode: 'audit', every: '1h' }).replace('"127.0.0.1:0" }', `"127.0.0.1:0", ${server} }`);
}

test('certificates and users are applied without a lost connection; invalid ones change nothing and are reported', async () => {
  const world = await daemonWorld();
  const ca = await authority();
  const ends = [new Date('2040-01-01T00:00:00Z'), new Date('2041-01-01T00:00:00Z')] as const;
  put(world, { 'web.yaml': TLS + USERS, ...(await pairOf(ca, ends[0])) });
  const { daemon, url } = await world.start(
    configOf(world, 'webConfigFile: web.yaml, users: { alice: admin, bob: operator }'),
  );
  expect(url).toMatch(/^https:/);
  const kept = httpsClient({ ca: ca.cert, keepAlive: true, maxSockets: 1 });
  const fresh = () => httpsClient({ ca: ca.cert });
  const metricsBy = async (ask = fresh()): Promise<Exposition> =>
    parseExposition((await ask(`${url}/metrics`, { authorization: ADMIN })).text);
  const first = await kept(`${url}/metrics`, { authorization: ADMIN });
  expect(first.status).toBe(200);
  expect(parseExposition(first.text).value(NOT_AFTER, { listener: 'server' })).toBe(ends[0].getTime() / 1_000);

  const second = await pairOf(ca, ends[1]);
  put(world, second);
  await until(
    { what: 'the new certificate is shown' },
    async () => (await fresh()(`${url}/-/healthy`)).serial !== first.serial,
  );
  expect(await kept(`${url}/-/healthy`)).toMatchObject({ status: 200, isReused: true });
  expect((await metricsBy()).value(NOT_AFTER, { listener: 'server' })).toBe(ends[1].getTime() / 1_000);

  // A key of another certificate: half of a rotation.
  const { 'server.key': wrong } = await pairOf(ca);
  put(world, { 'server.key': wrong });
  const bad = await until({ what: 'it is told' }, () =>
    daemon.said('configuration reload failed, keeping the previous configuration').at(-1),
  );
  expect(bad).toMatchObject({ by: 'the files changed', auditOnly: false });
  expect(String(bad['problems'])).toMatch(
    /web\.yaml:1:\d+: tls_server_config\.key_file: the key in \S+server\.key does not match/,
  );
  expect((await metricsBy()).value(OK)).toBe(0);
  expect(await kept(`${url}/-/healthy`)).toMatchObject({ status: 200, isReused: true });
  const refused = opsd(['reload', '--socket', join(world.folder, 'opsd.db.sock')]);
  expect((await refused.ended).code).toBe(1);
  expect(refused.stderr()).toContain(`does not match the certificate in ${join(world.folder, 'server.crt')}`);

  // An expired certificate does not replace one that clients accept.
  put(world, await pairOf(ca, new Date(Date.now() - 1_000)));
  const expired = await until({ what: 'the expiry is reported' }, () =>
    daemon
      .said('configuration reload failed, keeping the previous configuration')
      .find(({ problems }) => String(problems).includes('expired at')),
  );
  expect(String(expired['problems'])).toContain(
    `server.webConfigFile: the certificate in ${join(world.folder, 'server.crt')} expired at `,
  );
  expect(await fresh()(`${url}/-/healthy`)).toMatchObject({ status: 200 });

  // Fixed, and with another user: both apply at once.
  put(world, { ...second, 'web.yaml': `${TLS}${USERS}  bob: ${HASH}\n` });
  const mended = opsd(['reload', '--socket', join(world.folder, 'opsd.db.sock')]);
  await mended.ended;
  expect(mended.stdout()).toMatch(/^The (changed web configuration files apply now|configuration has not changed)/);
  expect((await fresh()(`${url}/metrics`, { authorization: basic('bob', PASSWORD) })).status).toBe(200);
  await until({ what: 'the last loading was good' }, async () => (await metricsBy()).value(OK) === 1);
  expect(daemon.said('daemon running')).toHaveLength(1);
  expect(daemon.said('web configuration changed, applying it').length).toBeGreaterThan(0);

  // A removed user loses access, though the configuration still assigns a role. The remaining one keeps it.
  put(world, { 'web.yaml': TLS + USERS });
  await until(
    { what: 'bob is nobody' },
    async () => (await fresh()(`${url}/metrics`, { authorization: basic('bob', PASSWORD) })).status === 401,
  );
  put(world, { 'web.yaml': TLS });
  await until({ what: 'it is refused' }, async () => (await metricsBy()).value(OK) === 0);
  expect((await fresh()(`${url}/metrics`)).status).toBe(401);

  // Plain HTTP is another listener: it is opened again, on the same port.
  put(world, { 'web.yaml': USERS });
  await until({ what: 'it has started again' }, () => daemon.said('daemon running').length === 2);
  const plain = url.replace('https:', 'http:');
  expect(daemon.said('daemon running')[1]).toMatchObject({ url: plain });
  expect((await fetch(`${plain}/metrics`)).status).toBe(401);
  expect((await fetch(`${plain}/metrics`, { headers: { Authorization: ADMIN } })).status).toBe(200);
  await daemon.stop();
});

test('hooks have their own TLS and client certificates, and no users', async () => {
  const world = await daemonWorld();
  const ca = await authority();
  const hooksWeb = TLS.replace(' }', ', client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt }');
  put(world, { 'hooks.yaml': `${hooksWeb}${USERS}`, 'ca.crt': ca.cert, ...(await pairOf(ca)) });
  const config = `${configOf(world, 'anonymous: viewer')}hooks:
  listen: "127.0.0.1:0"
  webConfigFile: hooks.yaml
  alertmanager: { main: { token: hook-token } }
`;
  const refused = world.run(config);
  expect((await refused.ended).code).toBe(1);
  expect(refused.stderr()).toMatch(/hooks\.yaml:3:3: .*users are not allowed here/);

  put(world, { 'hooks.yaml': hooksWeb });
  const daemon = world.run(config);
  const ready = await daemon.logged('daemon running');
  const hook = `${String(ready['hooks'])}/hooks/alertmanager/main`;
  expect(hook).toMatch(/^https:/);
  expect((await fetch(`${String(ready['url'])}/metrics`)).status).toBe(200);
  const alert = { status: 'firing', labels: { alertname: 'X' }, fingerprint: 'f', startsAt: '2026-11-01T00:00:00Z' };
  const body = JSON.stringify({ version: '4', alerts: [alert] });
  const told = { method: 'POST', body, authorization: 'Bearer hook-token' } as const;
  const client = await ca.issue({ use: 'client' });
  expect((await httpsClient({ ca: ca.cert, ...client })(hook, told)).status).toBe(202);
  expect((await httpsClient({ ca: ca.cert, ...client })(hook, { ...told, authorization: ADMIN })).status).toBe(401);
  await expect(httpsClient({ ca: ca.cert })(hook, told)).rejects.toThrow(
    /ECONNRESET|socket hang up|certificate required/,
  );
  await daemon.stop();
});

test('no password, hash or key in logs, pages, metrics, errors, the store or the arguments', async () => {
  const world = await daemonWorld();
  const ca = await authority();
  const pair = await pairOf(ca);
  const keyLine = pair['server.key'].split('\n')[1]!;
  const canaries = [PASSWORD, HASH, keyLine, Buffer.from(`alice:${PASSWORD}`).toString('base64')];
  put(world, { 'web.yaml': TLS + USERS, user: `alice:${PASSWORD}\n`, 'ca.crt': ca.cert, ...pair });
  const config = configOf(world, 'webConfigFile: web.yaml, users: { alice: admin }').replace(
    'accounts:',
    'log: { level: debug }\naccounts:',
  );
  const { daemon, url } = await world.start(config);
  const ask = httpsClient({ ca: ca.cert });
  const places = new Places();
  const { seen } = places;
  for (const path of ['/', '/metrics', '/api/v1/status', '/api/v1/policies', '/api/v1/conditions', '/nothing']) {
    places.add(path, (await ask(url + path, { authorization: ADMIN })).text);
    places.add(`${path} with a wrong password`, (await ask(url + path, { authorization: `${ADMIN}x` })).text);
  }
  await expect(httpsClient({})(url)).rejects.toThrow(/unable to verify the first certificate/);
  const commands = ['--url', url, '--ca-file', join(world.folder, 'ca.crt')];
  for (const [what, args, env] of [
    ['pause', [...commands, '--user-file', join(world.folder, 'user')], {}],
    ['pause by environment', commands, { OPSD_USER: `alice:${PASSWORD}` }],
    ['pause of nobody', commands, { OPSD_USER: `alice:${PASSWORD}x` }],
  ] as const) {
    const program = opsd(['pause', '--reason', 'to look', ...args], { env });
    places.addArguments(`arguments of ${what}`, program);
    await places.addOutput(what, program);
  }
  expect(seen['pause']).toContain('All policies are paused.');
  expect(seen['pause of nobody']).toContain('The user or the password is wrong');

  // Every possible error about them is reported.
  const broken = {
    'a hash with more behind it': TLS + USERS.replace(HASH, `${HASH}x`),
    'a key in the wrong place': `tls_server_config:\n  cert_file: server.crt\n  kee: |\n    ${pair['server.key'].trimEnd().replaceAll('\n', '\n    ')}\n`,
    'a key that is cut off': `tls_server_config:\n  cert_file: server.crt\n  key: |\n    ${pair['server.key'].slice(0, 100).replaceAll('\n', '\n    ')}\n   x\n`,
    'a hash where no key is': `${TLS}basic_auth_users: ${HASH}\n`,
  };
  for (const [what, text] of Object.entries(broken)) {
    put(world, { 'web.yaml': text });
    const failed = daemon.said('configuration reload failed, keeping the previous configuration').length;
    daemon.kill('SIGHUP');
    await until(
      { what },
      () => daemon.said('configuration reload failed, keeping the previous configuration').length > failed,
    );
    places.add(`conditions with ${what}`, (await ask(`${url}/api/v1/conditions`, { authorization: ADMIN })).text);
    const check = opsd(['check', join(world.folder, 'opsd.yaml')]);
    expect((await check.ended).code).toBe(1);
    await places.addOutput(`check of ${what}`, check);
  }
  await daemon.stop();
  places.add('log', daemon.stderr() + daemon.stdout());
  places.addStore(world.folder);
  expect(places.leaks(canaries)).toEqual([]);
});

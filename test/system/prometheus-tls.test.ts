/**
 * A real Prometheus scrapes the daemon over TLS by its own documentation: correct targets are up, all others are down.
 */
import { hashSync } from 'bcryptjs';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { authority } from '../support/certificates.ts';
import { daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { freePort } from '../support/free-port.ts';
import { installed, opsd, start } from '../support/program.ts';
import { until } from '../support/until.ts';

const PASSWORD = 'scrape me';
const TOKEN = 'scrape-token';

interface Target {
  readonly health: string;
  readonly lastError: string;
  readonly labels: Readonly<Record<string, string>>;
}

test('Prometheus is admitted by password, by token and by certificate, and not without', async ({ skip }) => {
  const program = installed('prometheus');
  if (program === undefined) skip('prometheus is not installed');
  const world = await daemonWorld();
  const [ca, others] = [await authority(), await authority()];
  const [server, client, stranger] = [
    await ca.issue(),
    await ca.issue({ use: 'client', sans: [{ type: 'dns', value: 'prometheus.example' }] }),
    await ca.issue({ use: 'client', sans: [{ type: 'dns', value: 'else.example' }] }),
  ];
  const files = {
    'server.crt': server.cert,
    'server.key': server.key,
    'ca.crt': ca.cert,
    'others.crt': others.cert,
    'client.crt': client.cert,
    'client.key': client.key,
    'stranger.crt': stranger.cert,
    'stranger.key': stranger.key,
    password: PASSWORD,
    'wrong-password': `${PASSWORD}!`,
    token: TOKEN,
    'wrong-token': `${TOKEN}!`,
    'web.yaml': `tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [prometheus.example]
basic_auth_users:
  prometheus: ${hashSync(PASSWORD, 4)}
`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(world.folder, name), text);
  const tokens = 'webConfigFile: web.yaml, tokens: [{ name: scraper, role: viewer, tokenFile: token }]';
  const config = repairConfig(world, { mode: 'audit', every: '1h' });
  const { daemon, url } = await world.start(config.replace('"127.0.0.1:0" }', `"127.0.0.1:0", ${tokens} }`));

  const tls = (name: string, authorities = 'ca.crt'): string =>
    `tls_config: { ca_file: ${authorities}, cert_file: ${name}.crt, key_file: ${name}.key }`;
  const password = (file: string): string => `basic_auth: { username: prometheus, password_file: ${file} }`;
  const token = (file: string): string => `authorization: { credentials_file: ${file} }`;
  const jobs: Readonly<Record<string, { readonly health: string; readonly lines: readonly string[] }>> = {
    password: { health: 'up', lines: [tls('client'), password('password')] },
    token: { health: 'up', lines: [tls('client'), token('token')] },
    'wrong password': { health: 'down', lines: [tls('client'), password('wrong-password')] },
    'wrong token': { health: 'down', lines: [tls('client'), token('wrong-token')] },
    'no credentials': { health: 'down', lines: [tls('client')] },
    'certificate of another name': { health: 'down', lines: [tls('stranger'), password('password')] },
    'no certificate': { health: 'down', lines: ['tls_config: { ca_file: ca.crt }', password('password')] },
    'authority of others': { health: 'down', lines: [tls('client', 'others.crt'), password('password')] },
    'plain HTTP': { health: 'down', lines: ['scheme: http', password('password')] },
  };
  const scrape = Object.entries(jobs).map(([job, { lines }]) =>
    [
      `  - job_name: ${job}`,
      ...(lines.some((line) => line.startsWith('scheme')) ? [] : ['scheme: https']),
      'scrape_interval: 1s',
      `static_configs: [{ targets: ["${new URL(url).host}"] }]`,
      ...lines,
    ].join('\n    '),
  );
  writeFileSync(join(world.folder, 'prometheus.yml'), `scrape_configs:\n${scrape.join('\n')}\n`);
  const port = await freePort();
  const prometheus = start(program!, [
    `--config.file=${join(world.folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(world.folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const targets = await until({ what: 'every target was scraped' }, async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/targets`);
    const { data } = (await answer.json()) as { readonly data: { readonly activeTargets: readonly Target[] } };
    const found = data.activeTargets;
    return found.length === Object.keys(jobs).length && found.every(({ health }) => health !== 'unknown') && found;
  });
  const healths = Object.fromEntries(targets.map(({ labels, health }) => [labels['job'], health]));
  expect(healths).toEqual(Object.fromEntries(Object.entries(jobs).map(([job, { health }]) => [job, health])));
  const why = (job: string): string | undefined => targets.find(({ labels }) => labels['job'] === job)?.lastError;
  for (const job of ['wrong password', 'wrong token', 'no credentials']) expect(why(job)).toContain('401');

  const checked = opsd(['check', join(world.folder, 'opsd.yaml')]);
  expect((await checked.ended).code).toBe(0);
  prometheus.kill('SIGTERM');
  await daemon.stop();
});

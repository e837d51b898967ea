/**
 * A real Prometheus scrapes the daemon over TLS by its own documentation: correct targets are up, all others are down.
 */
import { hashSync } from 'bcryptjs';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { authority } from '../support/certificates.ts';
import { daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { installed, opsd } from '../support/program.ts';
import { prometheus } from '../support/prometheus.ts';
import { until } from '../support/until.ts';

const PASSWORD = 'scrape me';
const TOKEN = 'scrape-token';

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

  const at = (name: string): string => join(world.folder, name);
  const tls = (name: string, authorities = 'ca.crt') => ({
    tls_config: { ca_file: at(authorities), cert_file: at(`${name}.crt`), key_file: at(`${name}.key`) },
  });
  const password = (file: string) => ({ basic_auth: { username: 'prometheus', password_file: at(file) } });
  const token = (file: string) => ({ authorization: { credentials_file: at(file) } });
  const up: Readonly<Record<string, object>> = {
    password: { ...tls('client'), ...password('password') },
    token: { ...tls('client'), ...token('token') },
  };
  const down: Readonly<Record<string, object>> = {
    'wrong password': { ...tls('client'), ...password('wrong-password') },
    'wrong token': { ...tls('client'), ...token('wrong-token') },
    'no credentials': tls('client'),
    'certificate of another name': { ...tls('stranger'), ...password('password') },
    'no certificate': { tls_config: { ca_file: at('ca.crt') }, ...password('password') },
    'authority of others': { ...tls('client', 'others.crt'), ...password('password') },
    'plain HTTP': { scheme: 'http', ...password('password') },
  };
  const scrapes = Object.entries({ ...up, ...down }).map(([job, how]) => ({
    job_name: job,
    scheme: 'https',
    scrape_interval: '1s',
    static_configs: [{ targets: [new URL(url).host] }],
    ...how,
  }));
  // JSON is YAML.
  const watching = await prometheus(program!, { config: JSON.stringify({ scrape_configs: scrapes }) });
  const targets = await until({ what: 'every target was scraped' }, async () => {
    const found = await watching.targets();
    return found.length === scrapes.length && found.every(({ health }) => health !== 'unknown') && found;
  });
  const isIn = (wanted: string): string[] =>
    targets.filter(({ health }) => health === wanted).map(({ labels }) => labels['job']!);
  expect(isIn('up').toSorted()).toEqual(Object.keys(up).toSorted());
  expect(isIn('down').toSorted()).toEqual(Object.keys(down).toSorted());
  const why = (job: string): string | undefined => targets.find(({ labels }) => labels['job'] === job)?.lastError;
  for (const job of ['wrong password', 'wrong token', 'no credentials']) expect(why(job)).toContain('401');

  const checked = opsd(['check', at('opsd.yaml')]);
  expect((await checked.ended).code).toBe(0);
  await watching.stop();
  await daemon.stop();
});

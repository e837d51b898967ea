/** Client certificates of all outgoing requests, to a server that demands them, and through a rotation of the files. */
import { renameSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { authority, type Authority } from '../support/certificates.ts';
import { addressOf, daemonWorld, repairConfig, type DaemonWorld } from '../support/daemon-world.ts';
import { opsd } from '../support/program.ts';
import { until } from '../support/until.ts';

const KINDS = ['service', 'webhook', 'alertmanager', 'traces'] as const;

/** Serves the service, and receivers of notifications and spans. Remembers the clients of each. */
async function demandingServer(world: DaemonWorld, ca: Authority) {
  const seen = new Map<string, Set<string>>(KINDS.map((kind) => [kind, new Set()]));
  const { cert, key } = await ca.issue();
  const server = createServer({ cert, key, ca: ca.cert, requestCert: true, rejectUnauthorized: true });
  server.on('request', (incoming, response) => {
    const { url = '/', method, headers } = incoming;
    const kind = url === '/hook' ? 'webhook' : url.includes('/alerts') ? 'alertmanager' : 'service';
    const found = url.endsWith('/v1/traces') ? 'traces' : kind;
    seen.get(found)!.add((incoming.socket as TLSSocket).getPeerX509Certificate()!.serialNumber);
    if (found !== 'service') {
      incoming.resume().on('end', () => response.writeHead(200).end());
      return;
    }
    const options = {
      method,
      headers,
      host: new URL(world.service.url).hostname,
      port: new URL(world.service.url).port,
    };
    const passed = httpRequest({ ...options, path: url }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

test('the service and all receivers get the client certificate, also after its rotation', async () => {
  const world = await daemonWorld();
  const ca = await authority();
  const { url, seen } = await demandingServer(world, ca);
  const put = (name: string, text: string): string => {
    const path = join(world.folder, name);
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
    return path;
  };
  const rotate = async (): Promise<string> => {
    const { cert, key } = await ca.issue({ use: 'client' });
    put('client.crt', cert);
    put('client.key', key);
    return new X509Certificate(cert).serialNumber;
  };
  const first = await rotate();
  const pair = 'certFile: client.crt, keyFile: client.key';
  const config = `${repairConfig(world, { mode: 'audit', every: '1h' }).replace(
    /url: "(.*?)", /,
    `url: "${url}", ${pair}, `,
  )}notifications:
  webhook: { url: "${url}/hook", ${pair} }
  alertmanager: { url: "${url}", ${pair}, resendEvery: 1s }
`;
  const daemon = world.run(config, {
    NODE_EXTRA_CA_CERTS: put('ca.crt', ca.cert),
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_CERTIFICATE: join(world.folder, 'ca.crt'),
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: join(world.folder, 'client.crt'),
    OTEL_EXPORTER_OTLP_CLIENT_KEY: join(world.folder, 'client.key'),
  });
  await addressOf(daemon);
  const at = ['--socket', join(world.folder, 'opsd.db.sock')];
  const done = async (...args: readonly string[]): Promise<void> => {
    const program = opsd([...args, ...at]);
    expect(await program.ended, program.stderr()).toMatchObject({ code: 0 });
  };
  const all = (serial: string): Promise<true> =>
    until({ what: `all requests to have the certificate ${serial}` }, () =>
      KINDS.every((kind) => seen.get(kind)!.has(serial)),
    );
  await done('pause', '--reason', 'test');
  await all(first);
  const second = await rotate();
  await done('unpause', '--yes', '--reason', 'test');
  await all(second);
  const wrong = put('other.key', (await ca.issue()).key);
  world.write(config.replaceAll('client.key', 'other.key'));
  const checked = opsd(['check', join(world.folder, 'opsd.yaml')]);
  expect((await checked.ended).code).toBe(1);
  expect(checked.stderr()).toContain(
    `the key in ${wrong} does not match the certificate in ${join(world.folder, 'client.crt')}`,
  );
  await daemon.stop();
});

/**
 * Bodies of failed messages, from the service's own failure callbacks: kept through kill -9, read by operators, sealed in
 * every file, and in no output.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addressOf, daemonConfig } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { freePort } from '../support/free-port.ts';
import { httpSink } from '../support/http-sink.ts';
import { Places } from '../support/leaks.ts';
import { otlpSink } from '../support/otlp-sink.ts';
import { emulatorProgram, opsd } from '../support/program.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const TOKEN = 'canary-callback-token-2d';
const BODY = 'canary-message-body-7c1e';
const HEADER = 'canary-message-header-5b2a';
const QUERY = 'canary-message-query-8d9f';
const SECRETS = [TOKEN, BODY, HEADER, QUERY, ...[BODY, HEADER].map((text) => Buffer.from(text).toString('base64'))];
const OPERATOR = 'canary-operator-token-66';
const [OLD, NEW] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')];

interface Detail {
  readonly body?: { readonly size?: number; readonly until?: number; readonly reason?: string };
  readonly sample?: { readonly body?: string; readonly headers?: Readonly<Record<string, unknown>> };
}

test('bodies are kept through kill -9, sealed, rotated and dropped, and no output has them', async () => {
  const emulator = await emulatorProgram();
  const destination = await httpSink((_request, response) => void response.writeHead(503).end());
  const traces = await otlpSink();
  const notified = await httpSink();
  const folder = tempDir();
  const file = (name: string): string => join(folder, name);
  writeFileSync(file('key'), OLD);
  writeFileSync(file('callback'), TOKEN);
  writeFileSync(file('operator'), OPERATOR);
  const hooks = `http://127.0.0.1:${await freePort()}`;
  const hook = `${hooks}/hooks/callbacks/production`;
  const configOf = (bodies?: object): string =>
    daemonConfig(emulator.url, {
      log: { level: 'debug' },
      server: { listen: '127.0.0.1:0', tokens: [{ name: 'anna', role: 'operator', tokenFile: 'operator' }] },
      account: {
        collectors: { logs: { every: '1s', lag: '1s' }, workflowDlq: { every: '1s', full: '10s' } },
        ...(bodies !== undefined && { deadLetters: { bodies } }),
      },
      hooks: { listen: new URL(hooks).host, callbacks: { production: { tokenFile: 'callback' } } },
      telemetry: { metrics: { newSeriesZeroFor: '0s' }, traces: { otlp: { url: traces.url }, sampleRatio: 1 } },
      notifications: { infoAfter: '0s', webhook: { url: notified.url } },
    });
  const bodies = { keep: '1h', maxBytes: '2KiB', keyFile: 'key' };
  const write = (text: string): void => writeFileSync(file('opsd.yaml'), text);
  write(configOf(bodies));
  const start = () => opsd(['run', '--config', file('opsd.yaml')]);
  let daemon = start();
  let url = await addressOf(daemon);

  const known = async (): Promise<readonly string[]> => {
    const answer = await fetch(`${url}/api/v1/dead-letters?queue=message`);
    const { deadLetters } = (await answer.json()) as { deadLetters: readonly { id: string }[] };
    return deadLetters.map(({ id }) => id);
  };
  const seenIds = new Set<string>();
  /** Publishes a message that fails. Returns the dlqId of its dead letter. */
  const fail = async (
    body: string | Uint8Array<ArrayBuffer>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const answer = await fetch(`${emulator.url}/v2/publish/${destination.url}/orders?api_key=${QUERY}`, {
      method: 'POST',
      body,
      headers: {
        Authorization: `Bearer ${TEST_TOKEN}`,
        'Content-Type': 'application/json',
        'Svc-Forward-Authorization': `Bearer ${HEADER}`,
        'Svc-Forward-X-Note': HEADER,
        'Svc-Retries': '0',
        'Svc-Failure-Callback': hook,
        'Svc-Failure-Callback-Forward-Authorization': `Bearer ${TOKEN}`,
        ...headers,
      },
    });
    expect(answer.status).toBeLessThan(300);
    let found: string | undefined;
    await until({ what: 'the dead letter is known' }, async () => {
      found = (await known()).find((id) => !seenIds.has(id));
      return found !== undefined;
    });
    seenIds.add(found!);
    return found!;
  };
  const operator = { headers: { Authorization: `Bearer ${OPERATOR}` } };
  const detail = async (id: string, query = ''): Promise<Detail> =>
    (await (await fetch(`${url}/api/v1/dead-letters/${id}${query}`, operator)).json()) as Detail;
  const value = async (name: string, labels: object = {}) =>
    (await scrape(url)).value(`opsd_dead_letter_bodies_${name}`, { account: 'production', ...labels });

  const secret = JSON.stringify({ order: 7, password: BODY });
  const first = await fail(secret);
  // A response to the hook is a promise: what it stored survives at once.
  daemon.kill('SIGKILL');
  await daemon.ended;
  const killed = daemon;
  daemon = start();
  url = await addressOf(daemon);
  await until({ what: 'the dead letter is known again' }, async () => (await known()).includes(first));
  expect((await detail(first)).body).toMatchObject({ size: secret.length });
  const whole = await detail(first, '?body=true');
  expect(whole.sample?.body).toBe('{"order":7,"password":"[secret]"}');
  expect(JSON.stringify(whole.sample?.headers)).toContain('application/json');
  // Without a name beside it, a secret of a header is shown to the operator who asks for it, and to no one else.
  expect(JSON.stringify(whole)).toContain(HEADER);
  expect((await fetch(`${url}/api/v1/dead-letters/${first}?body=true`)).status).toBe(401);

  const large = await fail('x'.repeat(2_049));
  const redacted = await fail(secret, { 'Svc-Redact-Fields': 'body' });
  const binary = await fail(new Uint8Array([0, 255, 10, 128]));
  const empty = await fail('');
  expect((await detail(large)).body?.reason).toContain('larger than deadLetters.bodies.maxBytes');
  // The emulator redacts its log and lists, not its callbacks.
  expect((await detail(redacted)).body).toMatchObject({ size: secret.length });
  expect((await detail(binary)).body).toMatchObject({ size: 4 });
  expect((await detail(empty)).body).toMatchObject({ size: 0 });

  // Rotation, without a reload: the new key seals, and the old one opens until it is removed.
  writeFileSync(file('key'), `${NEW}\n${OLD}\n`);
  const second = await fail(secret);
  for (const id of [first, second]) expect((await detail(id, '?body=true')).sample?.body).toContain('"order":7');
  writeFileSync(file('key'), NEW);
  expect((await detail(first)).body?.reason).toContain('which keyFile lacks');
  writeFileSync(file('key'), BODY);
  const unsealed = await fail(secret);
  expect((await detail(unsealed)).body?.reason).toContain('keyFile could not be used');
  await until({ what: 'it is counted' }, async () => (await value('not_kept_total', { reason: 'key' })) === 1);
  expect(await value('not_kept_total', { reason: 'too_large' })).toBe(1);
  writeFileSync(file('key'), NEW);
  expect(await value('bytes')).toBeGreaterThan(secret.length * 2);

  const places = new Places();
  const from = ['--url', url, '--token-file', file('operator')];
  for (const args of [
    ['dlq', 'show', second],
    ['dlq', 'list'],
    ['status'],
    ['explain', second],
    ['audit'],
    ['metrics'],
  ]) {
    await places.addOutput(args.join(' '), opsd([...args, ...from]));
  }
  expect(places.seen[`dlq show ${second}`]).toMatch(/Body +\d+ B/);
  await places.addOutput('check', opsd(['check', file('opsd.yaml')]));
  await places.addOutput('doctor', opsd(['doctor', '--config', file('opsd.yaml')]));
  expect(places.seen['doctor']).toContain('sealed with key');
  await places.addOutput('backup', opsd(['state', 'backup', file('opsd.db.backup'), '--config', file('opsd.yaml')]));
  const page = `/dead-letters/${second}?account=production`;
  await places.addPages(url, [
    '/metrics',
    '/',
    '/dead-letters',
    '/incidents',
    '/audit',
    '/sources',
    '/configuration',
    page,
  ]);
  await places.addPages(
    url,
    ['dead-letters', `dead-letters/${second}`, 'audit', 'incidents', 'conditions', 'actions', 'runs'].map(
      (path) => `/api/v1/${path}`,
    ),
  );
  expect(places.seen[page]).toMatch(/dropped <time/);
  // Operators read a body if they ask for it.
  const { stdout } = await opsd(['dlq', 'show', second, '--body', ...from]).output();
  expect(stdout).toContain('"order":7');

  // Without the setting nothing new is kept, and what was kept ends.
  write(configOf());
  daemon.kill('SIGHUP');
  await until({ what: 'the configuration is applied' }, () => daemon.said('daemon running').length === 2);
  const later = await fail(secret);
  expect((await detail(later)).body?.reason).toContain('Bodies of production are not kept');
  await daemon.stop();
  places.add('log', killed.stderr() + killed.stdout() + daemon.stderr() + daemon.stdout());
  places.add('traces', JSON.stringify([traces.spans, traces.requests.map((request) => request.headers)]));
  expect(notified.requests).not.toEqual([]);
  places.add(
    'notifications',
    notified.requests.map(({ headers, body }) => JSON.stringify(headers) + String(body)).join(),
  );
  places.addStore(folder);
  expect(places.seen['opsd.db.backup']).toContain(second);
  expect(places.leaks(SECRETS)).toEqual([]);
  expect(readFileSync(file('opsd.db')).includes(NEW)).toBe(false);
});

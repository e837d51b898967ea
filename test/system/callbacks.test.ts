/** The service's own failure callbacks, signed, reach the daemon. No secret of hooks or notifications leaks. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { daemonConfig } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { freePort } from '../support/free-port.ts';
import { httpSink } from '../support/http-sink.ts';
import { Places } from '../support/leaks.ts';
import { emulatorProgram, opsd } from '../support/program.ts';
import { publish, TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const KEY = 'canary-signing-key-1c';
const TOKEN = 'canary-callback-token-2d';
const AM_TOKEN = 'canary-alert-token-3e';
const NOTIFY = 'canary-notify-path-4f';
const NOTIFY_TOKEN = 'canary-notify-token-5a';
const NOTIFY_HEADER = 'canary-notify-header-6b';
const BODY = 'canary-message-body-7c';
const QUERY = 'canary-message-query-8d';
const CANARIES = [KEY, TOKEN, AM_TOKEN, NOTIFY, NOTIFY_TOKEN, NOTIFY_HEADER, BODY, QUERY];

test('a failure callback of the service is accepted, triggers its policy, and leaks no secret', async () => {
  const emulator = await emulatorProgram([`--signing-key=${KEY}`]);
  const service = { url: emulator.url, token: TEST_TOKEN };
  const destination = await httpSink((_request, response) => void response.writeHead(503).end(BODY));
  const people = await httpSink((_request, response) => void response.writeHead(500).end());
  const folder = tempDir();
  writeFileSync(join(folder, 'callback-token'), TOKEN);
  writeFileSync(join(folder, 'signing-keys'), `some-older-key\n${KEY}\n`);
  writeFileSync(join(folder, 'notify'), `${people.url}/${NOTIFY}`);
  writeFileSync(join(folder, 'PAUSE'), '');
  const hooks = `http://127.0.0.1:${await freePort()}`;
  const hook = `${hooks}/hooks/callbacks/production`;
  writeFileSync(
    join(folder, 'opsd.yaml'),
    daemonConfig(emulator.url, {
      log: { level: 'debug' },
      account: { collectors: { workflowDlq: { every: '1s', full: '10s' } } },
      engine: { killSwitchFile: 'PAUSE' },
      telemetry: { metrics: { newSeriesZeroFor: '0s' } },
      hooks: {
        listen: new URL(hooks).host,
        alertmanager: { main: { token: '${env:AM_TOKEN}' } },
        callbacks: { production: { tokenFile: 'callback-token', signingKeysFile: 'signing-keys', url: hook } },
      },
      notifications: {
        infoAfter: '0s',
        webhook: { urlFile: 'notify', token: '${env:NOTIFY_TOKEN}', headers: { 'X-Key': '${env:NOTIFY_HEADER}' } },
      },
      policies: [
        {
          name: 'on-callback',
          account: 'production',
          mode: 'enforce',
          on: { failureCallback: true },
          select: { resource: 'message-dlq', anyLabel: ['billing'] },
          where: '"billing" in entry.labels',
          action: { type: 'message-dlq.delete' },
        },
      ],
    }),
  );
  const daemon = opsd(['run', '--config', join(folder, 'opsd.yaml')], {
    env: { AM_TOKEN, NOTIFY_TOKEN, NOTIFY_HEADER },
  });
  const url = String((await daemon.logged('daemon running'))['url']);
  const value = async (name: string, labels: Readonly<Record<string, string>>): Promise<number> =>
    (await scrape(url)).value(name, labels) ?? 0;
  const headers = (token: string) => ({
    'Svc-Retries': '0',
    'Svc-Failure-Callback': hook,
    'Svc-Failure-Callback-Forward-Authorization': `Bearer ${token}`,
    'Svc-Failure-Callback-Forward-Opsd-Label': 'billing',
    'Svc-Failure-Callback-Retries': '0',
  });

  await publish(service, `${destination.url}/orders?api_key=${QUERY}`, headers(TOKEN));
  await until(
    { what: 'the callback is taken' },
    async () =>
      (await value('opsd_callbacks_received_total', { account: 'production', kind: 'failure_callback' })) === 1,
  );
  await publish(service, `${destination.url}/orders`, headers('guess'));
  await until(
    { what: 'one with another token is not' },
    async () => (await value('opsd_callbacks_rejected_total', { account: 'production', reason: 'unauthorized' })) === 1,
  );
  const forged = await fetch(hook, { method: 'POST', headers: { Authorization: `Bearer ${TOKEN}` }, body: BODY });
  expect(forged.status).toBe(400);
  const unsigned = JSON.stringify({ sourceMessageId: 'm', dlqId: 'd', body: BODY });
  const answer = await fetch(hook, { method: 'POST', headers: { Authorization: `Bearer ${TOKEN}` }, body: unsigned });
  expect(answer.status).toBe(401);

  await until(
    { what: 'the policy has run' },
    async () => (await value('opsd_policy_triggers_total', { policy: 'on-callback', trigger: 'callback' })) === 1,
  );
  await until({ what: 'people are told that it is held' }, () => people.requests.length > 0);
  expect(people.requests[0]).toMatchObject({
    url: `/${NOTIFY}`,
    headers: { authorization: `Bearer ${NOTIFY_TOKEN}`, 'x-key': NOTIFY_HEADER },
  });
  await daemon.logged('notification delivery failed, will retry');

  const places = new Places();
  const { seen } = places;
  places.addArguments('arguments', daemon);
  await places.addPages(url, ['/metrics', '/', '/api/v1/status', '/api/v1/policies', '/api/v1/actions']);
  await daemon.stop();
  places.add('log', daemon.stderr() + daemon.stdout());
  places.addStore(folder);
  expect(seen['opsd.db']).toContain('held/on-callback');
  expect(seen['opsd.db']).toContain('/orders');
  expect(places.leaks([...CANARIES, Buffer.from(BODY).toString('base64')])).toEqual([]);
});

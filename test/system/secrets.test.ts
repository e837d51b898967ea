/** A canary in every place of a secret: it must appear nowhere but in requests to the service. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addressOf, daemonConfig, resumeBilling } from '../support/daemon-world.ts';
import { Places } from '../support/leaks.ts';
import { otlpSink } from '../support/otlp-sink.ts';
import { emulatorProgram, opsd } from '../support/program.ts';
import { httpSink } from '../support/http-sink.ts';
import { failedRuns, logsUntil, publish, trigger } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const TOKEN = 'canary-token-5c1d';
const PASSWORD = 'canary-password-9e2a';
const HEADER = 'canary-header-77b0';
const BODY = 'canary-body-3f6c';
const API_TOKEN = 'canary-api-token-8d20';
/** What shows readings, policies and conditions. */
const PATHS = [
  '/metrics',
  '/',
  '/api/v1/status',
  '/api/v1/sources',
  '/api/v1/policies',
  '/api/v1/conditions',
  '/api/v1/runs',
];
const CANARIES = [TOKEN, PASSWORD, HEADER, BODY, API_TOKEN, Buffer.from(`ops:${PASSWORD}`).toString('base64')];

test('no canary in logs, metrics, traces, pages, answers, the store, the arguments or the process list', async () => {
  const emulator = await emulatorProgram([`--token=${TOKEN}`, `--management=ops:${PASSWORD}`]);
  const service = { url: emulator.url, token: TOKEN };
  const destination = await httpSink((_request, response) => void response.writeHead(503).end(BODY));
  const traces = await otlpSink();
  const folder = tempDir();
  writeFileSync(join(folder, 'token'), TOKEN);
  writeFileSync(join(folder, 'api-token'), API_TOKEN);
  const config = join(folder, 'opsd.yaml');
  const collectors = { logs: { every: '1s', lag: '1s' }, workflowDlq: { every: '1s', full: '10s' } };
  writeFileSync(
    config,
    daemonConfig(emulator.url, {
      server: { listen: '127.0.0.1:0', tokens: [{ name: 'oncall', role: 'operator', tokenFile: 'api-token' }] },
      log: { level: 'debug' },
      accounts: [
        {
          name: 'production',
          messageApi: { url: emulator.url, tokenFile: 'token', actionToken: '${env:ACTION_TOKEN}' },
          managementApi: { url: emulator.url, accountId: 'acc-1', username: 'ops', password: '${env:PASSWORD}' },
          collectors,
        },
        { name: 'wrong', messageApi: { url: emulator.url, token: `${TOKEN}-no-longer-valid` }, collectors },
      ],
      telemetry: { traces: { otlp: { url: traces.url }, sampleRatio: 1 } },
      policies: [resumeBilling()],
    }),
  );
  const headers = {
    'Svc-Retries': '0',
    'Svc-Label': 'billing',
    'Svc-Forward-Authorization': `Bearer ${HEADER}`,
  };
  await publish(service, `${destination.url}/orders?api_key=${HEADER}`, headers);
  await trigger(service, `${destination.url}/workflow`, headers);
  await until({ what: 'a run has failed' }, async () => (await failedRuns(service)).length === 1);

  const daemon = opsd(['run', '--config', config], { env: { ACTION_TOKEN: TOKEN, PASSWORD } });
  const url = await addressOf(daemon);
  await until({ what: 'the run was resumed and failed again' }, async () =>
    (await logsUntil(service, Date.now())).some(
      (row) => row.state === 'FAILED' && row.labels?.some((label) => label.startsWith('opsd:')),
    ),
  );
  // Only events that the daemon observed at run time become a trace.
  await publish(service, `${destination.url}/orders?api_key=${HEADER}`, headers);
  await until({ what: 'a trace has come' }, () => traces.spans.length > 0);

  const places = new Places();
  const { seen } = places;
  places.add('log', daemon.stderr() + daemon.stdout());
  places.addArguments('arguments', daemon);
  places.add('traces', JSON.stringify([traces.spans, traces.requests.map((request) => request.headers)]));
  await places.addPages(url, [...PATHS, '/api/v1/plans', '/api/v1/actions', '/api/v1/actions/1', '/-/ready']);
  const env = { ACTION_TOKEN: TOKEN, PASSWORD };
  await places.addOutput('plan', opsd(['plan', 'resume-billing', '--config', config, '-o', 'json'], { env }));
  const from = ['--url', url, '--token-file', join(folder, 'api-token')];
  for (const [command, args, given] of [
    ['plan', ['resume-billing', ...from], {}],
    ['explain', ['dlq-none', ...from], {}],
    ['pause', ['--reason', 'to look', '--url', url], { OPSD_TOKEN: API_TOKEN }],
    // Not allowed for an operator: the error names the token and never shows it.
    ['unpause', ['--reason', 'looked', '--yes', ...from], {}],
    ['pause', ['--reason', 'to look', '--url', url], { OPSD_TOKEN: `${API_TOKEN}-old` }],
  ] as const) {
    places.add(`arguments of ${command}`, args.join(' '));
    await places.addOutput(command, opsd([command, ...args], { env: given }));
  }
  expect(seen['pause']).toContain('All policies are paused.');
  expect(seen['unpause']).toContain('oncall');
  await places.addOutput('check with a variable missing', opsd(['check', config], { env: { ACTION_TOKEN: TOKEN } }));
  await daemon.stop();
  places.add('log at the end', daemon.stderr());
  places.addStore(folder);

  expect(seen['log']).toContain('"unauthorized"');
  expect(seen['check with a variable missing']).toContain('PASSWORD');
  expect(places.leaks(CANARIES)).toEqual([]);
});

test('no canary of a service that puts secrets into its errors and headers, in any output', async () => {
  const canary = 'cAnArY-4b81';
  const leak = [
    `upstream https://ops:${canary}@db.example/x?token=${canary}&sig=${canary} refused`,
    `{"password":"${canary}"}`,
    `Authorization: Bearer ${canary}`,
    encodeURIComponent(`https://ops:${canary}@cache.example/?sig=${canary}`),
  ].join(' ');
  const service = await httpSink((_request, response) => {
    const headers = {
      'X-Api-Key': canary,
      Location: `https://ops:${canary}@db.example/`,
      'Content-Type': 'text/plain',
    };
    response.writeHead(503, headers).end(JSON.stringify({ error: leak }));
  });
  const webhook = await httpSink();
  const folder = tempDir();
  const config = join(folder, 'opsd.yaml');
  writeFileSync(
    config,
    daemonConfig(service.url, {
      account: { collectors: { logs: { every: '1s' }, workflowDlq: { every: '1s', full: '10s' } } },
      log: { level: 'debug' },
      notifications: { webhook: { url: webhook.url }, infoAfter: '1s' },
      policies: [resumeBilling()],
    }),
  );
  const daemon = opsd(['run', '--config', config]);
  const url = await addressOf(daemon);
  await until({ what: 'the error is shown' }, async () =>
    (await (await fetch(`${url}/api/v1/sources`)).text()).includes('db.example'),
  );
  await until({ what: 'a notification has come' }, () => webhook.requests.length > 0);
  const places = new Places();
  await places.addPages(url, PATHS);
  await places.addOutput('plan', opsd(['plan', 'resume-billing', '--config', config]));
  await places.addOutput('trace', opsd(['trace', 'show', 'msg_1', '--config', config]));
  await daemon.stop();
  places.add('log', daemon.stderr() + daemon.stdout());
  places.add('notifications', webhook.requests.map(({ body }) => body.toString()).join('\n'));
  places.addStore(folder);
  for (const place of ['/', '/api/v1/sources', 'log', 'plan'])
    expect(places.seen[place], place).toContain('db.example');
  // Only the audit log of the store leaves the machine.
  expect(places.leaks([canary], (place) => !place.startsWith('opsd.db') || place.includes('audit'))).toEqual([]);
});

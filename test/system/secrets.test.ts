/** A canary in every place of a secret: it must appear nowhere but in requests to the service. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addressOf } from '../support/daemon-world.ts';
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
  writeFileSync(
    config,
    `
server: { listen: "127.0.0.1:0", tokens: [{ name: oncall, role: operator, tokenFile: api-token }] }
storage: { sqlite: { path: opsd.db } }
log: { level: debug }
accounts:
  - name: production
    messageApi: { url: "${emulator.url}", tokenFile: token, actionToken: "\${env:ACTION_TOKEN}" }
    managementApi: { url: "${emulator.url}", accountId: acc-1, username: ops, password: "\${env:PASSWORD}" }
    collectors: { logs: { every: 1s, lag: 1s }, workflowDlq: { every: 1s, full: 10s } }
  - name: wrong
    messageApi: { url: "${emulator.url}", token: "${TOKEN}-no-longer-valid" }
    collectors: { logs: { every: 1s }, workflowDlq: { every: 1s, full: 10s } }
telemetry: { traces: { otlp: { url: "${traces.url}" }, sampleRatio: 1 } }
policies:
  - name: resume-all
    account: production
    mode: enforce
    every: 1s
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume, retries: 0 }
`,
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

  const seen: Record<string, string> = {
    log: daemon.stderr() + daemon.stdout(),
    arguments: readFileSync(`/proc/${daemon.pid}/cmdline`, 'utf8'),
    traces: JSON.stringify(traces.spans) + traces.requests.map((request) => JSON.stringify(request.headers)).join(''),
  };
  for (const path of [
    '/metrics',
    '/',
    '/api/v1/status',
    '/api/v1/sources',
    '/api/v1/policies',
    '/api/v1/conditions',
    '/api/v1/plans',
    '/api/v1/runs',
    '/api/v1/actions',
    '/api/v1/actions/1',
    '/-/ready',
  ]) {
    seen[path] = await (await fetch(url + path)).text();
  }
  const plan = opsd(['plan', 'resume-all', '--config', config, '-o', 'json'], {
    env: { ACTION_TOKEN: TOKEN, PASSWORD },
  });
  await plan.ended;
  seen['plan'] = plan.stdout() + plan.stderr();
  const from = ['--url', url, '--token-file', join(folder, 'api-token')];
  for (const [command, args, env] of [
    ['plan', ['resume-all', ...from], {}],
    ['explain', ['dlq-none', ...from], {}],
    ['pause', ['--reason', 'to look', '--url', url], { OPSD_TOKEN: API_TOKEN }],
    // Not allowed for an operator: the error names the token and never shows it.
    ['unpause', ['--reason', 'looked', '--yes', ...from], {}],
    ['pause', ['--reason', 'to look', '--url', url], { OPSD_TOKEN: `${API_TOKEN}-old` }],
  ] as const) {
    const program = opsd([command, ...args], { env });
    const place = `arguments of ${command}`;
    seen[place] = (seen[place] ?? '') + args.join(' ');
    await program.ended;
    seen[command] = (seen[command] ?? '') + program.stdout() + program.stderr();
  }
  expect(seen['pause']).toContain('All policies are paused.');
  expect(seen['unpause']).toContain('oncall');
  const check = opsd(['check', config], { env: { ACTION_TOKEN: TOKEN } });
  await check.ended;
  seen['check with a variable missing'] = check.stdout() + check.stderr();
  daemon.kill('SIGTERM');
  await daemon.ended;
  seen['log at the end'] = daemon.stderr();
  for (const file of readdirSync(folder).filter((name) => name.startsWith('opsd.db'))) {
    seen[file] = readFileSync(join(folder, file), 'latin1');
  }

  expect(Object.keys(seen)).toContain('opsd.db');
  expect(seen['log']).toContain('"unauthorized"');
  expect(seen['check with a variable missing']).toContain('PASSWORD');
  for (const [place, text] of Object.entries(seen)) {
    expect(text.length, place).toBeGreaterThan(0);
    for (const canary of CANARIES) expect(text.includes(canary), `${canary} in ${place}`).toBe(false);
  }
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
    `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
log: { level: debug }
notifications: { webhook: { url: "${webhook.url}" }, infoAfter: 1s }
accounts:
  - name: production
    messageApi: { url: "${service.url}", token: x }
    collectors: { logs: { every: 1s }, workflowDlq: { every: 1s, full: 10s } }
policies:
  - name: resume-all
    account: production
    mode: enforce
    every: 1s
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume, retries: 0 }
`,
  );
  const daemon = opsd(['run', '--config', config]);
  const url = await addressOf(daemon);
  const paths = [
    '/metrics',
    '/',
    '/api/v1/status',
    '/api/v1/sources',
    '/api/v1/policies',
    '/api/v1/conditions',
    '/api/v1/runs',
  ];
  const read = async () =>
    Object.fromEntries(
      await Promise.all(paths.map(async (path) => [path, await (await fetch(url + path)).text()] as const)),
    );
  await until({ what: 'the error is shown' }, async () => (await read())['/api/v1/sources']!.includes('db.example'));
  await until({ what: 'a notification has come' }, () => webhook.requests.length > 0);
  const seen: Record<string, string> = await read();
  const plan = opsd(['plan', 'resume-all', '--config', config]);
  await plan.ended;
  seen['plan'] = plan.stdout() + plan.stderr();
  const api = opsd(['trace', 'show', 'msg_1', '--config', config]);
  await api.ended;
  seen['trace'] = api.stdout() + api.stderr();
  daemon.kill('SIGTERM');
  await daemon.ended;
  seen['log'] = daemon.stderr() + daemon.stdout();
  seen['notifications'] = webhook.requests.map(({ body }) => body.toString()).join('\n');
  for (const file of readdirSync(folder).filter((name) => name.startsWith('opsd.db') && name.includes('audit'))) {
    seen[file] = readFileSync(join(folder, file), 'latin1');
  }
  for (const place of ['/', '/api/v1/sources', 'log', 'plan']) expect(seen[place], place).toContain('db.example');
  for (const [place, text] of Object.entries(seen)) expect(text.includes(canary), `canary in ${place}`).toBe(false);
});

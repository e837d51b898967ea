/** A canary in all inputs of policies: it does not leak, and an archive keeps bodies, not credentials. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startEmulator } from '#emulator/emulator.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { addressOf } from '../support/daemon-world.ts';
import { httpSink } from '../support/http-sink.ts';
import { otlpSink } from '../support/otlp-sink.ts';
import { clockedOpsd, opsd, type Program } from '../support/program.ts';
import { publish, trigger } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const TOKEN = 'canary-token-1a2b';
const PASSWORD = 'canary-password-3c4d';
const HEADER = 'canary-entry-header-5e6f';
const NOTIFY = 'canary-notify-token-7a8b';
const BODY = 'canary-response-body-9c0d';
/** The URL of a workflow identifies an entry, so its query stays where entries are kept. */
const QUERY = 'canary-url-query-1e2f';
const SECRETS = [TOKEN, PASSWORD, HEADER, NOTIFY, Buffer.from(`ops:${PASSWORD}`).toString('base64')];
const HOUR = 3_600_000;

test('no canary in archives, audit, plans, notifications, answers, metrics, spans or logs of policies', async () => {
  const emulator = await startEmulator({
    clock: systemClock,
    control: true,
    random: seededRandom(5),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: 'acc-1', token: TOKEN }],
    management: { username: 'ops', password: PASSWORD },
  });
  onTestFinished(() => emulator.stop());
  const service = { url: emulator.url, token: TOKEN };
  const destination = await httpSink(({ url }, response) => {
    response.writeHead(url.startsWith('/gone') ? 404 : 503).end(BODY);
  });
  const people = await httpSink();
  const traces = await otlpSink();
  const folder = tempDir();
  const config = join(folder, 'opsd.yaml');
  writeFileSync(
    config,
    `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
log: { level: debug }
accounts:
  - name: production
    messageApi: { url: "${emulator.url}", token: "\${env:TOKEN}" }
    managementApi: { url: "${emulator.url}", accountId: acc-1, username: ops, password: "\${env:PASSWORD}" }
    collectors: { logs: { every: 1s, lag: 1s }, workflowDlq: { every: 1s, full: 10s } }
telemetry: { traces: { otlp: { url: "${traces.url}" }, sampleRatio: 1 } }
notifications:
  infoAfter: 0s
  webhook: { url: "${people.url}/notify", token: "\${env:NOTIFY}" }
policies:
  - name: delete-gone
    account: production
    mode: enforce
    every: 1s
    select: { resource: workflow-dlq, anyLabel: [billing] }
    where: has(entry.status) && entry.status == 404
    action: { type: workflow-dlq.delete, archive: { dir: archive }, grace: 1h }
    limits: { probation: { runs: 1 } }
  - name: ask-first
    account: production
    mode: approve
    every: 1s
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume }
  - name: resume-other
    account: production
    mode: enforce
    every: 1s
    select: { resource: workflow-dlq, anyLabel: [other] }
    action: { type: workflow-dlq.resume, retries: 0 }
    ramp: { settle: 1s }
`,
  );
  const headers = {
    'Svc-Retries': '0',
    'Svc-Label': 'billing',
    'Svc-Forward-Authorization': `Bearer ${HEADER}`,
    'Svc-Forward-X-Api-Key': HEADER,
  };
  for (const path of ['gone', 'broken', 'other']) {
    const label = { 'Svc-Label': path === 'other' ? 'other' : 'billing' };
    await trigger(service, `${destination.url}/${path}?token=${QUERY}`, { ...headers, ...label });
  }
  await until({ what: 'all have failed' }, () => emulator.workflowDlq('acc-1').length === 3);
  const env = { TOKEN, PASSWORD, NOTIFY };
  const ahead = (): number => emulator.control.clock().now - systemClock.now();

  const first = clockedOpsd({ aheadMs: ahead() }, ['run', '--config', config], { env });
  await until({ what: 'the grace begins' }, () => runsOf(first, 'delete-gone') >= 1);
  first.kill('SIGTERM');
  await first.ended;
  await emulator.advance(HOUR + 60_000);
  const daemon = clockedOpsd({ aheadMs: ahead() }, ['run', '--config', config], { env });
  const url = await addressOf(daemon);
  await publish(service, `${destination.url}/orders`, headers);
  await until({ what: 'the hopeless one is deleted' }, () =>
    emulator.workflowDlq('acc-1').every(({ url: of }) => !of.includes('/gone')),
  );
  const told = (): string => people.requests.map(({ body }) => body.toString()).join('\n');
  await until(
    { what: 'a plan waits, a group is halted, and people know' },
    () => runsOf(daemon, 'ask-first') >= 1 && told().includes('ask-first') && told().includes('has halted'),
  );
  await until({ what: 'spans have come' }, () => traces.spans.length > 0);

  const { dlqId } = emulator.workflowDlq('acc-1').find(({ url: of }) => of.includes('/broken'))!;
  const seen: Record<string, string> = {
    notifications: told(),
    spans: JSON.stringify(traces.spans),
  };
  const ask = async (path: string): Promise<string> => (seen[path] = await (await fetch(url + path)).text());
  for (const path of [
    '/',
    '/metrics',
    '/api/v1/policies',
    '/api/v1/conditions',
    '/api/v1/runs',
    '/api/v1/actions',
    '/api/v1/actions/1',
  ])
    await ask(path);
  const id = /"id":\s*"([0-9a-f]{6})"/.exec(await ask('/api/v1/plans'))![1]!;
  await ask(`/api/v1/plans/${id}`);
  for (const args of [
    ['plan', 'ask-first', 'delete-gone', '-o', 'json'],
    ['plan', 'ask-first'],
    ['explain', dlqId, '-o', 'json'],
    ['audit'],
    ['audit', '-o', 'jsonl'],
  ]) {
    const program = opsd([...args, '--config', config], { env });
    await program.ended;
    seen[args.join(' ')] = program.stdout() + program.stderr();
  }
  daemon.kill('SIGTERM');
  await daemon.ended;
  seen['log'] = first.stderr() + daemon.stderr() + daemon.stdout();
  for (const name of readdirSync(folder).filter((file) => file.startsWith('opsd.db'))) {
    seen[name] = readFileSync(join(folder, name), 'latin1');
  }
  const archive = filesUnder(join(folder, 'archive'));

  // Each place was reached, and contains the entries with the canary.
  expect(seen[`/api/v1/plans/${id}`]).toContain(dlqId);
  expect(seen[`explain ${dlqId} -o json`]).toContain('ask-first');
  expect(seen['opsd.db.audit.jsonl']).toContain('workflow-dlq.delete');
  expect(seen['notifications']).toMatch(/resume-other has halted http:\/\/[\d.:]+\/other \([0-9a-f]{12}\)"/);
  expect(archive).toHaveLength(1);
  expect(archive[0]).toContain('REDACTED:');
  for (const [place, text] of Object.entries({ ...seen, archive: archive.join() })) {
    expect(text.length, place).toBeGreaterThan(0);
    for (const canary of SECRETS) expect(text.includes(canary), `${canary} in ${place}`).toBe(false);
    if (place !== 'archive') expect(text.includes(BODY), `a body in ${place}`).toBe(false);
    if (place !== 'archive' && !/^opsd\.db(-|$)/.test(place)) {
      expect(text.includes(QUERY), `the query of a URL in ${place}`).toBe(false);
    }
  }
});

function runsOf(daemon: Program, policy: string): number {
  return daemon.log().filter((line) => line['msg'] === 'policy run finished' && line['policy'] === policy).length;
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
}

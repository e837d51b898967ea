/** A canary in all inputs of policies: it does not leak, and an archive keeps bodies, not credentials. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runEmulator } from '#emulator/emulator.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { addressOf, daemonConfig, QUICK, resumeBilling } from '../support/daemon-world.ts';
import { Places } from '../support/leaks.ts';
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
  const emulator = await runEmulator({
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
    daemonConfig(emulator.url, {
      log: { level: 'debug' },
      account: {
        messageApi: { url: emulator.url, token: '${env:TOKEN}' },
        managementApi: { url: emulator.url, accountId: 'acc-1', username: 'ops', password: '${env:PASSWORD}' },
        collectors: QUICK.collectors,
      },
      telemetry: { traces: { otlp: { url: traces.url }, sampleRatio: 1 } },
      notifications: { infoAfter: '0s', webhook: { url: `${people.url}/notify`, token: '${env:NOTIFY}' } },
      policies: [
        resumeBilling({
          name: 'delete-gone',
          where: 'has(entry.status) && entry.status == 404',
          action: { type: 'workflow-dlq.delete', archive: { dir: 'archive' }, grace: '1h' },
          limits: { probation: { runs: 1 } },
        }),
        resumeBilling({ name: 'ask-first', mode: 'approve', action: { type: 'workflow-dlq.resume' } }),
        resumeBilling({
          name: 'resume-other',
          select: { resource: 'workflow-dlq', anyLabel: ['other'] },
          ramp: { settle: '1s' },
        }),
      ],
    }),
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
  await first.stop();
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
  const places = new Places();
  const { seen } = places;
  places.add('notifications', told());
  places.add('spans', JSON.stringify(traces.spans));
  await places.addPages(url, [
    '/',
    '/metrics',
    '/api/v1/policies',
    '/api/v1/conditions',
    '/api/v1/runs',
    '/api/v1/actions',
    '/api/v1/actions/1',
    '/api/v1/plans',
  ]);
  const id = /"id":\s*"([0-9a-f]{6})"/.exec(seen['/api/v1/plans']!)![1]!;
  await places.addPages(url, [`/api/v1/plans/${id}`]);
  for (const args of [
    ['plan', 'ask-first', 'delete-gone', '-o', 'json'],
    ['plan', 'ask-first'],
    ['explain', dlqId, '-o', 'json'],
    ['audit'],
    ['audit', '-o', 'jsonl'],
  ]) {
    await places.addOutput(args.join(' '), opsd([...args, '--config', config], { env }));
  }
  await daemon.stop();
  places.add('log', first.stderr() + daemon.stderr() + daemon.stdout());
  places.addStore(folder);
  const archive = filesUnder(join(folder, 'archive'));

  // Each place was reached, and contains the entries with the canary.
  expect(seen[`/api/v1/plans/${id}`]).toContain(dlqId);
  expect(seen[`explain ${dlqId} -o json`]).toContain('ask-first');
  expect(seen['opsd.db.audit.jsonl']).toContain('workflow-dlq.delete');
  expect(seen['notifications']).toMatch(/resume-other has halted http:\/\/[\d.:]+\/other \([0-9a-f]{12}\)"/);
  expect(archive).toHaveLength(1);
  expect(archive[0]).toContain('REDACTED:');
  expect(places.leaks([BODY])).toEqual([]);
  expect(places.leaks([QUERY], (place) => !/^opsd\.db(-|$)/.test(place))).toEqual([]);
  places.add('archive', archive.join());
  expect(places.leaks(SECRETS)).toEqual([]);
});

function runsOf(daemon: Program, policy: string): number {
  return daemon.said('policy run finished').filter((line) => line['policy'] === policy).length;
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
}

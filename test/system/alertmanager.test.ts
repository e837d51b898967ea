/** A real Alertmanager, in both directions: it shows the daemon's notifications, and its alerts trigger policies. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startAlertmanager, type Alertmanager } from '../support/alertmanager.ts';
import { daemonWorld, type DaemonWorld } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { installed } from '../support/program.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const TOKEN = 'canary-alertmanager-token';

/**
 * Ends with the test.
 *
 * @param webhook receiver of every alert, repeatedly
 */
function alertmanager(program: string, webhook = 'http://127.0.0.1:1/'): Promise<Alertmanager> {
  const token = join(tempDir(), 'token');
  writeFileSync(token, TOKEN);
  return startAlertmanager(
    program,
    `
route: { receiver: opsd, group_wait: 0s, group_interval: 1s, repeat_interval: 1s }
receivers:
  - name: opsd
    webhook_configs:
      - url: "${webhook}"
        http_config: { authorization: { credentials_file: "${token}" } }
`,
  );
}

function config(world: DaemonWorld, more: string): string {
  return `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
accounts:
  - name: production
    messageApi: { url: "${world.proxy.url}", token: ${TEST_TOKEN} }
    collectors: { workflowDlq: { every: 1s, full: 10s } }
engine: { killSwitchFile: PAUSE }
telemetry: { metrics: { newSeriesZeroFor: 0s } }
${more}
policies:
  - name: resume-billing
    account: production
    owner: payments
    mode: enforce
    every: 1s
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume, retries: 0 }
  - name: on-alert
    account: production
    mode: enforce
    on: { alert: BillingDown }
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume, retries: 0 }
`;
}

test('a hold of the daemon is an alert, stays one over kill -9, and is resolved when the hold ends', async ({
  skip,
}) => {
  const program = installed('prometheus-alertmanager') ?? installed('alertmanager');
  if (program === undefined) skip('alertmanager is not installed');
  const world = await daemonWorld();
  const am = await alertmanager(program!);
  // Four hours ahead: only its own end can resolve it.
  const told = config(
    world,
    `notifications: { alertmanager: { url: "${am.url}", resendEvery: 1h, labels: { cluster: eu } }, infoAfter: 1s }`,
  );
  const pause = join(world.folder, 'PAUSE');
  writeFileSync(pause, '');
  const first = world.run(told);
  const alert = await until({ what: 'the hold is an alert' }, async () =>
    (await am.alerts()).find(({ labels }) => labels['alertname'] === 'OpsdHeld'),
  );
  expect(alert.labels).toMatchObject({
    cluster: 'eu',
    condition: 'held/resume-billing',
    policy: 'resume-billing',
    account: 'production',
    owner: 'payments',
  });
  expect(alert.annotations).toMatchObject({ guard: 'kill_switch', summary: expect.stringContaining('resume-billing') });
  first.kill('SIGKILL');
  await first.ended;
  rmSync(pause);
  const held = (await am.alerts()).filter(({ labels }) => labels['alertname'] === 'OpsdHeld');
  expect(held).toMatchObject([{ labels: { condition: 'held/resume-billing' }, startsAt: alert.startsAt }]);

  const second = world.run(told);
  await until({ what: 'the alert has ended' }, async () => (await am.alerts()).length === 0);
  am.stop();
  second.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
});

test('an alert that Alertmanager repeats makes its policy run once', async ({ skip }) => {
  const program = installed('prometheus-alertmanager') ?? installed('alertmanager');
  if (program === undefined) skip('alertmanager is not installed');
  const world = await daemonWorld();
  writeFileSync(join(world.folder, 'am-token'), `${TOKEN}\n`);
  const hooks = 'hooks: { listen: "127.0.0.1:0", alertmanager: { main: { tokenFile: am-token } } }';
  const daemon = world.run(config(world, `${hooks}\nlog: { level: debug }`));
  const ready = await daemon.logged('daemon running');
  const am = await alertmanager(program!, `${String(ready['hooks'])}/hooks/alertmanager/main`);
  const value = async (name: string, labels: Readonly<Record<string, string>>): Promise<number> =>
    (await scrape(String(ready['url']))).value(name, labels) ?? 0;
  const received = (status: string) => value('opsd_alerts_received_total', { receiver: 'main', status });
  const labels = { alertname: 'BillingDown', severity: 'page', account: 'production' };
  await am.post({ labels, startsAt: new Date().toISOString() });

  await until({ what: 'it is repeated' }, async () => (await received('firing')) >= 3);
  await am.post({ labels, endsAt: new Date().toISOString() });
  await until({ what: 'its end has come' }, async () => (await received('resolved')) >= 1);
  expect(await value('opsd_policy_triggers_total', { policy: 'on-alert', trigger: 'alert' })).toBe(1);
  expect(await value('opsd_hook_requests_total', { hook: 'alertmanager', code: '202' })).toBeGreaterThanOrEqual(4);
  const runs = daemon.log().filter((line) => line['msg'] === 'policy triggered');
  expect(runs).toMatchObject([{ policy: 'on-alert', kind: 'alert', name: 'BillingDown' }]);
  expect(String(runs[0]!['key'])).toMatch(/^main\/[0-9a-f]{16}\/20/);

  am.stop();
  daemon.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  expect(daemon.stderr()).not.toContain(TOKEN);
});

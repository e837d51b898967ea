/** A real Alertmanager, in both directions: it shows the daemon's notifications, and its alerts trigger policies. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startAlertmanager, type Alertmanager } from '../support/alertmanager.ts';
import { daemonConfig, type DaemonWorld, daemonWorld, QUICK, resumeBilling } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { installed } from '../support/program.ts';
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

function config({ proxy }: DaemonWorld, more: object): string {
  return daemonConfig(proxy.url, {
    account: { collectors: { workflowDlq: QUICK.collectors.workflowDlq } },
    engine: { killSwitchFile: 'PAUSE' },
    telemetry: { metrics: { newSeriesZeroFor: '0s' } },
    policies: [
      resumeBilling({ owner: 'payments' }),
      resumeBilling({ name: 'on-alert', every: undefined, on: { alert: 'BillingDown' } }),
    ],
    ...more,
  });
}

test('a hold of the daemon is an alert, stays one over kill -9, and is resolved when the hold ends', async ({
  skip,
}) => {
  const program = installed('prometheus-alertmanager') ?? installed('alertmanager');
  if (program === undefined) skip('alertmanager is not installed');
  const world = await daemonWorld();
  const am = await alertmanager(program!);
  // Four hours ahead: only its own end can resolve it.
  const alertmanagers = { url: am.url, resendEvery: '1h', labels: { cluster: 'eu' } };
  const told = config(world, { notifications: { alertmanager: alertmanagers, infoAfter: '1s' } });
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
  await first.crash();
  rmSync(pause);
  const held = (await am.alerts()).filter(({ labels }) => labels['alertname'] === 'OpsdHeld');
  expect(held).toMatchObject([{ labels: { condition: 'held/resume-billing' }, startsAt: alert.startsAt }]);

  const second = world.run(told);
  await until({ what: 'the alert has ended' }, async () => (await am.alerts()).length === 0);
  am.stop();
  await second.stop();
});

test('an alert that Alertmanager repeats makes its policy run once', async ({ skip }) => {
  const program = installed('prometheus-alertmanager') ?? installed('alertmanager');
  if (program === undefined) skip('alertmanager is not installed');
  const world = await daemonWorld();
  writeFileSync(join(world.folder, 'am-token'), `${TOKEN}\n`);
  const hooks = { listen: '127.0.0.1:0', alertmanager: { main: { tokenFile: 'am-token' } } };
  const daemon = world.run(config(world, { hooks, log: { level: 'debug' } }));
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
  const runs = daemon.said('policy triggered');
  expect(runs).toMatchObject([{ policy: 'on-alert', kind: 'alert', name: 'BillingDown' }]);
  expect(String(runs[0]!['key'])).toMatch(/^main\/[0-9a-f]{16}\/20/);

  am.stop();
  await daemon.stop();
  expect(daemon.stderr()).not.toContain(TOKEN);
});

/** The example for Alertmanager, as amtool and Alertmanager read it: receivers and inhibitions. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { shippedAlertmanager, startAlertmanager } from '../support/alertmanager.ts';
import { installed, start } from '../support/program.ts';
import { until } from '../support/until.ts';

const FILE = join(import.meta.dirname, '../../deploy/alertmanager/alertmanager.yaml');

async function amtool(...args: string[]): Promise<{ readonly code: number | null; readonly text: string }> {
  const program = start(installed('amtool') ?? 'amtool', args);
  const { code } = await program.ended;
  return { code, text: program.stdout() };
}

test('amtool reports no error in it', async ({ skip }) => {
  if (installed('amtool') === undefined) skip('amtool is not installed');
  const { code, text } = await amtool('check-config', FILE);
  expect({ code, text }).toMatchObject({ code: 0, text: expect.stringContaining('SUCCESS') as string });
  expect(text).not.toMatch(/warn|fail/i);
});

test.for([
  ['a critical alert', ['severity=critical', 'area=deliveries', 'account=a'], 'opsd,pager,chat'],
  ['a warning', ['severity=warning', 'area=dlq'], 'opsd,chat'],
  ['the heartbeat', ['severity=none', 'area=daemon', 'alertname=OpsdHeartbeat'], 'heartbeat'],
  ['a condition to look at', ['severity=info', 'condition=held/p'], 'discard'],
  ['an alert of no severity that is known', ['severity=page', 'area=api'], 'opsd,chat'],
  [
    'a notification of the daemon, which is not sent back to it',
    ['severity=warning', 'condition=held/resume-billing'],
    'chat',
  ],
  ['a critical notification of the daemon', ['severity=critical', 'condition=reload'], 'pager,chat'],
  ['an alert of somebody else', ['team=x'], 'chat'],
] as const)('%s goes to the right receivers', async ([_what, labels, receivers], { skip }) => {
  if (installed('amtool') === undefined) skip('amtool is not installed');
  const { code, text } = await amtool('config', 'routes', 'test', `--config.file=${FILE}`, ...labels);
  expect({ code, text: text.trim() }).toEqual({ code: 0, text: receivers });
});

test('its secrets are files, and the daemon receives resolved alerts', () => {
  const { receivers } = parse(readFileSync(FILE, 'utf8')) as {
    readonly receivers: readonly { readonly name: string; readonly webhook_configs?: unknown }[];
  };
  const opsd = receivers.find(({ name }) => name === 'opsd')?.webhook_configs;
  expect(opsd).toMatchObject([{ send_resolved: true, max_alerts: 1_000 }]);
  const keys = [
    ...JSON.stringify(receivers).matchAll(/"([a-z_]*(?:credentials|key|token|password|api_url)[a-z_]*)":/g),
  ];
  expect(keys.map(([, key]) => key)).toEqual(['credentials_file', 'routing_key_file', 'api_url_file']);
});

test('inhibitions in a real Alertmanager', async ({ skip }) => {
  const program = installed('prometheus-alertmanager') ?? installed('alertmanager');
  if (program === undefined) skip('alertmanager is not installed');
  const nowhere = 'http://127.0.0.1:1/';
  const opsd = { url: nowhere, tokenFile: '/dev/null' };
  const am = await startAlertmanager(program!, shippedAlertmanager({ opsd, pager: nowhere, chat: nowhere }));
  const down = { job: 'opsd', instance: 'a:1' };
  const api = { alertname: 'MsgsvcApiUnavailable', severity: 'critical', area: 'api', account: 'x', api: 'message' };
  const burn = { alertname: 'MsgsvcDestinationBudgetBurn', area: 'deliveries', account: 'x' };
  const stale = { alertname: 'OpsdCollectorStale', severity: 'critical', area: 'collectors', ...down };
  const loud: Readonly<Record<string, string>>[] = [
    { ...burn, severity: 'critical', destination: 'd1' },
    { ...burn, severity: 'warning', destination: 'd2' },
    { ...burn, severity: 'critical', destination: 'd3' },
    { alertname: 'MsgsvcDestinationDown', severity: 'critical', area: 'deliveries', account: 'z', destination: 'd1' },
    { ...burn, severity: 'critical', account: 'z', destination: 'd2' },
    { alertname: 'MsgsvcDeliveryBudgetBurn', severity: 'critical', area: 'deliveries', account: 'y' },
    { alertname: 'OpsdHeld', severity: 'warning', condition: 'held/q', account: 'y', policy: 'q' },
    { alertname: 'OpsdHeld', severity: 'info', condition: 'held/r', account: 'y', policy: 'r' },
    { alertname: 'OpsdPolicyHeld', severity: 'warning', area: 'automation', account: 'y', policy: 'r' },
    api,
    // Another API, another account, another daemon.
    { ...stale, instance: 'b:1', account: 'x', collector: 'accountStats' },
    { ...stale, instance: 'b:1', account: 'y', collector: 'logs' },
    { alertname: 'OpsdDown', severity: 'critical', area: 'daemon', ...down },
    { alertname: 'OpsdStoreFailing', severity: 'critical', area: 'daemon', job: 'opsd', instance: 'b:1' },
  ];
  const silent: Readonly<Record<string, string>>[] = [
    { ...burn, severity: 'critical', account: 'z', destination: 'd1' },
    {
      alertname: 'MsgsvcDestinationDegraded',
      severity: 'warning',
      area: 'deliveries',
      account: 'z',
      destination: 'd1',
    },
    { alertname: 'MsgsvcDeliveryBudgetBurn', severity: 'critical', area: 'deliveries', account: 'x' },
    { alertname: 'MsgsvcDeliveryBudgetBurn', severity: 'critical', area: 'deliveries', account: 'z' },
    { alertname: 'OpsdPolicyHeld', severity: 'warning', area: 'automation', account: 'y', policy: 'q' },
    { ...burn, severity: 'warning', destination: 'd1' },
    { ...stale, instance: 'b:1', account: 'x', collector: 'logs' },
    { ...stale, account: 'y', collector: 'urlGroups' },
    { alertname: 'OpsdStoreFailing', severity: 'critical', area: 'daemon', ...down },
    { alertname: 'OpsdPolicyHeld', severity: 'warning', area: 'automation', account: 'x', policy: 'p' },
  ];
  const startsAt = new Date().toISOString();
  await am.post(...[...loud, ...silent].map((labels) => ({ labels, startsAt })));
  const states = async (): Promise<(readonly [string, string])[]> =>
    (await am.alerts()).map(({ labels, status }) => [key(labels), status.state] as const);
  await until({ what: 'each alert was looked at' }, async () => {
    const all = await states();
    return all.length === loud.length + silent.length && all.every(([, state]) => state !== 'unprocessed');
  });
  const suppressed = await until({ what: 'as many are silent' }, async () => {
    const found = (await states()).filter(([, state]) => state === 'suppressed').map(([labels]) => labels);
    return found.length >= silent.length && found;
  });
  expect(suppressed.sort()).toEqual(silent.map(key).sort());

  // Without a daemon, warnings about the service are muted. Pages remain, and one of them is enough.
  const absent = { alertname: 'OpsdAbsent', severity: 'critical', area: 'daemon', job: 'opsd' };
  await am.post({ labels: absent, startsAt });
  const all = await until({ what: 'that was looked at' }, async () => {
    const found = new Map(await states());
    return found.get(key(absent)) === 'suppressed' && found;
  });
  expect(all.get(key(loud[0]!))).toBe('active');
  expect(all.get(key(loud[1]!))).toBe('suppressed');
  am.stop();
});

function key(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * The unchanged shipped rules in a real Prometheus: alerts that fire soon after their cause, and silent ones over the
 * demo. Alerts that wait longer than a test are in deploy/prometheus/tests.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ALERT_GROUPS } from '../../deploy/prometheus/groups.ts';
import { RULE_FILES } from '../../deploy/prometheus/render.ts';
import { addressOf, daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { installed, opsd } from '../support/program.ts';
import { prometheus, type Prometheus } from '../support/prometheus.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const ruleFiles = RULE_FILES.map((path) => join(import.meta.dirname, '../..', path));

const BY_DATE = 'how much of the budget is used depends on the day of the month';
/** Critical alerts that the demo causes correctly, with the reason. */
const RIGHT_IN_THE_DEMO: Readonly<Record<string, string>> = {
  MsgsvcBudgetNear: BY_DATE,
  MsgsvcBudgetRunsOut: BY_DATE,
};

const CAUSED_IN_SHAKEN = [
  'OpsdCriticalCondition of shaken',
  'OpsdEnginePaused of shaken',
  'OpsdReloadFailed of shaken',
];

interface Alert {
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Groups {
  readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly health: string }[] }[];
}

const alertsOf = async (watching: Prometheus) => (await watching.ask<{ alerts: readonly Alert[] }>('alerts')).alerts;

/** Returns `NAME of JOB` of those in this state, or in any. */
function named(alerts: readonly Alert[], state?: string): string[] {
  return alerts
    .filter((alert) => state === undefined || alert.state === state)
    .map(({ labels }) => `${labels['alertname']!} of ${labels['job'] ?? 'nobody'}`)
    .toSorted();
}

async function firing(watching: Prometheus, expected: readonly string[]): Promise<readonly Alert[]> {
  return until({ what: `these fire: ${expected.join(', ')}` }, async () => {
    const alerts = await alertsOf(watching);
    const names = named(alerts, 'firing');
    return expected.every((one) => names.includes(one)) && alerts;
  });
}

test('a pause, an invalid configuration and missing daemons fire; over the demo no other critical alert is even pending', async ({
  skip,
}) => {
  const program = installed('prometheus');
  if (program === undefined) skip('prometheus is not installed');
  const demo = opsd(['demo', '--listen', '127.0.0.1:0', '--seed', '11']);
  const world = await daemonWorld();
  const config = repairConfig(world, { mode: 'enforce', every: '1s' });
  const shaken = world.run(config);
  const killedFolder = tempDir();
  writeFileSync(join(killedFolder, 'opsd.yaml'), config);
  const killed = opsd(['run', '--config', join(killedFolder, 'opsd.yaml')]);

  const jobs = {
    demo: String((await demo.logged('daemon running'))['url']),
    shaken: await addressOf(shaken),
    killed: await addressOf(killed),
  };
  const watching = await prometheus(program!, { jobs, scrapeSeconds: 5, ruleFiles });
  const watchingNobody = await prometheus(program!, { jobs: {}, ruleFiles });
  await until({ what: 'all are scraped' }, async () => {
    const targets = await watching.targets();
    return targets.length === 3 && targets.every(({ health }) => health === 'up');
  });
  expect(named((await alertsOf(watching)).filter(({ labels }) => labels['job'] === 'shaken'))).toEqual([]);

  const socket = join(world.folder, 'opsd.db.sock');
  const paused = opsd(['pause', '--reason', 'a test', '--socket', socket]);
  expect(await paused.ended, paused.stderr()).toEqual({ code: 0, signal: null });
  world.write(config.replace('mode: enforce', 'mode: of'));
  killed.kill('SIGKILL');

  const [alone] = await firing(watchingNobody, ['OpsdAbsent of nobody']);
  expect(alone).toMatchObject({ labels: { severity: 'critical' }, annotations: { summary: 'No daemon is scraped' } });
  const alerts = await firing(watching, [...CAUSED_IN_SHAKEN, 'OpsdDown of killed']);
  const down = alerts.find(({ labels }) => labels['alertname'] === 'OpsdDown')!;
  expect(down.annotations).toEqual({
    summary: `${new URL(jobs.killed).host}: daemon down for over 2 min`,
    description: expect.stringContaining('nothing is repaired') as string,
    runbook_url: 'https://msgsvc-opsd.example/runbooks/OpsdDown.md',
    dashboard_url: expect.stringContaining('/d/opsd-daemon?') as string,
  });

  // Pending alerts count too: no one must be paged right after the test ends.
  const critical = alerts.filter(({ labels }) => labels['severity'] === 'critical');
  const ofDemo = critical.filter(({ labels }) => labels['job'] === 'demo' || labels['account'] === 'shop');
  expect(ofDemo.filter(({ labels }) => RIGHT_IN_THE_DEMO[labels['alertname']!] === undefined)).toEqual([]);
  expect(named(critical.filter((alert) => !ofDemo.includes(alert)))).toEqual(['OpsdDown of killed']);
  // All of them were evaluated, and none of them failed.
  const { groups } = await watching.ask<Groups>('rules');
  const rules = groups.flatMap((group) => group.rules);
  expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  for (const { alert } of ALERT_GROUPS.flatMap((group) => group.rules)) {
    expect(rules.map(({ name }) => name)).toContain(alert);
  }

  world.write(config);
  const unpaused = opsd(['unpause', '--reason', 'the test is over', '--yes', '--socket', socket]);
  expect(await unpaused.ended, unpaused.stderr()).toEqual({ code: 0, signal: null });
  // OpsdLogErrors stays active for a quarter of an hour, because errors were logged.
  await until({ what: 'what was mended fires no more' }, async () => {
    const names = named(await alertsOf(watching), 'firing');
    return CAUSED_IN_SHAKEN.every((name) => !names.includes(name));
  });
  for (const daemon of [demo, shaken]) daemon.kill('SIGTERM');
  expect([(await demo.ended).code, (await shaken.ended).code]).toEqual([0, 0]);
  await watching.stop();
  await watchingNobody.stop();
});

/**
 * The whole loop with real programs: messages fail at a destination, a shipped rule fires in Prometheus, Alertmanager
 * notifies by its shipped configuration, and a policy of the daemon repairs the failures once.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { shippedAlertmanager, startAlertmanager } from '../support/alertmanager.ts';
import { daemonConfig, daemonWorld, QUICK, resumeBilling } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { httpSink, type HttpSink } from '../support/http-sink.ts';
import { installed } from '../support/program.ts';
import { prometheus } from '../support/prometheus.ts';
import { failedRuns, publish, trigger } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy/prometheus');
const ALERT = 'MsgsvcDestinationDown';
const TOKEN = 'canary-hook-token';

interface PrometheusConfig {
  global: object;
  rule_files: readonly string[];
  alerting: { alertmanagers: { static_configs: { targets: readonly string[] }[] }[] };
  scrape_configs: { static_configs: { targets: readonly string[] }[] }[];
}

/** The shipped configuration and rules, with other addresses, and with shorter intervals and waits. */
function prometheusConfig(told: { readonly daemon: string; readonly alertmanager: string }): string {
  const folder = tempDir();
  const config = parse(readFileSync(join(DEPLOY, 'prometheus.yaml'), 'utf8')) as PrometheusConfig;
  config.global = { scrape_interval: '1s', evaluation_interval: '2s' };
  config.rule_files = config.rule_files.map((file) => {
    const text = readFileSync(join(DEPLOY, file), 'utf8').replaceAll(/^( +for:) \S+$/gm, '$1 10s');
    writeFileSync(join(folder, file), text);
    return join(folder, file);
  });
  config.alerting.alertmanagers[0]!.static_configs[0]!.targets = [new URL(told.alertmanager).host];
  config.scrape_configs[0]!.static_configs[0]!.targets = [new URL(told.daemon).host];
  return stringify(config);
}

interface Alerts {
  readonly alerts: readonly { readonly state: string; readonly labels: Readonly<Record<string, string>> }[];
}

const CONFIG = {
  hooks: { listen: '127.0.0.1:0', alertmanager: { opsd: { tokenFile: 'hook-token' } } },
  account: QUICK,
  telemetry: { metrics: { newSeriesZeroFor: '3s' } },
  policies: [
    resumeBilling({
      name: 'repair-billing',
      every: undefined,
      on: { alert: ALERT },
      where: `trigger.kind == "alert" && has(trigger.name) && trigger.name == "${ALERT}" && entry.cause == "transient"`,
    }),
  ],
};

/** Returns the bodies that a sink received, as JSON. */
function bodies({ requests }: HttpSink): string[] {
  return requests.map(({ body }) => body.toString());
}

test('an outage makes a shipped alert fire, and its policy repairs the failures of the outage once', async ({
  skip,
}) => {
  const programs = [installed('prometheus'), installed('prometheus-alertmanager') ?? installed('alertmanager')];
  if (programs.includes(undefined)) skip('prometheus or alertmanager is not installed');
  const world = await daemonWorld();
  const tokenFile = join(world.folder, 'hook-token');
  writeFileSync(tokenFile, TOKEN);
  const daemon = world.run(daemonConfig(world.proxy.url, CONFIG));
  const ready = await daemon.logged('daemon running');
  const [url, hooks] = [String(ready['url']), String(ready['hooks'])];
  const [pager, chat] = [
    await httpSink((_request, response) => void response.writeHead(202).end('{}')),
    await httpSink(),
  ];
  const am = await startAlertmanager(
    programs[1]!,
    shippedAlertmanager({
      opsd: { url: `${hooks}/hooks/alertmanager/opsd`, tokenFile },
      pager: `${pager.url}/v2/enqueue`,
      chat: `${chat.url}/chat`,
    }),
  );
  const prom = await prometheus(programs[0]!, { config: prometheusConfig({ daemon: url, alertmanager: am.url }) });

  // Runs fail, and the outage of their destination ends. Their failures remain.
  await world.failRuns(3, 'billing');
  const broken = await failedRuns(world.service);
  world.destination.answerWith((_request, response) => void response.end('{}'));
  const before = world.destination.requests.length;
  expect(world.resumes()).toEqual([]);
  // Messages to another destination fail in sequence, because only an increase has a rate.
  const mail = await httpSink((_request, response) => void response.writeHead(503).end());
  const failed = async (): Promise<number> => (await scrape(url)).sum('msgsvc_message_failures_total');
  // A warning of the same name may fire first. Each alert triggers the policy.
  await until({ what: 'the critical alert fires' }, async () => {
    const { alerts } = await prom.ask<Alerts>('alerts');
    const firing = alerts.filter(({ state, labels }) => state === 'firing' && labels['alertname'] === ALERT);
    if (firing.some(({ labels }) => labels['severity'] === 'critical')) return true;
    const already = await failed();
    await publish(world.service, `${mail.url}/send`, { 'Svc-Retries': '0' });
    await until({ what: 'its failure is counted' }, async () => (await failed()) > already);
    return false;
  });

  const value = async (name: string, labels: Readonly<Record<string, string>>): Promise<number> =>
    (await scrape(url)).value(name, labels) ?? 0;
  const received = (): Promise<number> => value('opsd_alerts_received_total', { receiver: 'opsd', status: 'firing' });
  const triggers = (): Promise<number> =>
    value('opsd_policy_triggers_total', { policy: 'repair-billing', trigger: 'alert' });
  const seen = await received();
  await until({ what: 'it is repeated' }, async () => (await received()) >= seen + 5);
  await until({ what: 'what was broken is repaired' }, async () => {
    const left = new Set((await failedRuns(world.service)).map(({ dlqId }) => dlqId));
    return broken.every(({ dlqId }) => !left.has(dlqId));
  });
  expect(world.resumes()).toHaveLength(3);
  await until({ what: 'the destination got what was repaired' }, () => world.destination.requests.length >= before + 3);

  await until({ what: 'the trigger is handled' }, async () => {
    const { policies } = (await (await fetch(`${url}/api/v1/policies`)).json()) as { policies: readonly object[] };
    return policies.length === 1 && !('pending' in policies[0]!);
  });

  // Another run fails while the alert still fires and is sent repeatedly: the policy has already run.
  world.destination.answerWith((_request, response) => void response.writeHead(503).end());
  await trigger(world.service, `${world.destination.url}/workflow/later`, {
    'Svc-Retries': '0',
    'Svc-Label': 'billing',
  });
  await until({ what: 'it has failed' }, async () => (await failedRuns(world.service)).length === 1);
  const [already, handled] = [await received(), await triggers()];
  await until({ what: 'the alert is repeated' }, async () => (await received()) >= already + 5);
  expect(await failedRuns(world.service)).toHaveLength(1);
  const runs = daemon.log().filter(({ policy }) => policy === 'repair-billing');
  expect(world.resumes(), JSON.stringify(runs, undefined, 1)).toHaveLength(3);
  expect(await triggers()).toBe(handled);

  // The receivers of people are notified too, in words. Each receiver has its own pace.
  await until({ what: 'the pager and the chat are notified' }, async () => {
    const missing = [pager, chat].filter((sink) => !bodies(sink).join('').includes(ALERT));
    if (missing.length === 0) return true;
    throw new Error(JSON.stringify({ pager: bodies(pager), chat: bodies(chat), alerts: await am.alerts() }));
  });
  expect(JSON.parse(bodies(pager)[0]!)).toMatchObject({
    routing_key: 'a-key',
    event_action: 'trigger',
    payload: { severity: 'critical', custom_details: { account: 'production' } },
  });
  expect(bodies(pager).join('')).toContain(`/${ALERT}.md`);
  expect(bodies(chat).join('')).toContain(`[firing] ${ALERT} production`);

  am.stop();
  await prom.stop();
  await daemon.stop();
  const audit = await world.command('audit', '--policy', 'repair-billing', '-o', 'jsonl');
  expect(audit.code).toBe(0);
  const records = audit.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const begun = records.filter((record) => record['type'] === 'run.begun' && record['trigger'] === 'alert');
  expect(begun.reduce((sum, { chosen }) => sum + Number(chosen), 0)).toBe(3);
  expect(begun[0]).toMatchObject({
    alert: ALERT,
    key: expect.stringMatching(/^opsd\/[0-9a-f]{16}\/20/) as string,
    chosen: 3,
  });
  expect(records.filter(({ type }) => type === 'intent')).toHaveLength(3);
  expect(daemon.stderr()).not.toContain(TOKEN);
});

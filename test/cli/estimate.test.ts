/** What `opsd check` estimates, limited to what the collectors really ask of the embedded service in virtual time. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { estimateOf, estimateText } from '#cli/commands/estimate.ts';
import { createClient } from '#service/create-client.ts';
import { collectors, timing, type Collector, type CollectorTarget } from '#observe/collectors/index.ts';
import type { Config } from '#config/config.ts';
import { parseConfig } from '#config/load.ts';
import { overviewOf } from '#config/overview.ts';
import { COLLECTOR_NAMES, type Batch, type CollectorName } from '#foundation/domain/observation.ts';
import { METRIC_NAMES, specOf } from '#observe/catalog/catalog.ts';
import { estimateSeries, isBounded } from '#observe/metrics/series-estimate.ts';
import { metricsSettings } from '#observe/metrics/settings.ts';
import { EventBus } from '#foundation/events/events.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { context } from '../observe/collectors/fake-context.ts';
import { ACCOUNT, TOKEN, world, type World } from '../../emulator/test/world.ts';
import { publishEverything, world as metricsWorld } from '../observe/metrics/world.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

function configOf(text: string): Config {
  const loaded = parseConfig(text, { file: 'opsd.yaml', baseDir: '/', env: {}, secrets: false });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

/** An account over the embedded service, and a destination for its messages. */
async function running(service: World) {
  const server = createServer((_request, response) => void response.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const destination = `http://127.0.0.1:${(server.address() as AddressInfo).port}/deliver`;
  const management = `username: "ops@example.com", password: "pass:word", accountId: ${ACCOUNT}`;
  const config = configOf(`
accounts:
  - name: ${ACCOUNT}
    messageApi: { url: "${service.emulator.url}", token: ${TOKEN} }
    managementApi: { url: "${service.emulator.url}", ${management} }
    flowControlKeys: [one, two]
    client: { requestsPerSecond: 1000 }
    collectors: { flowControl: { discover: 0, every: 1m } }
`);
  return { config, destination };
}

/** Runs the collectors on their schedules for a while of virtual time. Counts their requests. */
async function run(
  service: World,
  config: Config,
  options: { readonly ms: number; readonly publish: () => Promise<void>; readonly every: number },
) {
  const { clock } = service;
  const [account] = config.accounts;
  const events = new EventBus();
  const asked = new Map<string, { calls: number; bytes: number }>();
  let reader = '';
  events.subscribe((event) => {
    if (event.type !== 'api.request') return;
    const before = asked.get(reader) ?? { calls: 0, bytes: 0 };
    asked.set(reader, { calls: before.calls + 1, bytes: before.bytes + event.bytes });
  });
  const { messageApi, managementApi } = account!;
  const client = createClient(
    {
      account: ACCOUNT,
      messageApi: { url: messageApi!.url, token: Secret.of(messageApi!.token!) },
      managementApi: {
        url: managementApi!.url,
        username: managementApi!.username,
        password: Secret.of(managementApi!.password!),
      },
      wire: account!.wire,
      limits: account!.client,
    },
    { clock, events, random: seededRandom(1) },
  );
  onTestFinished(() => client[Symbol.asyncDispose]());
  const target: CollectorTarget = {
    account: ACCOUNT,
    accountId: ACCOUNT,
    hasMessageApi: true,
    hasManagementApi: true,
    flowControlKeys: account!.flowControlKeys,
    searchIndexes: [],
    vectorIndexes: [],
    settings: account!.collectors,
  };
  const base = context({ target, clock });
  const batches = new Map<CollectorName, Batch>();
  const due = COLLECTOR_NAMES.filter((name) => collectors[name].off(target) === undefined).map((name) => ({
    name,
    at: clock.monotonic(),
    every: timing(name, target.settings).intervalMs,
  }));
  const start = clock.monotonic();
  let publishAt = start;
  while (true) {
    const next = due.reduce((a, b) => (b.at < a.at ? b : a));
    const at = Math.min(next.at, publishAt);
    if (at - start >= options.ms) return asked;
    await clock.advance(Math.max(0, at - clock.monotonic()));
    if (publishAt <= next.at) {
      publishAt += options.every;
      await options.publish();
      await service.emulator.idle();
      continue;
    }
    next.at += next.every;
    reader = next.name;
    const previous = batches.get(next.name);
    const collector = collectors[next.name] as Collector<CollectorName>;
    const collected = await collector.collect(client, { ...base, ...(previous !== undefined && { previous }) });
    batches.set(next.name, { account: ACCOUNT, collector: next.name, at: clock.now(), ...collected });
  }
}

describe('calls and bytes', () => {
  test('of a virtual hour are at most the estimate, and not much less', async () => {
    const service = await world();
    const { config, destination } = await running(service);
    const ms = 60 * MINUTE;
    const perMinute = 20;
    const publish = async (): Promise<void> => {
      for (let index = 0; index < perMinute; index += 1) {
        await service.call('POST', `/v2/publish/${destination}`, { body: '{}' });
      }
    };
    const asked = await run(service, config, { ms, publish, every: MINUTE });
    const estimate = estimateOf(config, { messagesPerDay: perMinute * 1_440, failedRuns: 0 });
    const compared = estimate.loads.map((load) => {
      const actual = asked.get(load.reader) ?? { calls: 0, bytes: 0 };
      return {
        reader: load.reader,
        calls: actual.calls / ((load.callsPerDay * ms) / DAY),
        bytes: actual.bytes / ((load.bytesPerDay * ms) / DAY),
      };
    });
    for (const { reader, calls, bytes } of compared) {
      // The reading at the start is one more than the share of a day.
      expect.soft(calls, `calls of ${reader}`).toBeLessThanOrEqual(1.02);
      expect.soft(calls, `calls of ${reader}`).toBeGreaterThan(0.6);
      expect.soft(bytes, `bytes of ${reader}`).toBeLessThanOrEqual(1);
    }
    const all = (which: 'calls' | 'bytes'): number => [...asked.values()].reduce((sum, part) => sum + part[which], 0);
    const estimated = (which: 'callsPerDay' | 'bytesPerDay'): number =>
      (estimate.apis.reduce((sum, api) => sum + api[which], 0) * ms) / DAY;
    expect(all('calls')).toBeGreaterThan(estimated('callsPerDay') * 0.7);
    expect(all('bytes')).toBeGreaterThan(estimated('bytesPerDay') * 0.25);
  });

  test('of cron schedules and of policies count too', () => {
    const config = configOf(`
accounts:
  - name: a
    url: https://a.example
    token: t
    flowControlKeys: [k]
    collectors:
      logs: { schedule: "*/5 * * * *" }
      urlGroups: { schedule: "0 6 * * 1" }
      flowControl: { every: 1h, discover: 3 }
      workflowDlq: { every: 10m, full: 1h }
policies:
  - { name: p, account: a, every: 30m, select: { resource: workflow-dlq, anyLabel: [x] }, action: { type: workflow-dlq.resume } }
  - { name: off, account: a, mode: off, every: 30m, select: { resource: workflow-dlq, anyLabel: [x] }, action: { type: workflow-dlq.resume } }
`);
    const { loads } = estimateOf(config, { messagesPerDay: 0, failedRuns: 1_000 });
    expect(
      loads.map(({ reader, runsPerDay, callsPerDay }) => [reader, Math.round(runsPerDay * 7), callsPerDay]),
    ).toEqual([
      ['logs', 288 * 7, 576],
      ['flowControl', 24 * 7, 96],
      ['workflowDlq', 144 * 7, 144 + 250],
      ['urlGroups', 1, 1],
      ['policy p', 48 * 7, 48 * 11],
    ]);
  });
});

test('a configuration beyond the limits is reported', () => {
  const config = configOf(`
accounts:
  - { name: a, url: "https://a.example", token: t, client: { requestsPerDay: 5000 } }
telemetry: { metrics: { maxSeries: 2000, labels: { destination: { max: 5 } } } }
`);
  const { warnings } = estimateOf(config, { messagesPerDay: 1_000_000, failedRuns: 0 });
  expect(warnings).toEqual([
    expect.stringMatching(
      /^account a needs about [\d,]+ calls a day of the message API, but its client.requestsPerDay allows 5,000/,
    ),
  ]);
  const roomy = configOf('accounts: [{ name: a, url: "https://a.example", token: t }]');
  const estimate = estimateOf(roomy, { messagesPerDay: 1_000, failedRuns: 0 });
  expect(estimate.warnings).toEqual([]);
  expect(estimateText(estimate)).toContain('1,000 messages a day');
});

describe('canaries', () => {
  const canaries = (list: string, client = '') =>
    configOf(`
accounts:
  - name: a
    url: https://a.example
    token: t
    ${client}
    canaries: ${list}
hooks: { listen: ":10778", publicUrl: "https://hooks.example.com" }
`);
  const traffic = { messagesPerDay: 0, failedRuns: 0 };

  test('cost messages, requests and bytes by interval, size and route, which count in the calls of the account', () => {
    const estimate = estimateOf(
      canaries(`
      - { name: home, every: 1m, size: 100, realSize: 1000, realEvery: 1h }
      - { name: key, every: 1h, via: { flowControlKey: k } }
      - { name: flow, every: 1d, realEvery: 1d, via: { workflow: true } }`),
      traffic,
    );
    const [home, key, flow] = estimate.canaries;
    // A message and its callback; a publish request and two reads of the log of 4,100 bytes.
    const bodies = (1_440 - 24) * 100 + 24 * 1_000;
    expect(home).toMatchObject({ account: 'a', canary: 'home', messagesPerDay: 2_880, requestsPerDay: 3 * 1_440 });
    expect(home!.bytesPerDay).toBe(2 * bodies + 2 * 1_440 * 4_100);
    expect(key).toMatchObject({ messagesPerDay: 48, requestsPerDay: 4 * 24 });
    expect(flow).toMatchObject({ messagesPerDay: 1, requestsPerDay: 3 });
    // Seven reads in two minutes, at 1, 3, 7, … 127 s, and four questions.
    expect(home!.mostRequestsPerDay).toBe((1 + 7 + 4) * 1_440);
    const loads = estimate.loads.filter(({ reader }) => reader.startsWith('canary '));
    expect(loads.map(({ reader, callsPerDay }) => [reader, callsPerDay])).toEqual([
      ['canary home', 4_320],
      ['canary key', 96],
      ['canary flow', 3],
    ]);
    const text = estimateText(estimate);
    expect(text).toMatch(/^CANARY +ACCOUNT +MESSAGES A DAY +REQUESTS A DAY +WHILE FAILING +BYTES A DAY$/m);
    expect(text).toMatch(/^home +a +2,880 +4,320 +17,280 +12 MB$/m);
  });

  test('are in no table if there are none', () => {
    expect(estimateText(estimateOf(canaries('[]'), traffic))).not.toContain('CANARY');
  });

  test('that would use up the requests of the account while they fail are reported', () => {
    const { apis } = estimateOf(canaries('[{ name: home }]'), traffic);
    const { callsPerDay } = apis[0]!;
    const most = callsPerDay + 17_280 - 4_320;
    const warnings = (allowed: number) =>
      estimateOf(canaries('[{ name: home }]', `client: { requestsPerDay: ${allowed} }`), traffic).warnings;
    expect(warnings(most)).toEqual([]);
    expect(warnings(most - 1)).toEqual([
      expect.stringMatching(
        /^account a needs about [\d,]+ calls a day of the message API while its canaries fail, but /,
      ),
    ]);
    expect(warnings(callsPerDay - 1)).toEqual([
      expect.stringMatching(/^account a needs about [\d,]+ calls a day of the message API, but /),
    ]);
  });
});

test('of policies only those that list count, and in modes that run', () => {
  const config = configOf(`
accounts:
  - { name: a, url: embedded, budget: { knownUsd: 100, assertedOn: 2026-11-01 } }
  - { name: quiet, url: embedded, mode: off }
policies:
  - { name: resume, account: a, select: { resource: workflow-dlq }, action: { type: workflow-dlq.resume } }
  - { name: muted, account: quiet, select: { resource: workflow-dlq }, action: { type: workflow-dlq.resume } }
  - name: delete
    account: a
    every: 12h
    select: { resource: workflow-dlq }
    where: entry.cause == "permanent"
    action: { type: workflow-dlq.delete, archive: { dir: archive } }
  - name: by-hand
    account: a
    on: { hand: true }
    select: { resource: workflow-dlq }
    action: { type: workflow-dlq.resume }
  - name: prune
    account: a
    every: 1h
    select: { resource: message-dlq, failedBefore: 1d, everything: true }
    action: { type: message-dlq.prune }
  - name: budget
    account: a
    select: { resource: account-budget }
    where: spend.hoursLeft < 24.0
    action: { type: budget.raise, step: { percent: 20 }, ceilingUsd: 400 }
`);
  const { loads } = estimateOf(config, { messagesPerDay: 0, failedRuns: 0 });
  const policies = loads.filter(({ reader }) => reader.startsWith('policy '));
  expect(policies.map(({ reader, runsPerDay }) => [reader, runsPerDay])).toEqual([
    ['policy resume', 288],
    ['policy delete', 2],
    ['policy by-hand', 0],
  ]);
  expect(
    overviewOf(config).policies.map(({ name, effectiveMode, schedule }) => [name, effectiveMode, schedule]),
  ).toEqual([
    ['resume', 'audit', 'every 5m'],
    ['muted', 'off', 'every 5m'],
    ['delete', 'audit', 'every 12h'],
    ['by-hand', 'audit', 'manually'],
    ['prune', 'audit', 'every 1h'],
    ['budget', 'audit', 'every 15m'],
  ]);
});

describe('series', () => {
  test('of every label are bounded', () => {
    const labels = new Set(METRIC_NAMES.flatMap((name) => specOf(name).labels));
    expect([...labels].filter((label) => !isBounded(label))).toEqual([]);
  });

  test('that are exposed are at most what is estimated, heading by heading', async () => {
    const metrics = { latencyUnit: 'ms', workflowDlqLabels: true, labels: { destination: { max: 5 } } };
    const made = await metricsWorld({ metrics });
    publishEverything(made);
    for (let index = 0; index < 40; index += 1) {
      const destination = made.metrics.admit('prod', 'destination', `d${index}.example`);
      await made.totals.add('prod', [
        { metric: 'msgsvc_messages_created_total', labels: [destination], by: 1 },
        { metric: 'msgsvc_message_failures_total', labels: [destination, 'http', String(400 + index)], by: 1 },
      ]);
    }
    const samples = await made.scrape();
    const estimates = estimateSeries(
      [
        {
          apis: 2,
          collectors: COLLECTOR_NAMES,
          flowControlKeys: 1,
          discoveredKeys: 0,
          searchIndexes: 1,
          vectorIndexes: 1,
          policies: 1,
          canaries: 1,
          hasDimension: false,
        },
      ],
      metricsSettings.parse({ debug: true, ...metrics }),
    );
    const atMost = new Map(estimates.map((estimate) => [estimate.heading, estimate.atMost]));
    const actual = Map.groupBy(METRIC_NAMES, (name) => specOf(name).heading);
    for (const [heading, names] of actual) {
      const series = names.reduce(
        (sum, name) => sum + (samples.get(`opsd_series_by_family{family="${name}"}`) ?? 0),
        0,
      );
      expect.soft(series, heading).toBeLessThanOrEqual(atMost.get(heading) ?? 0);
    }
    const typical = estimates.reduce((sum, estimate) => sum + estimate.typical, 0);
    expect(typical).toBeLessThan(5 * samples.size);
  });
});

/** `opsd run` against an emulator in another process, given only a configuration file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addressOf, daemonConfig, daemonWorld, managementAt, repairConfig } from '../support/daemon-world.ts';
import { parseExposition, scrape } from '../support/exposition.ts';
import { installed, opsd } from '../support/program.ts';
import { promtoolSays } from '../support/promtool.ts';
import { publish } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

test('counts deliveries of another process and shows every API in use', async () => {
  const world = await daemonWorld();
  writeFileSync(join(world.folder, 'token'), `${world.service.token}\n`);
  const service = world.service.url;
  const { url } = await world.start(
    daemonConfig(service, {
      storage: { sqlite: { path: 'state/opsd.db' } },
      account: {
        messageApi: { url: service, tokenFile: 'token' },
        managementApi: { ...managementAt(service), password: '${env:PASSWORD}' },
        collectors: { logs: { every: '1s', lag: '1s' } },
      },
    }),
    { PASSWORD: 'password' },
  );
  await until({ what: 'the first round is done' }, async () => (await fetch(`${url}/-/ready`)).status === 200);
  world.destination.answerWith((_request, response) => void response.end());
  for (let message = 0; message < 3; message++) await publish(world.service, `${world.destination.url}/orders`);
  const metrics = await until({ what: 'three deliveries are counted' }, async () => {
    const exposition = await scrape(url);
    return exposition.value('msgsvc_log_events_total', { state: 'DELIVERED' }) === 3 && exposition;
  });
  expect(world.destination.requests).toHaveLength(3);
  expect(metrics.all('msgsvc_up').map(({ labels, value }) => [labels['account'], labels['api'], value])).toEqual([
    ['production', 'message', 1],
    ['production', 'management', 1],
  ]);
  expect(metrics.all('opsd_collector_success').filter(({ value }) => value !== 1)).toEqual([]);
});

test('reports each ended message on standard output, one line each, and nothing else there', async () => {
  const world = await daemonWorld();
  const config = repairConfig(world, { mode: 'audit', every: '1h' }).replace(
    'telemetry: {',
    'telemetry: { deliveryEvents: { stdout: true },',
  );
  const daemon = world.run(config);
  await addressOf(daemon);
  world.destination.answerWith((_request, response) => void response.end());
  for (let message = 0; message < 3; message++) await publish(world.service, `${world.destination.url}/orders`);
  await until({ what: 'three lines' }, () => daemon.stdout().split('\n').length > 3);
  await daemon.stop();
  const lines = daemon.stdout().trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject(
    Array.from({ length: 3 }, () => ({
      'event.name': 'msgsvc.delivery.ended',
      'messaging.msgsvc.account': 'production',
      'messaging.msgsvc.outcome': 'delivered',
    })),
  );
});

test('the shortest configuration works: a name, an address, a token', async () => {
  const world = await daemonWorld();
  const { daemon, url } = await world.start(
    `accounts: [{ name: production, url: "${world.service.url}", token: ${world.service.token} }]\n`,
    {
      OPSD_LISTEN: '127.0.0.1:0',
    },
  );
  await until(
    { what: 'the message API is up' },
    async () => (await scrape(url)).value('msgsvc_up', { account: 'production', api: 'message' }) === 1,
  );
  await expect(daemon.stop()).resolves.toBeUndefined();
});

test('a second daemon on the same store is rejected with a clear message', async () => {
  const world = await daemonWorld();
  const config = repairConfig(world, { mode: 'audit', every: '1m' });
  await addressOf(world.run(config));
  const second = world.run(config);
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.stderr()).toMatch(
    /^opsd: .*opsd\.db: another process uses this store\. Only one daemon can run on a store/,
  );
});

test('opsd plan shows what the running daemon would do, and changes nothing', async () => {
  const world = await daemonWorld();
  await world.failRuns(3, 'billing');
  await world.failRuns(2, 'billing,no-auto');
  await world.failRuns(1, 'other');
  const { url } = await world.start(repairConfig(world, { mode: 'audit', every: '1h' }));
  const plan = (...args: string[]) => world.command('plan', 'resume-billing', ...args);
  const text = await plan();
  expect(text).toMatchObject({ code: 2, stderr: '' });
  expect(text.stdout).toContain('nothing has been done');
  const stored = await fetch(new URL('/api/v1/plans', url));
  expect(await stored.json()).toMatchObject({ plans: [] });
  expect(text.stdout).toMatch(/2\s+protected/);
  const { plans } = JSON.parse((await plan('--keep', '-o', 'json')).stdout) as { plans: readonly { id: string }[] };
  expect(plans).toMatchObject([
    { state: 'changes', effectiveMode: 'audit', read: { entries: 5, complete: true }, matched: 5, backlog: 0 },
  ]);
  const applied = await world.command('apply', plans[0]!.id, '--yes');
  expect(applied.code).toBe(1);
  expect(applied.stderr).toContain('Policy resume-billing is in mode audit: its plans cannot be applied.');
  expect(world.proxy.passed.filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('an operator plans, applies, pauses, explains and lifts the pause', async () => {
  const world = await daemonWorld();
  await world.failRuns(3, 'billing');
  const { url } = await world.start(repairConfig(world, { mode: 'approve', every: '1h' }));
  await until({ what: 'the first round is done' }, async () => (await fetch(`${url}/-/ready`)).status === 200);
  const { command: run } = world;
  const planned = await run('plan', 'resume-billing', '--keep', '-o', 'json');
  expect(planned.code).toBe(2);
  const [plan] = (JSON.parse(planned.stdout) as { plans: { id: string; chosen: { dlqId: string }[] }[] }).plans;
  const paused = await run('pause', '--policy', 'resume-billing', '--reason', 'to look');
  expect(paused).toMatchObject({ code: 0, stderr: '' });
  const held = await run('plan', 'resume-billing');
  expect(held.code).toBe(3);
  expect(held.stdout).toContain('kill_switch: to look; ');
  expect(held.stdout).toContain('`opsd unpause --policy resume-billing --reason TEXT --config ');
  expect((await run('unpause', '--policy', 'resume-billing', '--reason', 'looked')).code).toBe(1);
  expect(await run('unpause', '--policy', 'resume-billing', '--reason', 'looked', '--yes')).toMatchObject({
    code: 0,
    stdout: 'Lifted 1 pause or halt.\n',
  });
  const applied = await run('apply', plan!.id, '--yes', '--reason', 'looked');
  expect(applied).toMatchObject({ code: 0 });
  expect(applied.stdout).toMatch(/^Plan \w{6}: acted \(\d+ matched: 3 acted on/);
  const { dlqId } = plan!.chosen[0]!;
  const explained = await run('explain', dlqId);
  expect(explained.code).toBe(0);
  expect(explained.stdout).toMatch(new RegExp(`workflow-dlq\\.resume\\s+${dlqId}\\s+accepted`));
  await until({ what: 'the resumed runs are counted, long before the next whole listing' }, async () => {
    const left = (await scrape(url)).all('msgsvc_workflow_dlq_left_runs_total');
    return left.reduce((sum, { labels, value }) => sum + (labels['cause'] === 'resumed' ? value : 0), 0) === 3;
  });
});

test('promtool reports nothing about the metrics, with and without data', async ({ skip }) => {
  const promtool = installed('promtool');
  if (promtool === undefined) skip('promtool is not installed');
  const world = await daemonWorld();
  await world.failRuns(2, 'billing');
  const { url } = await world.start(repairConfig(world, { mode: 'enforce', every: '1s' }));
  const lint = async (): Promise<string> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    parseExposition(text);
    return await promtoolSays(promtool!, text);
  };
  expect(await lint()).toBe('');
  await until({ what: 'both were resumed' }, async () => (await scrape(url)).sum('opsd_action_items_total') === 2);
  expect(await lint()).toBe('');
});

test('opsd trace show reports that the service cannot be reached', async () => {
  const folder = tempDir();
  const config = join(folder, 'opsd.yaml');
  writeFileSync(config, `accounts: [{ name: production, url: "http://127.0.0.1:9", token: t }]\n`);
  const asked = opsd(['trace', 'show', 'msg_1', '--config', config]);
  expect(await asked.ended).toEqual({ code: 1, signal: null });
  expect(asked.stderr()).toMatch(/^opsd: the log of account production cannot be read: .*the connection failed/);
});

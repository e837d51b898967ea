/** Configuration changes while the real program runs: by a signal, by request, by a change of the files. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type RequestOptions } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { daemonWorld, isResume, repairConfig } from '../support/daemon-world.ts';
import { parseExposition, scrape, type Exposition } from '../support/exposition.ts';
import { mountedVolume } from '../support/mounted-volume.ts';
import { opsd, type Program } from '../support/program.ts';
import { logsUntil } from '../support/service.ts';
import { until } from '../support/until.ts';

/** @returns undefined if nobody reads the pipe */
function openedForWriting(pipe: string): number | undefined {
  try {
    return openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}

const AUDIT = { mode: 'audit', every: '1h' };

/** Splits off the policy into a separate file, so that it can be broken alone. */
function split(config: string): { readonly main: string; readonly policies: string } {
  const at = config.indexOf('policies:');
  return { main: `${config.slice(0, at)}policyFiles: [policies/*.yaml]\n`, policies: config.slice(at) };
}

function starts(daemon: Program): number {
  return daemon.said('daemon running').length;
}

async function hasStarted(daemon: Program, times: number): Promise<void> {
  await until({ what: `the daemon has started ${times} times` }, () => starts(daemon) === times);
}

async function metricsUntil(url: string, what: string, holds: (metrics: Exposition) => boolean): Promise<Exposition> {
  return until({ what }, async () => {
    const metrics = await scrape(url);
    return holds(metrics) && metrics;
  });
}

function modes(metrics: Exposition): readonly (string | undefined)[] {
  return metrics.all('opsd_policy_mode_info').map(({ labels }) => labels['effective_mode']);
}

async function conditionKeys(url: string): Promise<readonly string[]> {
  const answer = (await (await fetch(`${url}/api/v1/conditions`)).json()) as { conditions: { key: string }[] };
  return answer.conditions.map(({ key }) => key);
}

/** Log message of a rejected configuration. */
const REJECTED = 'configuration reload failed, keeping the previous configuration';
/** Author of a reload that no operator requested. */
const FILES_CHANGED = 'the files changed';
const OK = 'opsd_config_last_reload_successful';
const GOOD_AT = 'opsd_config_last_reload_success_timestamp_seconds';

test('SIGHUP applies a changed configuration in the same process, on the same address, and counters continue', async () => {
  const world = await daemonWorld();
  const config = repairConfig(world, AUDIT);
  const { daemon, url } = await world.start(config);
  const before = await metricsUntil(
    url,
    'some requests are counted',
    (metrics) => metrics.sum('opsd_api_requests_total') > 5,
  );
  expect([before.value(OK, {}), before.value(GOOD_AT, {})]).toEqual([1, expect.any(Number)]);

  world.write(config.replace('mode: audit', 'mode: enforce'));
  daemon.kill('SIGHUP');
  await hasStarted(daemon, 2);
  expect(daemon.said('daemon running').map((line) => line['url'])).toEqual([url, url]);
  const after = await scrape(url);
  expect(modes(after)).toEqual(['enforce']);
  expect(after.value('opsd_config_hash', {})).not.toBe(before.value('opsd_config_hash', {}));
  expect(after.value('process_start_time_seconds', {})).toBe(before.value('process_start_time_seconds', {}));
  for (const name of [
    'opsd_api_requests_total',
    'opsd_collector_runs_total',
    'opsd_api_response_bytes_total',
    'opsd_log_messages_total',
    'process_cpu_seconds_total',
    'opsd_api_request_duration_seconds_count',
    'opsd_audit_records_total',
  ]) {
    expect(after.sum(name), name).toBeGreaterThanOrEqual(before.sum(name));
    // Handed over once, not twice.
    expect(after.sum(name), name).toBeLessThan(before.sum(name) * 1.9 + 60);
  }
  expect(after.value(OK, {})).toBe(1);

  // Without a change, a reload only succeeds.
  daemon.kill('SIGHUP');
  await daemon.logged('configuration reloaded without changes');
  await metricsUntil(url, 'the time moves on', (metrics) => metrics.value(GOOD_AT, {})! > after.value(GOOD_AT, {})!);
  expect(starts(daemon)).toBe(2);
  await daemon.stop();
});

test('opsd reload waits until the change is applied, and reports errors; over TCP it requires an admin', async () => {
  const world = await daemonWorld();
  writeFileSync(join(world.folder, 'admin'), 'admin-token\n');
  const tokens =
    'tokens: [{ name: boss, role: admin, tokenFile: admin }, { name: watcher, role: viewer, token: look }] }';
  const config = repairConfig(world, AUDIT).replace('"127.0.0.1:0" }', `"127.0.0.1:0", ${tokens}`);
  const { daemon, url } = await world.start(config);
  world.write(config.replace('mode: audit', 'mode: enforce'));
  const done = await world.command('reload');
  // On a busy machine, the daemon may see the changed files before the command has started.
  const [applied] = daemon.said('configuration changed, applying it');
  const answers = ['The daemon runs with the changed configuration.\n', 'The configuration has not changed.\n'];
  expect(done.code).toBe(0);
  expect(applied?.['by'] === FILES_CHANGED ? answers : answers.slice(0, 1)).toContain(done.stdout);
  expect(modes(await scrape(url))).toEqual(['enforce']);

  world.write(config.replace('mode: audit', 'mode: adit'));
  const refused = await world.command('reload');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/opsd\.yaml:\d+:\d+: policies\[0\]\.mode/);

  const post = async (token?: string) =>
    fetch(`${url}/-/reload`, {
      method: 'POST',
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    });
  expect([(await post()).status, (await post('look')).status]).toEqual([401, 403]);
  const answer = await post('admin-token');
  expect([answer.status, await answer.json()]).toMatchObject([422, { error: { code: 'bad_configuration' } }]);
  const by = daemon.said(REJECTED).flatMap((line) => String(line['by']).split(', '));
  expect(by.filter((one) => one !== FILES_CHANGED)).toEqual([expect.stringMatching(/^local \(.+\)$/), 'boss']);
  world.write(config);
  expect(await (await post('admin-token')).json()).toMatchObject({ changed: true });
  await hasStarted(daemon, 3);
  expect(modes(await scrape(url))).toEqual(['audit']);
});

test('a typo in a policy file: the previous policies run in audit, it is reported, and a fix restores them', async () => {
  const world = await daemonWorld();
  const { main, policies } = split(repairConfig(world, { mode: 'enforce', every: '1h' }));
  const folder = join(world.folder, 'policies');
  const file = join(folder, 'billing.yaml');
  mkdirSync(folder);
  writeFileSync(file, policies);
  const { daemon, url } = await world.start(main);
  expect(modes(await scrape(url))).toEqual(['enforce']);

  // The intended stop is misspelled. No reload is requested: the daemon watches the file.
  writeFileSync(file, policies.replace('mode: enforce', 'mode: of'));
  const line = await daemon.logged(REJECTED);
  expect(line).toMatchObject({ by: FILES_CHANGED, auditOnly: true });
  expect(String(line['problems'])).toMatch(/policies\/billing\.yaml:4:11: policies\[0\]\.mode:/);
  const held = await metricsUntil(url, 'the policy is in audit', (metrics) => modes(metrics).includes('audit'));
  expect([modes(held), held.value(OK, {})]).toEqual([['audit'], 0]);
  expect(await conditionKeys(url)).toContain('reload');
  const page = await (await fetch(`${url}/`)).text();
  expect(page).toContain('The configuration reload failed');
  // Any other mistake on top does not lift it.
  world.write(`${main}telemetri: {}\n`);
  daemon.kill('SIGHUP');
  await until({ what: 'it is refused again' }, () => daemon.said(String(line['msg'])).length === 2);
  world.write(main);

  // Restored: nothing is exchanged, and the policy acts again.
  writeFileSync(file, policies);
  const back = await metricsUntil(url, 'the policy is back', (metrics) => modes(metrics).includes('enforce'));
  expect([modes(back), back.value(OK, {}), starts(daemon)]).toEqual([['enforce'], 1, 1]);
  expect(await conditionKeys(url)).not.toContain('reload');

  // Another fix, after another typo: the change is applied.
  writeFileSync(file, `${policies}typo: [\n`);
  daemon.kill('SIGHUP');
  await metricsUntil(url, 'it is in audit again', (metrics) => modes(metrics).includes('audit'));
  writeFileSync(file, policies.replace('mode: enforce', 'mode: off'));
  await hasStarted(daemon, 2);
  const off = await scrape(url);
  expect([modes(off), off.value(OK, {})]).toEqual([['off'], 1]);
  expect(await conditionKeys(url)).not.toContain('reload');
});

test('an invalid configuration changes nothing; nor does one whose address is in use until it is free', async () => {
  const world = await daemonWorld();
  const config = repairConfig(world, { mode: 'enforce', every: '1h' });
  const { daemon, url } = await world.start(config);
  const failed = () => daemon.said(REJECTED);
  world.write(config.replace('newSeriesZeroFor: 0s', 'newSeriesZeroFor: soon'));
  daemon.kill('SIGHUP');
  await until({ what: 'it is refused' }, () => failed().length === 1);
  expect(failed()[0]).toMatchObject({ by: 'SIGHUP', auditOnly: false });
  expect(String(failed()[0]!['problems'])).toMatch(/opsd\.yaml:\d+:\d+: telemetry\.metrics\.newSeriesZeroFor/);
  const metrics = await scrape(url);
  expect([modes(metrics), metrics.value(OK, {})]).toEqual([['enforce'], 0]);
  expect(await conditionKeys(url)).toContain('reload');

  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  world.write(config.replace('127.0.0.1:0', `127.0.0.1:${port}`));
  daemon.kill('SIGHUP');
  await until({ what: 'it is refused' }, () => failed().length === 2);
  expect(String(failed()[1]!['problems'])).toContain(`cannot listen on 127.0.0.1:${port}`);
  expect([starts(daemon), (await scrape(url)).value(OK, {})]).toEqual([1, 0]);
  // An unknown key may be a stop with a typo.
  world.write(`${config}engin: { mode: off }\n`);
  daemon.kill('SIGHUP');
  await metricsUntil(url, 'the policy is in audit', (now) => modes(now).includes('audit'));
  // The address is free again.
  await new Promise((resolve) => other.close(resolve));
  world.write(config.replace('127.0.0.1:0', `127.0.0.1:${port}`));
  daemon.kill('SIGHUP');
  await hasStarted(daemon, 2);
  const after = await scrape(`http://127.0.0.1:${port}`);
  expect([modes(after), after.value(OK, {})]).toEqual([['enforce'], 1]);
  await until({ what: 'the old address is closed' }, () =>
    ask(`${url}/metrics`).then(
      () => false,
      () => true,
    ),
  );
});

test('a ConfigMap that is swapped by its link is detected, and concurrent triggers are one reload', async () => {
  const world = await daemonWorld();
  const { main, policies } = split(repairConfig(world, AUDIT));
  const update = mountedVolume(join(world.folder, 'mount'));
  update({ 'billing.yaml': policies });
  const { daemon, url } = await world.start(main.replace('policies/*.yaml', 'mount/*.yaml'));

  update({ 'billing.yaml': policies.replace('mode: audit', 'mode: approve') });
  await hasStarted(daemon, 2);
  expect(modes(await scrape(url))).toEqual(['approve']);

  update({ 'billing.yaml': policies.replace('mode: audit', 'mode: enforce') });
  const asked = Array.from({ length: 4 }, () => world.command('reload'));
  for (let signals = 0; signals < 5; signals++) daemon.kill('SIGHUP');
  await until({ what: 'the changed one runs' }, async () => modes(await scrape(url)).includes('enforce'));
  for (const one of asked) expect(await one).toMatchObject({ code: 0 });
  expect(starts(daemon)).toBe(3);
  await daemon.stop();
});

test.runIf(process.platform === 'linux')(
  'SIGHUP ends no daemon: a start reloads afterwards, a stop ignores it',
  async () => {
    const world = await daemonWorld();
    const config = world.write(repairConfig(world, AUDIT));
    const kept = `${config}.kept`;
    renameSync(config, kept);
    execFileSync('mkfifo', [config]);
    const daemon = opsd(['run', '--config', config]);
    // A pipe can be opened only while someone reads it: the daemon is starting, and waits for its configuration.
    const pipe = await until({ what: 'the configuration is read' }, () => openedForWriting(config));
    daemon.kill('SIGHUP');
    writeFileSync(pipe, readFileSync(kept));
    renameSync(kept, config);
    closeSync(pipe);
    await daemon.logged('configuration reloaded without changes');
    expect(starts(daemon)).toBe(1);
    daemon.kill('SIGTERM');
    await daemon.logged('daemon stopping');
    daemon.kill('SIGHUP');
    await daemon.logged('daemon stopped');
    daemon.kill('SIGHUP');
    expect(await daemon.ended).toEqual({ code: 0, signal: null });
  },
);

/**
 * Sends a request over a separate connection.
 *
 * @returns status and body; rejects when the connection is refused or cut
 */
function ask(
  url: string,
  options: RequestOptions = {},
  body = '',
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { ...options, agent: false }, (response) => {
      response.setEncoding('utf8');
      let text = '';
      response.on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Returns counters, and the parts of histograms, by name and labels. */
function countersOf(text: string): ReadonlyMap<string, number> {
  const { samples, types } = parseExposition(text);
  const counters = samples.filter(({ name }) =>
    ['counter', 'histogram'].includes(types[name] ?? types[name.replace(/_(bucket|sum|count)$/, '')] ?? ''),
  );
  return new Map(counters.map(({ name, labels, value }) => [`${name} ${JSON.stringify(labels)}`, value]));
}

test('during reloads every scrape and every hook gets a response, and no counter decreases', async () => {
  const world = await daemonWorld();
  const hooks = 'hooks: { listen: "127.0.0.1:0", alertmanager: { main: { token: hook-token } } }\n';
  const config = `${hooks}${repairConfig(world, AUDIT)}`;
  const { daemon, url } = await world.start(config);
  const hook = `${String(daemon.said('daemon running')[0]!['hooks'])}/hooks/alertmanager/main`;
  const state = { isOver: false, scraped: 0, told: 0 };
  const wentBack: string[] = [];
  async function scrapes(): Promise<void> {
    let before: ReadonlyMap<string, number> = new Map();
    for (; !state.isOver; state.scraped++) {
      const { status, text } = await ask(`${url}/metrics`);
      expect(status).toBe(200);
      const now = countersOf(text);
      for (const [key, value] of before)
        if ((now.get(key) ?? -1) < value) wentBack.push(`${key}: ${value}, ${now.get(key)}`);
      before = now;
    }
  }
  async function alerts(): Promise<void> {
    for (; !state.isOver; state.told++) {
      const labels = { alertname: 'Any', account: 'production' };
      const alert = { status: 'firing', labels, startsAt: '2026-11-22T10:00:00Z', fingerprint: `f${state.told}` };
      const headers = { authorization: 'Bearer hook-token' };
      const { status } = await ask(
        hook,
        { method: 'POST', headers },
        JSON.stringify({ version: '4', alerts: [alert] }),
      );
      expect(status).toBe(202);
    }
  }
  const load = Promise.all([scrapes(), alerts()]);
  const reloads = (async () => {
    for (let times = 1; times <= 5; times++) {
      world.write(config.replace('full: 10s', `full: ${10 + times}s`));
      daemon.kill('SIGHUP');
      await hasStarted(daemon, times + 1);
      const [scraped, told] = [state.scraped, state.told];
      await until({ what: 'the next ones are answered' }, () => state.scraped > scraped + 1 && state.told > told + 1);
    }
  })();
  await Promise.race([reloads, load]);
  state.isOver = true;
  await load;
  await reloads;
  expect(wentBack).toEqual([]);
  const after = await scrape(url);
  expect(after.value('opsd_hook_requests_total', { hook: 'alertmanager', code: '202' })).toBe(state.told);
  expect(daemon.said('daemon running').every((line) => line['url'] === url)).toBe(true);
});

test('a reload during a step finishes the request, sends nothing twice, and the rest follows', async () => {
  const world = await daemonWorld();
  await world.failRuns(3, 'billing');
  world.destination.answerWith((_request, response) => void response.end());
  const { resumes } = world;
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  world.proxy.decide((request) => (isResume(request) && resumes().length === 1 ? opened : 'pass'));
  const config = repairConfig(world, { mode: 'enforce', every: '1s' });
  const { daemon, url } = await world.start(config);
  await until({ what: 'a resume is under way' }, () => resumes().length === 1);
  world.write(config.replace('full: 10s', 'full: 11s'));
  daemon.kill('SIGHUP');
  await daemon.logged('configuration changed, applying it');
  open();
  await hasStarted(daemon, 2);
  const messages = daemon.log().map((line) => line['msg']);
  expect(messages.indexOf('action')).toBeLessThan(messages.lastIndexOf('daemon running'));
  expect(daemon.said('action')[0]).toMatchObject({ outcome: 'accepted' });
  world.proxy.decide(() => 'pass');
  await until({ what: 'the rest is resumed' }, () => resumes().length === 3);
  const metrics = await metricsUntil(
    url,
    'all are counted, over the reload',
    (now) => now.sum('opsd_action_items_total') === 3,
  );
  expect(new Set(resumes()).size).toBe(3);
  expect(metrics.value('opsd_unknown_outcomes', {})).toBe(0);
  const rows = await logsUntil(world.service, Date.now());
  const stamped = rows.filter((row) => row.labels?.some((label) => label.startsWith('opsd:')));
  expect(new Set(stamped.map((row) => row.messageId)).size).toBe(3);
  expect((await world.command('audit', '-o', 'json')).code).toBe(0);
});

/** Each command's output and exit code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { CliPrograms } from '#cli/command.ts';
import { runCli } from '#cli/cli.ts';
import { labelNamesOf, METRIC_NAMES, specOf } from '#observe/catalog/catalog.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { opsd, terminal, type Terminal } from './terminal.ts';

const GOOD = `
accounts:
  - name: production
    url: https://eu.msgsvc.example
    token: abc
    collectors: { urlGroups: { enabled: false }, workflowDlq: { schedule: "*/5 * * * *" } }
engine: { mode: audit }
policies:
  - name: resume-billing
    account: production
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume }
    mode: enforce
`;

function file(text: string, name = 'config.yaml'): string {
  const path = join(tempDir(), name);
  writeFileSync(path, text);
  return path;
}

describe('check', () => {
  test('without a file it checks the default configuration', async () => {
    const file = join(tempDir(), 'here.yaml');
    writeFileSync(file, 'accounts: [');
    const { code, stderr } = await opsd(['check'], { env: { OPSD_CONFIG: file } });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${file}:1:`)]);
  });

  test('shows the parsed configuration', async () => {
    const path = file(GOOD);
    const { code, stdout, stderr } = await opsd(['check', path]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/\n\n.* is valid: 1 account, 3 collectors, 1 policy\n$/);
    expect(stdout.indexOf(`${path} is valid`)).toBe(stdout.lastIndexOf('\n', stdout.length - 2) + 1);
    const [understood] = stdout.split('\nEstimated for ');
    expect(understood).toBe(
      `ACCOUNT     MESSAGE API                MANAGEMENT API
production  https://eu.msgsvc.example  –

COLLECTOR      ACCOUNT     SCHEDULE
logs           production  every 30s
accountStats   production  off: no managementApi
flowControl    production  every 15s
workflowDlq    production  */5 * * * * (UTC)
urlGroups      production  off: disabled
searchIndexes  production  off: no managementApi
vectorStats    production  off: no managementApi

POLICY          ACCOUNT     MODE                                      SCHEDULE  SOURCE
resume-billing  production  enforce, limited to audit by engine.mode  every 5m  config.yaml:9
`,
    );
  });

  test('has the same facts as JSON and as YAML, and nothing else on stdout', async () => {
    const path = file(GOOD);
    const json = await opsd(['check', path, '-o', 'json']);
    const facts: unknown = JSON.parse(json.stdout);
    expect(json).toMatchObject({ code: 0, stderr: '' });
    expect(facts).toMatchObject({
      file: path,
      valid: true,
      problems: [],
      accounts: [{ name: 'production', messageApiUrl: 'https://eu.msgsvc.example' }],
      policies: [{ name: 'resume-billing', mode: 'enforce', effectiveMode: 'audit', schedule: 'every 5m' }],
    });
    expect(parse((await opsd(['check', path, '--output=yaml'])).stdout)).toEqual(facts);
  });

  test('never shows a secret', async () => {
    const path = file(GOOD.replace('token: abc', 'token: canary-token'));
    for (const format of ['table', 'json', 'yaml']) {
      const { stdout, stderr } = await opsd(['check', path, '-o', format]);
      expect(stdout + stderr).not.toContain('canary-token');
    }
  });

  test('shows every problem on stderr with its place, and fails', async () => {
    const path = file('accounts:\n  - name: production\n    url: ftp://x\n    tokne: y\n');
    const { code, stdout, stderr } = await opsd(['check', path]);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain(`${path}:4:5:`);
    expect(stderr).toContain('did you mean token?');
    expect(stderr).toMatch(/: \d problems\. Check again after the repair: .*\n$/);
    expect(stderr).not.toContain('\u001B');

    const json = await opsd(['check', path, '-o', 'json']);
    expect(json).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({ valid: false, problems: expect.any(Array) as unknown[] });
  });

  test('checks the files of secrets unless told otherwise', async () => {
    const path = file('accounts: [{ name: a, url: "https://a.example", tokenFile: /nonexistent/token }]\n');
    expect((await opsd(['check', path])).code).toBe(1);
    expect((await opsd(['check', path, '--no-secrets'])).code).toBe(0);
  });

  test('reports that there are no policies, and no file', async () => {
    const path = file('accounts: [{ name: a, url: "https://a.example", token: t }]\n');
    expect((await opsd(['check', path])).stdout).toContain('No policies: the daemon only reads.');
    expect(await opsd(['check', `${path}.no`])).toMatchObject({ code: 1, stdout: '' });
  });

  test('paints on a terminal, unless NO_COLOR is set', async () => {
    const path = file(GOOD);
    expect((await opsd(['check', path], { isTTY: true })).stdout).toContain('\u001B[32m');
    expect((await opsd(['check', path], { isTTY: true, env: { NO_COLOR: '1' } })).stdout).not.toContain('\u001B');
    expect((await opsd(['check', path], { isTTY: true, env: { TERM: 'dumb' } })).stdout).not.toContain('\u001B');
  });
});

describe('run', () => {
  test('hands the configuration to the program, whose exit code is its own', async () => {
    const path = file(GOOD);
    const world = terminal();
    expect(await runCli(['run', '--config', path], world.io, world.programs)).toBe(0);
    expect(world.started).toMatchObject([{ config: { sourceFile: path, accounts: [{ name: 'production' }] } }]);
    const failing = { ...world.programs, run: () => Promise.resolve(1) };
    expect(await runCli(['run', '-c', path], world.io, failing)).toBe(1);
  });

  test('finds the configuration through OPSD_CONFIG', async () => {
    const path = file(GOOD);
    const world = terminal({ env: { OPSD_CONFIG: path } });
    expect(await runCli(['run'], world.io, world.programs)).toBe(0);
    expect(world.started).toMatchObject([{ config: { sourceFile: path } }]);
  });

  test('does not start with an invalid configuration', async () => {
    const path = file('accounts: []\n');
    const world = terminal();
    expect(await runCli(['run', '--config', path], world.io, world.programs)).toBe(1);
    expect(world.started).toEqual([]);
    expect(world.stderr).toContain(`${path}:1:`);
    expect(world.stdout).toBe('');
  });

  test('without a configuration reports which file it looked for', async () => {
    const { code, stderr } = await opsd(['run', '--config', join(tempDir(), 'opsd.yaml')]);
    expect(code).toBe(1);
    expect(stderr).toContain('opsd.yaml:1:1: the file does not exist');
    expect(stderr).toContain('help: set the configuration with --config FILE or OPSD_CONFIG');
  });

  test('shows why a program failed, and the place in the source only for bugs', async () => {
    const path = file(GOOD);
    const world = terminal();
    const failing = (error: Error): CliPrograms => ({
      ...world.programs,
      async run() {
        throw error;
      },
    });
    expect(await runCli(['run', '-c', path], world.io, failing(new Error('the store is in use')))).toBe(1);
    expect(world.stderr).toBe('opsd: the store is in use\n');
    expect(await runCli(['run', '-c', path], world.io, failing(new TypeError('x is not a function')))).toBe(1);
    expect(world.stderr).toMatch(/opsd: TypeError: x is not a function\n\s+at /);
  });
});

describe('demo', () => {
  test.each([
    [['demo'], {}],
    [['demo', '--seed', '7'], { seed: 7 }],
    [['demo', '--listen', '127.0.0.1:0'], { listen: { host: '127.0.0.1', port: 0 } }],
    [['demo', '--listen', ':9000', '--seed=0'], { listen: { host: '::', port: 9_000 }, seed: 0 }],
  ])('%j', async (argv, options) => {
    const world = terminal();
    expect(await runCli(argv, world.io, world.programs)).toBe(0);
    expect(world.started).toEqual([options]);
  });
});

describe('emulator', () => {
  interface Started {
    readonly world: Terminal;
    /** The line that it prints. */
    readonly line: string;
    readonly ready: { readonly url: string; readonly account: string };
    readonly stop: () => Promise<number>;
  }

  async function started(...flags: readonly string[]): Promise<Started> {
    const world = terminal();
    const ended = runCli(['emulator', '--listen=127.0.0.1:0', '--token=t1', ...flags], world.io, world.programs);
    onTestFinished(() => world.stop());
    const line = await until({ what: 'it is ready' }, () => world.stdout.endsWith('\n') && world.stdout);
    return { world, line, ready: JSON.parse(line) as Started['ready'], stop: () => (world.stop(), ended) };
  }

  test('has a control API when enabled, which moves virtual time', async () => {
    const { world, ready, stop } = await started('--control', '--time=virtual');
    const moved = await fetch(`${ready.url}/-/emulator/clock/advance`, { method: 'POST', body: '{"ms":86400000}' });
    const { mode, now } = (await moved.json()) as { mode: string; now: number };
    expect([moved.status, mode]).toEqual([200, 'virtual']);
    expect(now).toBeGreaterThanOrEqual(world.io.clock.now() + 86_000_000);
    expect(await stop()).toBe(0);
  });

  test('begins with the seed of the documentation, at its time', async () => {
    const docs = readFileSync(join(import.meta.dirname, '../../docs/emulator-reference.md'), 'utf8');
    const example = /## Seeds\n.*?```yaml\n(.*?)```/s.exec(docs)![1]!;
    const { ready, stop } = await started('--control', '--time=virtual', `--seed=${file(example)}`);
    const state = (await (await fetch(`${ready.url}/-/emulator/state`)).json()) as {
      clock: object;
      accounts: object[];
    };
    expect(state.clock).toMatchObject({ now: Date.UTC(2026, 10, 20, 12) });
    expect(state.accounts).toMatchObject([{ urlGroups: ['orders'], flowControl: [{ flowControlKey: 'billing' }] }]);
    expect(await stop()).toBe(0);
  });

  test.each([
    ['plan: gold\n', /^opsd: \S*seed\.yaml:1:7: plan: expected one of free, paid/],
    ['deadletters: []\n', /seed\.yaml:1:1: deadletters: unknown key\n.*\n.*\n {2}help: did you mean deadLetters\?/],
    ['a: [\n', /seed\.yaml:1:4: the \[ opened here is not closed/],
    ['budgetUsd: 1\nmessages:\n  - destination: g\n', /seed\.yaml:3:5: messages\[0\]: there is no URL Group named g/],
  ])('rejects the seed %j with its place', async (text, told) => {
    const { code, stderr } = await opsd(['emulator', '--listen=127.0.0.1:0', `--seed=${file(text, 'seed.yaml')}`]);
    expect(code).toBe(1);
    expect(stderr).toMatch(told);
  });

  // The mapped address counts as another one, and only this machine reaches it.
  test.each([
    ['--listen=127.0.0.1:0', 200],
    ['--no-pages', 404],
    ['--listen=[::ffff:127.0.0.1]:0', 404],
    ['--listen=[::ffff:127.0.0.1]:0 --pages', 200],
  ])('%s: GET / returns %d', async (flags, status) => {
    const { ready, stop } = await started(...flags.split(' '));
    expect((await fetch(ready.url)).status).toBe(status);
    expect(await stop()).toBe(0);
  });

  test('has an account whose id is a UUID unless another is given', async () => {
    const { ready, stop } = await started('--issuer=acme');
    const uuid = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
    expect(ready.account).toMatch(uuid);
    expect(await stop()).toBe(0);
  });

  test('prints one line when it is ready, serves both APIs, and ends cleanly on a signal', async () => {
    const { world, line, ready, stop } = await started('--management=u:p:q', '--account=acc-9', '--signing-key=k1');
    expect(line.match(/\n/g)).toHaveLength(1);
    expect(ready).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
      account: 'acc-9',
      signingKeys: { current: 'k1', next: expect.stringMatching(/^sig_[\w-]{32}$/) as string },
    });

    const bearer = await fetch(`${ready.url}/v2/topics`, { headers: { Authorization: 'Bearer t1' } });
    expect(bearer.status).toBe(200);
    await bearer.arrayBuffer();
    const credentials = Buffer.from('u:p:q').toString('base64');
    const basic = await fetch(`${ready.url}/v2/msgsvc/stats/acc-9`, {
      headers: { Authorization: `Basic ${credentials}` },
    });
    expect(basic.status).toBe(200);
    await basic.arrayBuffer();

    const taken = await opsd(['emulator', '--listen', new URL(ready.url).host]);
    expect(taken.code).toBe(1);
    expect(taken.stderr).toContain('another program uses it');

    expect(await stop()).toBe(0);
    expect(world.stderr).toBe('');
    await expect(fetch(ready.url)).rejects.toThrow('fetch failed');
  });

  test.each([
    ['the plan given', ['--plan=free'], 412, '1000'],
    ['no limits', ['--plan=free', '--no-limits'], 200, null],
  ])('has the configured limits: %s', async (_what, flags, status, ofDay) => {
    const { ready, stop } = await started(...flags);
    const answer = await fetch(`${ready.url}/v2/publish/http://127.0.0.1:1/`, {
      method: 'POST',
      headers: { Authorization: 'Bearer t1', 'Svc-Retries': '4', 'Svc-Delay': '1h' },
    });
    await answer.arrayBuffer();
    expect([answer.status, answer.headers.get('ratelimit-limit')]).toEqual([status, ofDay]);
    expect(await stop()).toBe(0);
  });
});

describe('the catalogs', () => {
  test('metrics names each of them once, in every form', async () => {
    const table = await opsd(['metrics']);
    expect(table).toMatchObject({ code: 0, stderr: '' });
    const lines = table.stdout.split('\n').map((line) => line.split(' ')[0]);
    for (const name of METRIC_NAMES) expect(lines.filter((word) => word === name)).toHaveLength(1);
    const json = JSON.parse((await opsd(['metrics', '-o', 'json'])).stdout) as { metrics: { name: string }[] };
    expect(json.metrics.map((metric) => metric.name)).toEqual(METRIC_NAMES);
    expect(json.metrics[0]).toMatchObject({
      labels: expect.any(Array) as string[],
      help: expect.any(String) as string,
    });
    expect(parse((await opsd(['metrics', '-o', 'yaml'])).stdout)).toEqual(json);
    expect((await opsd(['metrics', '--markdown'])).stdout).toContain(`\n- \`${METRIC_NAMES[0]}{`);
  });

  test('metrics shows type, unit, labels, source and help of each, one line each without a terminal', async () => {
    const { stdout } = await opsd(['metrics']);
    for (const name of METRIC_NAMES) {
      const { type, unit, source, help } = specOf(name);
      const line = stdout.split('\n').find((text) => text.startsWith(`${name} `));
      const cells = [name, type, unit, labelNamesOf(name).join(',') || '-', source, help];
      expect(line?.split(/ {2,}/)).toEqual(cells);
    }
  });

  test.each([60, 80, 120, 200, 300])('metrics fits a terminal of %i columns, and omits nothing', async (columns) => {
    const { stdout } = await opsd(['metrics'], { isTTY: true, columns });
    const longest = Math.max(...METRIC_NAMES.map(({ length }) => length)) + 2;
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(Math.max(columns, longest));
    const words = (text: string): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (const word of text.split(/[^\w[\].:]+/)) counts[word] = (counts[word] ?? 0) + 1;
      return counts;
    };
    const shown = words(stdout);
    const whole = METRIC_NAMES.map((name) => [name, specOf(name).unit, specOf(name).help].join(' ')).join(' ');
    for (const [word, count] of Object.entries(words(whole))) expect(shown[word], word).toBeGreaterThanOrEqual(count);
  });

  test('schema is a JSON Schema', async () => {
    for (const args of [['schema'], ['schema', '--test'], ['schema', '--seed']]) {
      const { code, stdout } = await opsd(args);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ $schema: expect.stringContaining('json-schema.org') as string });
    }
  });

  test('version', async () => {
    const { code, stdout } = await opsd(['version']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^opsd \d+\.\d+\.\d+ \(node \d+\.\d+\.\d+\)\n$/);
    expect(await opsd(['--version'])).toMatchObject({ code: 0, stdout });
  });
});

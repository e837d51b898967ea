/** Commands that are operations of the service, through a real daemon, compared with the service itself. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testEmulator } from '../support/test-emulator.ts';
import { operationsWorld, type OperationsWorld } from '../operate/operations/world.ts';
import { opsd, type TerminalOptions } from './terminal.ts';

/** Runs a command as the local operator, at 80 columns. */
function run({ daemon }: OperationsWorld, args: readonly string[], options: TerminalOptions = {}) {
  const terminal = { clock: systemClock, isTTY: true, columns: 80, env: { NO_COLOR: '1' }, ...options };
  return opsd([...args, '--socket', daemon.socketPath], terminal);
}

/** Last request of the daemon that is a write. */
function lastWrite({ exchanged }: OperationsWorld): string | undefined {
  const last = exchanged.findLast(({ method }) => method !== 'GET');
  return last && `${last.method} ${last.url}`;
}

const record = async (world: OperationsWorld, path: string): Promise<Record<string, unknown>> =>
  JSON.parse(await world.direct('GET', path)) as Record<string, unknown>;

test('URL Groups are created, listed, and shown', async () => {
  const world = await operationsWorld();
  const url = `${world.front.url}/mail`;
  const added = await run(world, ['url-groups', 'add-endpoints', 'mailers', url, `backup=${url}/b`], {
    answers: ['y'],
  });
  expect(added.code).toBe(0);
  expect(added.stderr).toContain('  POST /v2/topics/{urlGroupName}/endpoints\n  urlGroupName: mailers\n');
  expect(added.stderr).toMatch(/Send add-endpoints\? \[y\/N\] $/);
  expect((await run(world, ['url-groups', 'list'])).stdout).toBe('NAME     ENDPOINTS\nmailers          2\n');
  expect((await run(world, ['url-groups', 'list', '-o', 'wide'])).stdout).toContain(`${url} ${url}/b\n`);
  expect((await run(world, ['url-groups', 'list', '-o', 'name'])).stdout).toBe('mailers\n');
  const whole = await world.direct('GET', '/v2/topics');
  expect((await run(world, ['url-groups', 'list', '-o', 'json'])).stdout.trim()).toBe(whole);
  const shown = (await run(world, ['url-groups', 'show', 'mailers'])).stdout;
  expect(shown).toBe(`ENDPOINT  URL\n–         ${url}\nbackup    ${url}/b\n`);
  const [group] = JSON.parse(whole) as unknown[];
  expect(JSON.parse((await run(world, ['url-groups', 'show', 'mailers', '-o', 'json'])).stdout)).toEqual(group);
  expect(await run(world, ['url-groups', 'show', 'mailer'])).toMatchObject({
    code: 1,
    stderr: 'opsd: the account has no URL Group mailer; did you mean mailers?\n',
  });
});

test('messages are published and runs triggered with every setting, and the body from a file or stdin', async () => {
  const world = await operationsWorld();
  const { url } = world.front;
  const file = join(world.folder, 'payload.json');
  writeFileSync(file, '{"a":1}');
  const publish = ['messages', 'publish', `${url}/hook`, '--yes', '--label', 'one', '--label', 'two'];
  const more = ['--retries', '2', '--content-based-deduplication', '--forward', '{"X-A":"b"}', '--delay', '1h'];
  const published = await run(world, [...publish, ...more, '--body', '-'], { input: 'hello' });
  expect(published).toMatchObject({ code: 0, stderr: expect.stringContaining('  body: (5 bytes)\n') as string });
  expect(published.stdout).toMatch(/^FIELD +VALUE\nmessageId +msg_/);
  const { logs } = (await record(world, '/v2/logs')) as { logs: Record<string, unknown>[] };
  expect(logs[0]).toMatchObject({ url: `${url}/hook`, body: 'hello', labels: ['one', 'two'], maxRetries: 2 });

  const workflow = `${url}/workflow`;
  const trigger = [
    'workflows',
    'trigger',
    workflow,
    '--workflow-run-id',
    'wfr_mine',
    '--body',
    file,
    '-y',
    '-o',
    'json',
  ];
  const triggered = await run(world, trigger, { isTTY: false });
  expect(triggered.code).toBe(0);
  expect(triggered.stdout).toBe(world.exchanged.findLast(({ method }) => method === 'POST')?.body);
  expect(JSON.parse(triggered.stdout)).toMatchObject({ workflowRunId: 'wfr_mine' });
});

test('a flow-control key is read from the service', async () => {
  const world = await operationsWorld();
  const flow = ['--flow-control-key', 'billing', '--flow-control-value', 'parallelism=1, rate=10, period=60s'];
  await run(world, ['messages', 'publish', `${world.front.url}/x`, '--delay', '1h', ...flow, '--yes']);
  const shown = await run(world, ['flow-control', 'show', 'billing']);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(/^FIELD +VALUE\n/);
  expect(shown.stdout).toMatch(/\nparallelismMax +1\n/);
  const direct = await world.direct('GET', '/v2/flowControl/billing');
  expect((await run(world, ['flow-control', 'show', 'billing', '-o', 'json'])).stdout.trim()).toBe(direct);
});

test('statistics show the latest point of each series, and its maximum', async () => {
  const world = await operationsWorld();
  const { code, stdout } = await run(world, ['account', 'stats', '--period', '3h']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^STATISTIC +LATEST +AT \(UTC\) +MAX +POINTS\n/);
  expect(stdout).toMatch(/\ndlq_message_count +0 +– +– +–\n/);
  expect(stdout).toMatch(/\ndaily_used +\d+ +20\d\d-\d\d-\d\d \d\d:\d\d +\d+ +60\n/);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  expect(world.exchanged.map(({ url }) => url)).toContain('/v2/msgsvc/stats/acc-1?period=3h');
});

test('indexes are created, read, renamed and transferred, and their tokens are masked', async () => {
  const world = await operationsWorld();
  const made = await run(world, [
    'indexes',
    'create',
    'products',
    '--region',
    'eu-west-1',
    '--type',
    'payg',
    '-y',
    '-o',
    'json',
  ]);
  expect(made.code).toBe(0);
  const { id, token } = JSON.parse(made.stdout) as { id: string; token: string };
  expect(token).toBe('[secret]');
  const shown = (await run(world, ['indexes', 'show', id])).stdout;
  expect(shown).toMatch(/\nname +products\n/);
  expect(shown).toMatch(/\ntoken +\[secret\]\n/);
  expect((await run(world, ['indexes', 'stats', id, '--period', '1d'])).stdout).toContain('current_vector_count');
  expect(await run(world, ['indexes', 'rename', id, 'things'], { answers: ['y'] })).toMatchObject({ code: 0 });
  expect(await record(world, `/v2/search/${id}`)).toMatchObject({ name: 'things' });

  const wrong = await run(world, ['indexes', 'transfer', id, 'team-7'], { answers: ['products'] });
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain('must be confirmed with the name of the index, things');
  expect(lastWrite(world)).toBe(`POST /v2/search/${id}/rename`);
  expect(await run(world, ['indexes', 'transfer', id, 'team-7'], { answers: ['things'] })).toMatchObject({ code: 0 });
  expect(await record(world, `/v2/search/${id}`)).toMatchObject({ customer_id: 'team-7' });
});

test('a raised budget needs a yes, a lower one the name of the account', async () => {
  const world = await operationsWorld();
  // The current budget is unknown until the daemon has read it, so a change counts as a lower one.
  const unknown = await run(world, ['account', 'update-budget', '500'], { answers: ['y', 'production'] });
  expect(unknown.code).toBe(0);
  expect(unknown.stderr).toContain('production (the budget is lowered, or its current value is unknown or too old)');
  expect(lastWrite(world)).toBe('PATCH /v2/msgsvc/update-budget/acc-1');
  const writes = () => world.exchanged.filter(({ method }) => method !== 'GET').length;
  expect(await run(world, ['account', 'update-budget', '50', '--yes'], {})).toMatchObject({ code: 1 });
  expect(writes()).toBe(1);
  expect(await run(world, ['account', 'update-budget', '50', '--confirm', 'production'])).toMatchObject({ code: 0 });
  expect(writes()).toBe(2);
});

describe.each([
  [['account', 'set-plan', 'paid'], 'POST /v2/msgsvc/set-plan/acc-1'],
  [['account', 'rotate-token'], 'POST /v2/msgsvc/rotate-token/acc-1'],
  [['account', 'move-to-team', 'team-7'], 'POST /v2/msgsvc/move-to-team'],
])('opsd %j', (command, sends) => {
  test('needs the typed name of the account: --yes, a y, and another name send nothing', async () => {
    const world = await operationsWorld();
    for (const [args, options] of [
      [['--yes'], {}],
      [[], { answers: ['y'] }],
      [['--confirm', 'staging'], {}],
    ] as const) {
      const refused = await run(world, [...command, ...args], options);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain('must be confirmed with the name of the account, production');
    }
    expect(lastWrite(world)).toBeUndefined();
    const done = await run(world, command, { answers: ['production'] });
    expect(done.code).toBe(0);
    expect(lastWrite(world)).toBe(sends);
    expect((await world.audit()).length).toBeGreaterThan(0);
  });
});

test.each([
  ['viewer', ['url-groups', 'add-endpoints', 'mailers', 'http://127.0.0.1:9/x']],
  ['viewer', ['messages', 'publish', 'http://127.0.0.1:9/x']],
  ['viewer', ['workflows', 'trigger', 'http://127.0.0.1:9/x']],
  ['viewer', ['indexes', 'create', 'products', '--region', 'eu-west-1', '--type', 'payg']],
  ['viewer', ['indexes', 'rename', 'idx-1', 'products']],
  ['operator', ['indexes', 'transfer', 'idx-1', 'team-7', '--confirm', 'products']],
  ['operator', ['account', 'update-budget', '50', '--confirm', 'production']],
  ['operator', ['account', 'set-plan', 'paid', '--confirm', 'production']],
  ['operator', ['account', 'rotate-token', '--confirm', 'production']],
  ['operator', ['account', 'move-to-team', 'team-7', '--confirm', 'production']],
] as const)('a %s cannot send opsd %j, and no request is sent', async (role, command) => {
  const world = await operationsWorld();
  const caller = ['--url', world.daemon.address, '--token-file', join(world.folder, `${role}-token`)];
  const { code, stderr } = await opsd([...command, ...caller, '--yes'], { clock: systemClock });
  expect(code).toBe(1);
  expect(stderr).toMatch(/role (?:operator|admin)/);
  expect(lastWrite(world)).toBeUndefined();
  expect(await world.audit()).toEqual([]);
});

test('without a daemon, a named configuration is enough to read and to write', async () => {
  const { url } = await testEmulator();
  const file = join(tempDir(), 'opsd.yaml');
  const account = `{ name: production, messageApi: { url: "${url}", token: ${TEST_TOKEN} } }`;
  writeFileSync(file, `storage: { sqlite: { path: opsd.db } }\naccounts: [${account}]\n`);
  const direct = (...args: string[]) => opsd([...args, '--config', file], { clock: systemClock });
  const added = await direct('url-groups', 'add-endpoints', 'mailers', 'http://127.0.0.1:9/x', '--yes');
  expect(added.code).toBe(0);
  expect(added.stderr).toContain('This command sends its requests to the service itself');
  expect(await direct('url-groups', 'list', '-o', 'name')).toMatchObject({ code: 0, stdout: 'mailers\n' });
});

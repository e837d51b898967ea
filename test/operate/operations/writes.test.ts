/** Writes of operators: their record, their confirmation, their claims, and what holds them. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { auditPathOf } from '#automate/ledger/audit-reader.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { EXIT } from '#cli/command.ts';
import { opsd } from '../../cli/terminal.ts';
import { LOCAL_USER } from '../../support/local-user.ts';
import { operationsWorld, type OperationsWorld } from './world.ts';

const CANARY = 'canary-body-91c';

async function failedRuns(count: number, world?: OperationsWorld) {
  const found = world ?? (await operationsWorld());
  const { dlqIds } = await found.service.control.seed({
    account: 'acc-1',
    failedRuns: Array.from({ length: count }, (_, n) => ({
      url: `http://127.0.0.1:9/workflow/${n}`,
      labels: ['billing'],
      status: 503,
    })),
  });
  return { world: found, dlqIds };
}

const writes = ({ exchanged }: OperationsWorld): readonly string[] =>
  exchanged.filter(({ method }) => method !== 'GET').map(({ method, url }) => `${method} ${url}`);

test('a write is on disk in the audit log before the service gets it, without any value', async () => {
  const world = await operationsWorld();
  let log = '';
  world.onAnswer(({ method }) => {
    if (method === 'POST') log = readFileSync(auditPathOf(join(world.folder, 'opsd.db')), 'utf8');
    return undefined;
  });
  const words = ['publish', `destination=http://127.0.0.1:9/${CANARY}`, `body=${CANARY}`, `forward={"X":"${CANARY}"}`];
  const { code, stderr } = await world.api([...words, 'retries=0', '--yes']);
  expect(code, stderr).toBe(EXIT.ok);
  expect(log).toContain('"operation.begun"');
  expect(log).not.toContain('operation.ended');
  expect(await world.audit()).toMatchObject([
    {
      type: 'operation.begun',
      operation: 'publish',
      keys: ['destination', 'body', 'forward', 'retries'],
      by: LOCAL_USER,
    },
    { type: 'operation.ended', operation: 'publish', outcome: 'accepted' },
  ]);
  expect(JSON.stringify([await world.audit(), world.log])).not.toContain(CANARY);
});

test('nothing is sent if the audit log cannot be written', async () => {
  const world = await operationsWorld();
  const path = auditPathOf(join(world.folder, 'opsd.db'));
  renameSync(path, `${path}.moved`);
  const { code, stderr } = await world.api(['create-index', 'name=a', 'region=eu-west-1', 'type=payg', '--yes']);
  expect(code).toBe(EXIT.failed);
  expect(stderr).toMatch(/it cannot be recorded: .*was moved or removed.*; nothing was sent/);
  expect(writes(world)).toEqual([]);
  // A read needs no record.
  expect((await world.api(['list-url-groups'])).code).toBe(EXIT.ok);
});

test.each([
  ['a rejection', 'create-index', ['name=a', 'region=nowhere', 'type=payg'], 'rejected', /the service answered 4/],
  ['an unknown object', 'rename-index', ['id=none', 'name=b'], 'rejected', /answered 404/],
] as const)('%s is recorded', async (_what, name, words, outcome, message) => {
  const world = await operationsWorld();
  const { code, stderr } = await world.api([name, ...words, '--yes']);
  expect([code, stderr]).toEqual([EXIT.failed, expect.stringMatching(message)]);
  expect((await world.audit()).map(({ type, outcome: ended }) => [type, ended])).toEqual([
    ['operation.begun', undefined],
    ['operation.ended', outcome],
  ]);
});

test('opsd audit shows who did what, without hiding names', async () => {
  const world = await operationsWorld();
  expect((await world.api(['rotate-token', '--yes', '--confirm=production'])).code).toBe(EXIT.ok);
  const { stdout } = await opsd(['audit', '--config', world.config], { clock: systemClock });
  expect(stdout).toMatch(/operation\.begun +local \(.+\) sends the operation rotate-token for acc-1 by id$/m);
  expect(stdout).toMatch(/operation\.ended +The operation rotate-token ended: accepted$/m);
});

test('a lost response is an unknown outcome, and the write is not repeated', async () => {
  const world = await operationsWorld();
  world.onAnswer(({ method }) => (method === 'POST' ? 'lose' : undefined));
  const { code, stderr } = await world.api(['create-index', 'name=a', 'region=eu-west-1', 'type=payg', '--yes']);
  expect(code).toBe(EXIT.failed);
  expect(stderr).toContain('it may have taken effect: check before you send it again. The outcome is unknown');
  expect(writes(world)).toEqual(['POST /v2/search']);
  expect((await world.audit()).at(-1)).toMatchObject({ type: 'operation.ended', outcome: 'unknown' });
});

test('a write ends and is recorded even if its caller disconnects', async () => {
  const world = await operationsWorld();
  const gone = new AbortController();
  world.onAnswer(({ method }) => (method === 'POST' ? (gone.abort(), undefined) : undefined));
  const sent = fetch(`${world.daemon.address}/api/v1/operations/create-index`, {
    method: 'POST',
    headers: { authorization: 'Bearer operator-secret' },
    body: JSON.stringify({ name: 'a', region: 'eu-west-1', type: 'payg' }),
    signal: gone.signal,
  });
  await expect(sent).rejects.toThrow(/abort/i);
  await expect.poll(async () => (await world.audit()).at(-1)).toMatchObject({ outcome: 'accepted' });
});

describe('bulk calls', () => {
  test('by ids reserve their entries: no later action gets them', async () => {
    const { world, dlqIds } = await failedRuns(2);
    const [first = ''] = dlqIds;
    expect((await world.api(['resume-workflow-dlq', `dlqIds=${first}`, '--yes'])).code).toBe(EXIT.ok);
    const again = await world.api(['delete-workflow-dlq', `dlqIds=${dlqIds.join(',')}`, '--yes']);
    expect([again.code, again.stderr]).toEqual([
      EXIT.failed,
      expect.stringMatching(/operation 1 has it; nothing was sent/),
    ]);
    expect(writes(world)).toHaveLength(1);
    const { stdout } = await opsd(['audit', '--id', first, '--config', world.config], { clock: systemClock });
    expect(stdout).toContain(` sends the operation resume-workflow-dlq for ${first} by dlqIds\n`);
  });

  test('by ids can be repeated after an unknown outcome, and after a rejection', async () => {
    const { world, dlqIds } = await failedRuns(1);
    const words = ['delete-workflow-dlq', `dlqIds=${dlqIds[0]}`, '--yes'];
    world.onAnswer(({ method }) => (method === 'DELETE' ? 'lose' : undefined));
    expect((await world.api(words)).code).toBe(EXIT.failed);
    world.onAnswer(() => undefined);
    expect((await world.api(words)).code).toBe(EXIT.ok);
  });

  test('by filter need the role admin, and act on what matches', async () => {
    const { world } = await failedRuns(3);
    const refused = await world.post('operator', 'resume-workflow-dlq', { label: 'billing' });
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('The role admin is required'),
    ]);
    expect(writes(world)).toEqual([]);
    const { code, stdout, stderr } = await world.api(['resume-workflow-dlq', 'label=billing', '--yes', '-o', 'json']);
    expect([code, stderr]).toEqual([EXIT.ok, expect.stringContaining('label: billing')]);
    expect((JSON.parse(stdout) as { workflowRuns: unknown[] }).workflowRuns).toHaveLength(3);
  });

  test.each(['resume-workflow-dlq', 'delete-workflow-dlq', 'delete-dlq'])(
    '%s without a filter is impossible in the command and in the API',
    async (name) => {
      const { world } = await failedRuns(1);
      for (const given of [{}, { dlqIds: [] }, { label: '' }, { count: 1 }, { fromDate: 1, toDate: Date.now() }]) {
        const answer = await world.post('admin', name, given);
        expect([answer.status, JSON.stringify(given)]).toEqual([400, JSON.stringify(given)]);
        const words = Object.entries(given).map(([key, value]) => `${key}=${String(value)}`);
        const { code, stderr } = await world.api([name, ...words, '--yes']);
        expect([code, stderr.includes('nothing was sent')], stderr).toEqual([EXIT.usage, true]);
      }
      expect(writes(world)).toEqual([]);
      expect(await world.audit()).toEqual([]);
    },
  );

  test.each(['a pause', 'the kill switch'])('are held by %s', async (by) => {
    const { world, dlqIds } = await failedRuns(1);
    if (by === 'the kill switch') writeFileSync(join(world.folder, 'stop'), '');
    else {
      const headers = { authorization: 'Bearer operator-secret' };
      const body = JSON.stringify({ reason: 'a freeze' });
      await fetch(`${world.daemon.address}/api/v1/pause`, { method: 'POST', headers, body });
    }
    for (const words of [['label=billing'], [`dlqIds=${dlqIds[0]}`]]) {
      const { code, stderr } = await world.api(['resume-workflow-dlq', ...words, '--yes']);
      expect([code, stderr]).toEqual([
        EXIT.failed,
        expect.stringMatching(/the engine is paused: (?:a freeze|.*stop exists)/),
      ]);
    }
    expect(writes(world)).toEqual([]);
  });
});

describe('the typed name', () => {
  test.each([
    ['set-plan', ['plan_name=paid'], 'production'],
    ['move-to-team', ['target_team_id=t'], 'production'],
    ['update-budget', ['budget=50'], 'production'],
    ['set-plan', ['id=acc-2', 'plan_name=paid'], 'acc-2'],
  ] as const)('%s %j must be confirmed with %s', async (name, words, expected) => {
    const world = await operationsWorld();
    for (const confirm of [undefined, 'Production', '']) {
      const without = confirm === undefined ? [] : [`--confirm=${confirm}`];
      const { code, stderr } = await world.api([name, ...words, '--yes', ...without]);
      expect([code, stderr]).toEqual([
        EXIT.failed,
        expect.stringMatching(/must be confirmed with|confirm must be text/),
      ]);
    }
    expect(writes(world)).toEqual([]);
    expect(await world.audit()).toEqual([]);
    const { stderr } = await world.api([name, ...words], {
      answers: name === 'update-budget' ? ['y', expected] : [expected],
    });
    expect(stderr).toContain('Type the name to confirm: ');
    expect(writes(world)).toHaveLength(1);
  });

  test('of an index is read from the service', async () => {
    const world = await operationsWorld();
    const { indexIds } = await world.service.control.seed({ account: 'acc-1', indexes: [{ name: 'books' }] });
    const words = ['transfer-index', `id=${indexIds[0]}`, 'target_account=acc-2', '--yes'];
    const wrong = await world.api([...words, '--confirm=production']);
    expect([wrong.code, wrong.stderr]).toEqual([EXIT.failed, expect.stringContaining('the name of the index, books')]);
    expect(writes(world)).toEqual([]);
    expect((await world.api([...words, '--confirm=books'])).code).toBe(EXIT.ok);
  });
});

describe('update-budget', () => {
  const asserted = (ageMs: number): string =>
    `    budget: { knownUsd: 100, assertedOn: ${new Date(Date.now() - ageMs).toISOString().slice(0, 10)} }`;
  const known = { account: asserted(86_400_000) };

  test.each([
    ['a higher budget', 100, 200, 'operator'],
    ['the same budget', 100, 100, 'operator'],
    ['an unlimited budget', 100, 0, 'operator'],
    ['a lower budget', 100, 99, 'admin'],
    ['a budget instead of an unlimited one', 0, 10_000, 'admin'],
    ['a budget if the current one is unknown', undefined, 10_000, 'admin'],
  ] as const)('%s', async (_what, before, after, role) => {
    const account = before === undefined ? '' : known.account.replace('100', String(before));
    const world = await operationsWorld({ account });
    const plain = await world.post('operator', 'update-budget', { budget: after });
    expect(plain.status).toBe(role === 'operator' ? 200 : 403);
    if (role === 'operator') return;
    expect((await world.post('admin', 'update-budget', { budget: after })).status).toBe(409);
    expect(writes(world)).toEqual([]);
    expect((await world.post('admin', 'update-budget', { budget: after, confirm: 'production' })).status).toBe(200);
  });

  test.each([
    ['too old', asserted(60 * 86_400_000)],
    ['without a date', '    budget: { knownUsd: 100 }'],
  ])('a higher budget if the current one is %s: someone may have raised it elsewhere', async (_what, account) => {
    const world = await operationsWorld({ account });
    expect((await world.post('operator', 'update-budget', { budget: 200 })).status).toBe(403);
    expect((await world.post('admin', 'update-budget', { budget: 200 })).status).toBe(409);
    expect(writes(world)).toEqual([]);
  });

  test('is known to policies afterwards, and unknown after a lost response', async () => {
    const world = await operationsWorld(known);
    expect((await world.post('operator', 'update-budget', { budget: 500 })).status).toBe(200);
    // 300 is now lower than the known budget.
    expect((await world.post('operator', 'update-budget', { budget: 300 })).status).toBe(403);
    world.onAnswer(({ method }) => (method === 'PATCH' ? 'lose' : undefined));
    expect((await world.post('operator', 'update-budget', { budget: 600 })).status).toBe(502);
    world.onAnswer(() => undefined);
    expect((await world.post('operator', 'update-budget', { budget: 10_000 })).status).toBe(403);
  });
});

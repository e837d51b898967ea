/** Commands over HTTP: calls of the engine, permissions, and responses. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import { shownGroup } from '#automate/ledger/shown-group.ts';
import type { EngineCommands } from '#automate/ledger/commands.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { ApiToken } from '#operate/http/access.ts';
import { workflowTemplate } from '#observe/metrics/labels.ts';
import { tempDir } from '../../support/temp-dir.ts';
import {
  action,
  ask,
  engine,
  ledger,
  NOW,
  plan,
  RESUME_BILLING,
  serving,
  storedPlan,
  world,
  type Answer,
  type World,
} from './world.ts';

const GROUP = 'https://app.example.com/api/workflows/invoice?key=s3cret';

const POLICY: PolicyStatus = {
  ...RESUME_BILLING,
  campaigns: [
    {
      id: 'resume-billing/1',
      policy: 'resume-billing',
      account: 'production',
      group: GROUP,
      state: 'halted',
      step: 1,
      size: 1,
      begunAt: NOW - 600_000,
      until: NOW + 600_000,
      halts: 1,
      recent: [false, false, false],
      judged: 3,
      verified: 0,
      breaker: 'open',
    },
  ],
};

const RESULT = { outcome: 'acted', matched: 183, acted: 1, backlog: 182 } as const;

/** A daemon whose engine does everything that it is asked, with a record of the calls. */
function willing(overrides: Partial<World> = {}): { readonly deps: World; readonly asked: unknown[][] } {
  const asked: unknown[][] = [];
  const keep = <T>(command: string, answer: T, ...given: unknown[]): T => (asked.push([command, ...given]), answer);
  const commands: Partial<EngineCommands> = {
    plan: async (policy, request) => keep('plan', { ok: true, plan: plan({ policy }) }, policy, request),
    apply: async (id, person) =>
      keep('apply', { ok: true, plan: plan(), result: RESULT, stored: storedPlan({ state: 'applied' }) }, id, person),
    approve: async (id, person) =>
      keep('approve', { ok: true, plan: storedPlan({ state: 'approved', ...person }) }, id, person),
    reject: async (id, person) =>
      keep('reject', { ok: true, plan: storedPlan({ state: 'rejected', ...person }) }, id, person),
    explain: async (id) =>
      keep(
        'explain',
        {
          ok: true as const,
          id,
          policies: [{ policy: 'p', source: 's', verdict: 'chosen' as const }],
          actions: [action()],
        },
        id,
      ),
    pause: async (pause) => keep('pause', undefined, pause),
    unpause: async (lifted) => keep('unpause', 2, lifted),
  };
  const deps = world({ policies: async () => [POLICY], engine: engine(commands), ...overrides });
  return { deps, asked };
}

/** Sends a request over the unix socket. */
async function post(deps: World, path: string, body: unknown): Promise<Answer> {
  const { address } = await serving(deps, { socketPath: join(tempDir(), 's') });
  return ask(address, path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });
}

const answered = (answer: Answer): unknown => JSON.parse(answer.text);

/** Each command with a valid body. */
const COMMANDS = [
  ['plan', { policy: 'resume-billing' }, 'operator'],
  ['apply', { plan: '9f3c2a' }, 'operator'],
  ['approve', { plan: '9f3c2a' }, 'operator'],
  ['reject', { plan: '9f3c2a' }, 'operator'],
  ['explain', { id: 'dlq-8812' }, 'viewer'],
  ['pause', { reason: 'odd' }, 'operator'],
  ['unpause', { reason: 'looked' }, 'admin'],
  ['state/adopt', { reason: 'looked' }, 'admin'],
  ['state/reset-counter', { account: 'prod', metric: 'a_total', reason: 'looked' }, 'admin'],
] as const;

describe('over the unix socket', () => {
  test.each([
    ['alice', 'local (alice)'],
    ['DOM-1.bob@example', 'local (DOM-1.bob@example)'],
    ['', 'local'],
    ['eve) (admin', 'local'],
    ['a'.repeat(65), 'local'],
  ])('the Unix user that a command claims (%s) is recorded as %s', async (user, by) => {
    const { deps, asked } = willing();
    const { address } = await serving(deps, { socketPath: join(tempDir(), 's') });
    const headers = { 'Opsd-Local-User': user };
    await ask(address, '/api/v1/pause', { method: 'POST', body: JSON.stringify({ reason: 'odd' }), headers });
    expect(asked).toEqual([['pause', { reason: 'odd', by }]]);
  });

  test('plan calls the engine, with the overruled limits', async () => {
    const { deps, asked } = willing();
    const overrule = { settings: { 'limits.maxPerHour': '6000' }, reason: 'catch up' };
    const answer = await post(deps, '/api/v1/plan', { policy: 'resume-billing', keep: true, overrule });
    expect(answer.status).toBe(200);
    expect(answered(answer)).toEqual(plan());
    await post(deps, '/api/v1/plan', { policy: 'resume-billing' });
    expect(asked).toEqual([
      ['plan', 'resume-billing', { by: 'local', keep: true, overrule }],
      ['plan', 'resume-billing', { by: 'local', keep: false }],
    ]);
  });

  test('apply returns the plan and the outcome of its run', async () => {
    const { deps, asked } = willing();
    const answer = await post(deps, '/api/v1/apply', { plan: '9f3c2a', reason: ' looked ' });
    expect(answered(answer)).toEqual({ plan: plan(), result: RESULT });
    expect(asked).toEqual([['apply', '9f3c2a', { by: 'local', reason: 'looked' }]]);
  });

  test.each(['approve', 'reject'] as const)('%s returns the decided plan', async (command) => {
    const { deps, asked } = willing();
    const answer = await post(deps, `/api/v1/${command}`, { plan: '9f3c2a', reason: 'fine' });
    const state = command === 'approve' ? 'approved' : 'rejected';
    expect(answered(answer)).toMatchObject({ plan: { id: '9f3c2a', state, by: 'local', reason: 'fine', covers: 2 } });
    expect(asked).toEqual([[command, '9f3c2a', { by: 'local', reason: 'fine' }]]);
  });

  test("explain returns the policies' decisions and the actions", async () => {
    const { deps } = willing();
    expect(answered(await post(deps, '/api/v1/explain', { id: 'dlq-8812' }))).toEqual({
      id: 'dlq-8812',
      policies: [{ policy: 'p', source: 's', verdict: 'chosen' }],
      actions: [expect.objectContaining({ id: 1, target: 'dlq-8812', outcome: 'pending' })],
    });
  });

  test('without the store, the engine can be paused, and a policy cannot', async () => {
    const away = (): never => {
      throw new Error('disk I/O error');
    };
    const { deps, asked } = willing({ policies: away });
    expect(answered(await post(deps, '/api/v1/pause', { reason: 'odd' }))).toEqual({ paused: 'engine' });
    const one = await post(deps, '/api/v1/pause', { reason: 'odd', policy: 'resume-billing' });
    expect(one.status).toBe(503);
    expect(JSON.parse(one.text)).toMatchObject({ error: { code: 'store_unavailable' } });
    expect(asked).toEqual([['pause', { reason: 'odd', by: 'local' }]]);
  });

  test('pause stops the engine, or one existing policy', async () => {
    const { deps, asked } = willing();
    expect(answered(await post(deps, '/api/v1/pause', { reason: 'odd' }))).toEqual({ paused: 'engine' });
    const one = { reason: 'odd', policy: 'resume-billing' };
    expect(answered(await post(deps, '/api/v1/pause', one))).toEqual({ paused: 'policy/resume-billing' });
    const typo = await post(deps, '/api/v1/pause', { reason: 'odd', policy: 'resume-biling' });
    expect(typo.status).toBe(404);
    expect(answered(typo)).toMatchObject({
      error: {
        code: 'unknown_policy',
        message: 'There is no policy named resume-biling. Did you mean resume-billing? Policies: resume-billing.',
      },
    });
    expect(asked).toEqual([
      ['pause', { reason: 'odd', by: 'local' }],
      ['pause', { reason: 'odd', by: 'local', policy: 'resume-billing' }],
    ]);
  });

  test('unpause reports what still pauses', async () => {
    const stillPaused = async (policy?: string): Promise<string> => `${policy ?? 'engine'}: /etc/PAUSE exists`;
    const deps = world({ policies: async () => [POLICY], engine: engine({ stillPaused }) });
    const lifted = answered(await post(deps, '/api/v1/unpause', { reason: 'x', policy: 'resume-billing' }));
    expect(lifted).toEqual({ lifted: 0, stillPaused: 'resume-billing: /etc/PAUSE exists' });
  });

  test('unpause lifts all pauses, those of a policy, or those of a group by its shown name', async () => {
    const { deps, asked } = willing();
    const shown = GROUP.split('?')[0]!;
    expect(answered(await post(deps, '/api/v1/unpause', { reason: 'looked' }))).toEqual({ lifted: 2 });
    await post(deps, '/api/v1/unpause', { reason: 'looked', policy: 'resume-billing' });
    await post(deps, '/api/v1/unpause', { reason: 'looked', policy: 'resume-billing', group: shown });
    await post(deps, '/api/v1/unpause', { reason: 'looked', policy: 'resume-billing', group: GROUP });
    expect(asked.map(([, lifted]) => lifted)).toEqual([
      { reason: 'looked', by: 'local' },
      { reason: 'looked', by: 'local', policy: 'resume-billing' },
      { reason: 'looked', by: 'local', policy: 'resume-billing', group: GROUP },
      { reason: 'looked', by: 'local', policy: 'resume-billing', group: GROUP },
    ]);
    for (const form of [workflowTemplate(GROUP), shownGroup(GROUP)]) {
      await post(deps, '/api/v1/unpause', { reason: 'looked', policy: 'resume-billing', group: form });
      expect(asked.pop()).toMatchObject(['unpause', { group: GROUP }]);
    }
    const unknown = await post(deps, '/api/v1/unpause', { reason: 'x', policy: 'resume-billing', group: 'y' });
    expect(unknown.status).toBe(404);
    expect(unknown.text).not.toContain('s3cret');
    const lone = await post(deps, '/api/v1/unpause', { reason: 'x', group: shown });
    expect(lone.status).toBe(400);
    expect(asked).toHaveLength(4);
  });

  test.each([
    ['unknown_policy', 404],
    ['bad_override', 400],
    ['unknown_plan', 404],
    ['expired', 409],
    ['decided', 409],
    ['mode', 409],
  ] as const)('a rejection by the engine keeps its code: %s', async (code, status) => {
    const refusal = { ok: false, code, message: 'why not' } as const;
    const refuse = () => Promise.resolve(refusal);
    const deps = world({
      engine: engine({ plan: refuse, apply: refuse, approve: async () => refusal, reject: async () => refusal }),
    });
    for (const [command, body] of COMMANDS.slice(0, 4)) {
      const answer = await post(deps, `/api/v1/${command}`, body);
      expect(answer.status, command).toBe(status);
      expect(answered(answer), command).toEqual({ error: { code, message: 'why not' } });
    }
  });
});

describe('bodies are read strictly', () => {
  test.each([
    ['plan', 'policy', 'The body must be JSON: {"policy": "NAME"'],
    ['plan', '"x"', 'the body is not an object'],
    ['plan', '[]', 'the body is not an object'],
    ['plan', '{}', 'policy must be the name of a policy. The body must be: {"policy"'],
    ['plan', '{"policy": 1}', 'policy must be the name of a policy'],
    ['plan', '{"policy": ""}', 'policy must be the name of a policy'],
    ['plan', '{"policy": "p", "keep": "yes"}', 'keep must be true or false'],
    ['plan', '{"policy": "p", "sav": true}', 'unknown keys: sav'],
    [
      'plan',
      '{"policy": "p", "overrule": {"settings": {"limits.maxPerHour": "1"}}}',
      'overrule.reason must be a string',
    ],
    ['plan', '{"policy": "p", "overrule": {"settings": {}, "reason": "x"}}', 'overrule.settings must name a limit'],
    [
      'plan',
      '{"policy": "p", "overrule": {"settings": {"a": 1}, "reason": "x"}}',
      'overrule.settings.a must be a string, numbers as well',
    ],
    ['apply', '{}', 'plan must be the id of a plan'],
    ['approve', '{"plan": "x", "by": "somebody"}', 'unknown keys: by'],
    ['reject', '{"plan": null}', 'plan must be the id of a plan'],
    ['explain', '{"id": 7}', 'id must be a dlqId, or the id of a run'],
    ['pause', '{}', 'reason must be a string'],
    ['pause', '{"reason": "  "}', 'reason must not be empty'],
    ['unpause', `{"reason": "${'x'.repeat(501)}"}`, 'reason must have at most 500 characters'],
  ])('%s refuses %s', async (command, body, message) => {
    const { deps, asked } = willing();
    const answer = await post(deps, `/api/v1/${command}`, body);
    expect(answer.status).toBe(400);
    expect(answered(answer)).toEqual({
      error: { code: 'bad_request', message: expect.stringContaining(message) as string },
    });
    expect(asked).toEqual([]);
  });

  test('a long body is rejected, with announced and unannounced length', async () => {
    const { address } = await serving(willing().deps, { socketPath: join(tempDir(), 's') });
    const body = `{"plan": "${'x'.repeat(70_000)}"}`;
    expect((await ask(address, '/api/v1/apply', { method: 'POST', body })).status).toBe(413);
    const headers = { 'Transfer-Encoding': 'chunked' };
    const answer = await ask(address, '/api/v1/apply', { method: 'POST', headers, body });
    expect(answered(answer)).toMatchObject({ error: { code: 'too_large' } });
  });
});

describe('over TCP', () => {
  const tokens = (...roles: ApiToken['role'][]): ApiToken[] =>
    roles.map((role) => ({ name: `by-${role}`, role, token: Secret.of(`token-of-${role}`) }));

  test.each(COMMANDS)('with tokens %s needs its role', async (command, body, needs) => {
    const adopted: string[] = [];
    const state = {
      ...world().state,
      adopt: async (_reason: string, by: string) => (adopted.push(by), undefined),
      resetCounters: async ({ by }: { readonly by: string }) => (adopted.push(by), []),
    };
    const { deps, asked } = willing({ tokens: tokens('viewer', 'operator', 'admin'), state });
    const { address } = await serving(deps);
    const withToken = (token: string | undefined): Promise<Answer> =>
      ask(address, `/api/v1/${command}`, {
        method: 'POST',
        body: JSON.stringify(body),
        ...(token !== undefined && { headers: { Authorization: `Bearer ${token}` } }),
      });
    const roles = ['viewer', 'operator', 'admin'] as const;
    for (const token of [undefined, 'token-of-nobody', '', 'token-of-admi']) {
      const answer = await withToken(token);
      expect(answer.status, token).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer realm="opsd"');
      expect(answered(answer)).toMatchObject({ error: { code: 'unauthorized' } });
    }
    for (const role of roles.slice(0, roles.indexOf(needs))) {
      const answer = await withToken(`token-of-${role}`);
      expect(answer.status, role).toBe(403);
      expect(answered(answer)).toMatchObject({ error: { code: 'forbidden' } });
    }
    expect([...asked, ...adopted]).toEqual([]);
    const allowed = roles.slice(roles.indexOf(needs));
    for (const role of allowed) expect((await withToken(`token-of-${role}`)).status, role).toBe(200);
    expect(asked.length + adopted.length).toBe(allowed.length);
    if (command !== 'explain') expect(JSON.stringify([asked, adopted])).toContain(`by-${needs}`);
  });

  test("backup requires the daemon's machine", async () => {
    const { deps } = willing({ tokens: tokens('admin') });
    const { address } = await serving(deps);
    const headers = { Authorization: 'Bearer token-of-admin' };
    const answer = await ask(address, '/api/v1/state/backup', { method: 'POST', headers, body: '{"file": "/x"}' });
    expect(answer.status).toBe(403);
  });

  test('reads stay open, but not for a wrong token', async () => {
    const { deps } = willing({ tokens: tokens('viewer') });
    const { address } = await serving(deps);
    expect((await ask(address, '/api/v1/policies')).status).toBe(200);
    const headers = { Authorization: 'Bearer wrong' };
    expect((await ask(address, '/api/v1/policies', { headers })).status).toBe(401);
    expect((await ask(address, '/metrics', { headers })).status).toBe(200);
  });

  test('a token applies from the change of its file, and a shared one has the lower role', async () => {
    const file = join(tempDir(), 'token');
    writeFileSync(file, 'first\nsecond\n');
    const viewer: ApiToken = { name: 'v', role: 'viewer', token: Secret.of('second') };
    const gone: ApiToken = { name: 'g', role: 'admin', token: Secret.fromFile(join(tempDir(), 'missing')) };
    const operator: ApiToken = { name: 'o', role: 'operator', token: Secret.fromFile(file) };
    const { deps } = willing({ tokens: [gone, operator, viewer] });
    const { address } = await serving(deps);
    const pause = async (token: string): Promise<number> => {
      const headers = { Authorization: `Bearer ${token}` };
      return (await ask(address, '/api/v1/pause', { method: 'POST', headers, body: '{"reason": "x"}' })).status;
    };
    expect([await pause('first'), await pause('second'), await pause('third')]).toEqual([200, 403, 401]);
    writeFileSync(file, 'a third one\nthird\n');
    expect([await pause('first'), await pause('third')]).toEqual([401, 200]);
  });
});

describe('kept records are readable', () => {
  const stored = storedPlan({ plan: plan({ notes: [`see ${GROUP}`] }) });
  const run = {
    id: 4,
    policy: 'resume-billing',
    account: 'production',
    planId: '9f3c2a',
    trigger: { kind: 'alert', name: 'Down', key: 'k' },
    at: NOW,
    matched: 1,
    acted: 0,
    backlog: 1,
  } as const;
  const asked: unknown[] = [];
  const deps = (): World =>
    world({
      policies: async () => [POLICY],
      engine: engine({
        conditions: () => [
          { key: 'approval/p', severity: 'warning', summary: `waits for ${GROUP}`, detail: 'd', since: NOW - 1 },
          { key: 'halted/p/g', severity: 'critical', summary: 's', detail: 'd', since: NOW },
        ],
      }),
      ledger: ledger({
        pauses: async () => [{ scope: 'policy/p', reason: 'odd', at: NOW, by: 'local' }],
        storedPlans: async (states) => (asked.push(states), [stored, storedPlan({ plan: plan({ policy: 'other' }) })]),
        storedPlan: async (id) => (id === '9f3c2a' ? stored : undefined),
        runs: async (filter) => (asked.push(filter), [run]),
        action: async (id) => (id === 1 ? action() : undefined),
      }),
    });

  async function get(path: string): Promise<unknown> {
    const { address } = await serving(deps());
    const answer = await ask(address, path);
    expect(answer.text).not.toContain('s3cret');
    return answered(answer);
  }

  test('conditions and pauses, the worst first', async () => {
    expect(await get('/api/v1/conditions')).toMatchObject({
      at: NOW,
      conditions: [{ key: 'halted/p/g' }, { key: 'approval/p' }],
      pauses: [{ scope: 'policy/p', reason: 'odd', by: 'local' }],
    });
  });

  test('plans by state and policy, and one by its id', async () => {
    asked.length = 0;
    expect(await get('/api/v1/plans')).toMatchObject({ plans: [{ id: '9f3c2a', state: 'pending', covers: 2 }, {}] });
    expect(await get('/api/v1/plans?state=applied&state=expired&policy=other')).toMatchObject({
      plans: [{ policy: 'other' }],
    });
    expect(asked).toEqual([
      ['draft', 'pending', 'approved'],
      ['applied', 'expired'],
    ]);
    expect(await get('/api/v1/plans?state=done')).toMatchObject({ error: { code: 'bad_request' } });
    expect(await get('/api/v1/plans/9f3c2a')).toMatchObject({
      plan: { id: '9f3c2a', plan: { chosen: [{ dlqId: 'dlq-8812' }] }, targets: ['dlq-8812', 'dlq-8813'] },
    });
    expect(await get('/api/v1/plans/abc')).toMatchObject({ error: { code: 'unknown_plan' } });
  });

  test('runs of all policies, or of one', async () => {
    asked.length = 0;
    expect(await get('/api/v1/runs?policy=resume-billing&limit=3')).toMatchObject({
      runs: [{ id: 4, planId: '9f3c2a', trigger: 'alert', outcome: 'running' }],
    });
    expect(asked).toEqual([{ limit: 3, policy: 'resume-billing' }]);
  });

  test('one action by its number', async () => {
    expect(await get('/api/v1/actions/1')).toMatchObject({
      action: { id: 1, target: 'dlq-8812', proposal: { lineage: 'l1' } },
    });
    for (const id of ['2', 'x', '1e0', '-1']) {
      expect(await get(`/api/v1/actions/${id}`)).toMatchObject({ error: { code: 'not_found' } });
    }
  });

  test('queries of URLs are never shown', async () => {
    expect(await get('/api/v1/policies/resume-billing')).toMatchObject({
      policy: { campaigns: [{ group: GROUP.split('?')[0] }] },
    });
    await get('/api/v1/status');
    const { address } = await serving(deps());
    expect((await ask(address, '/')).text).not.toContain('s3cret');
  });
});

test.each(['a\u0000b', '\u007F', 'a\nb', ''])('explain of %j is the caller’s error', async (id) => {
  const explain = vi.fn<EngineCommands['explain']>();
  const answer = await post(world({ engine: engine({ explain }) }), '/api/v1/explain', { id });
  expect(answer.status).toBe(400);
  expect(explain).not.toHaveBeenCalled();
});

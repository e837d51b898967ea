/** Manual plans over HTTP: the selection, its cancellation, and its progress. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { EngineCommands } from '#automate/ledger/commands.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { action, ask, engine, ledger, NOW, plan, proposal, serving, storedPlan, world, type World } from './world.ts';

const MANUAL = { by: 'ann', reason: 'outage over', selection: { action: 'resume', label: ['billing'] } } as const;
const SHOWN = plan({ policy: 'manual:9f3c2a', manual: MANUAL });

function asking(over: Partial<World> = {}) {
  const asked: unknown[] = [];
  const commands: Partial<EngineCommands> = {
    planManually: async (request) => (asked.push(request), { ok: true, plan: SHOWN }),
    cancel: async (id, person) => (
      asked.push([id, person]),
      { ok: true, plan: storedPlan({ plan: SHOWN, state: 'cancelled' }) }
    ),
    pause: async (pause) => void asked.push(pause),
  };
  return { deps: world({ engine: engine(commands), ...over }), asked };
}

async function call(deps: World, path: string, body?: unknown) {
  const { address } = await serving(deps, { socketPath: join(tempDir(), 's') });
  const post = { method: 'POST', body: JSON.stringify(body) };
  const { status, text } = await ask(address, path, body === undefined ? {} : post);
  return { status, body: JSON.parse(text) as Record<string, unknown> };
}

test('a selection becomes a plan; one text is a list of one', async () => {
  const { deps, asked } = asking();
  const selection = { action: 'resume', label: 'billing', workflowUrl: ['https://a.example.com'], fromDate: 5 };
  const overrule = { settings: { 'ramp.start': '5' } };
  const answer = await call(deps, '/api/v1/plan', {
    selection,
    account: 'production',
    reason: ' outage over ',
    overrule,
  });
  expect(answer).toMatchObject({ status: 200, body: { id: '9f3c2a', manual: MANUAL } });
  expect(asked).toEqual([
    {
      by: 'local',
      reason: 'outage over',
      selection: { ...selection, label: ['billing'], account: 'production' },
      overrule: overrule.settings,
    },
  ]);
});

test.each([
  ['no filter', { action: 'delete' }, 'no id and no filter'],
  ['only times', { action: 'delete', fromDate: 1, toDate: 2 }, 'no id and no filter'],
  ['an empty list', { action: 'delete', label: [] }, 'label is empty'],
  ['an empty list of ids', { action: 'delete-messages', ids: [] }, 'ids is empty'],
  ['only an account', { action: 'resume', account: 'production' }, 'no id and no filter'],
  ['only a queue', { action: 'resume', queue: 'workflow' }, 'no id and no filter'],
  ['a cursor as its filter', { action: 'resume', cursor: 'x' }, 'unknown keys: cursor'],
  ['a count as its filter', { action: 'resume', count: 5 }, 'unknown keys: count'],
  ['no action', { label: 'a' }, 'selection.action must be one of'],
  ['a prune without toDate', { action: 'prune', label: 'a' }, 'a prune needs toDate'],
  ['no object', [], 'selection'],
])('a selection with %s is refused before the engine', async (_what, selection, why) => {
  const { deps, asked } = asking();
  const { status, body } = await call(deps, '/api/v1/plan', { selection, reason: 'go' });
  expect(status).toBe(400);
  expect(JSON.stringify(body)).toContain(why);
  expect(asked).toEqual([]);
});

test('a selection needs a reason, and only one account', async () => {
  const { deps, asked } = asking();
  const selection = { action: 'resume', label: 'a', account: 'one' };
  expect(await call(deps, '/api/v1/plan', { selection })).toMatchObject({ status: 400 });
  expect(await call(deps, '/api/v1/plan', { selection, reason: 'go', account: 'two' })).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_selection', message: 'The selection is of account one, not of two.' } },
  });
  expect(asked).toEqual([]);
});

test('cancel needs a reason and returns the plan', async () => {
  const { deps, asked } = asking();
  expect(await call(deps, '/api/v1/cancel', { plan: '9f3c2a' })).toMatchObject({ status: 400 });
  const answer = await call(deps, '/api/v1/cancel', { plan: '9f3c2a', reason: 'wrong label' });
  expect(answer).toMatchObject({
    status: 200,
    body: { plan: { state: 'cancelled', origin: 'manual', madeBy: 'ann' } },
  });
  expect(asked).toEqual([['9f3c2a', { by: 'local', reason: 'wrong label' }]]);
});

test('only a manual plan in progress can be paused', async () => {
  const draft = storedPlan({ plan: SHOWN, state: 'draft' });
  const state = (of: 'draft' | 'approved') => ({
    ledger: ledger({ storedPlan: async () => ({ ...draft, state: of }) }),
  });
  const pause = { reason: 'odd', policy: 'manual:9f3c2a' };
  expect(await call(asking(state('draft')).deps, '/api/v1/pause', pause)).toMatchObject({ status: 404 });
  expect(await call(asking(state('approved')).deps, '/api/v1/pause', pause)).toMatchObject({
    status: 200,
    body: { paused: 'policy/manual:9f3c2a' },
  });
});

const group = 'https://app.example.com/invoice';
const resume = (target: string) => proposal({ policy: 'manual:9f3c2a', target, dlqId: target, group });
const CAMPAIGN: Campaign = {
  id: 'manual:9f3c2a/1',
  policy: 'manual:9f3c2a',
  account: 'production',
  group,
  state: 'settling',
  step: 2,
  size: 3,
  begunAt: NOW,
  until: NOW + 60_000,
  halts: 0,
  recent: [true],
  judged: 1,
  verified: 1,
};

test('a plan shows its progress: counts, what is left, and until when it settles', async () => {
  const stored = storedPlan({ plan: SHOWN, state: 'approved', targets: ['a', 'b', 'c', 'd', 'e', 'f'] });
  const actions = [
    action({ id: 1, proposal: resume('a'), outcome: 'verified' }),
    action({ id: 2, proposal: resume('b'), outcome: 'failed_again' }),
    action({ id: 3, proposal: resume('c'), outcome: 'unknown' }),
    action({ id: 4, proposal: resume('d'), outcome: 'rejected' }),
    action({ id: 5, proposal: resume('e'), outcome: 'accepted' }),
  ];
  const over = { storedPlan: async () => stored, actionsOf: async () => actions, campaigns: async () => [CAMPAIGN] };
  const { body } = await call(asking({ ledger: ledger(over) }).deps, '/api/v1/plans/9f3c2a');
  const counts = { sent: 4, verified: 1, failedAgain: 1, rejected: 1, unknown: 1 };
  expect(body['plan']).toMatchObject({
    origin: 'manual',
    madeBy: 'ann',
    madeFor: 'outage over',
    progress: {
      state: 'settling',
      ...counts,
      left: 2,
      step: 2,
      settlesAt: NOW + 60_000,
      campaigns: [{ group, state: 'settling', step: 2, ...counts, until: NOW + 60_000 }],
      finished: false,
    },
  });
});

test.each([
  ['applied', 'verified', { state: 'finished', finished: true }],
  ['applied', 'accepted', { state: 'settling', finished: false }],
  ['cancelled', 'verified', { state: 'cancelled', finished: true }],
  ['cancelled', 'unknown', { state: 'cancelled', finished: false }],
  ['approved', 'verified', { state: 'running', finished: false }],
  ['draft', undefined, { state: 'draft', finished: false }],
] as const)('a plan that is %s with an outcome %s', async (state, outcome, progress) => {
  const stored = storedPlan({ plan: SHOWN, state, targets: ['a'] });
  const actions = outcome === undefined ? [] : [action({ proposal: resume('a'), outcome })];
  const { deps } = asking({ ledger: ledger({ storedPlan: async () => stored, actionsOf: async () => actions }) });
  expect((await call(deps, '/api/v1/plans/9f3c2a')).body['plan']).toMatchObject({ progress });
});

test('a paused or held plan says why', async () => {
  const stored = storedPlan({ plan: SHOWN, state: 'approved', targets: ['a'] });
  const pauses = async () => [{ scope: 'policy/manual:9f3c2a', reason: 'odd', at: NOW, by: 'tom' }];
  const paused = asking({ ledger: ledger({ storedPlan: async () => stored, pauses }) });
  expect((await call(paused.deps, '/api/v1/plans/9f3c2a')).body['plan']).toMatchObject({
    progress: { state: 'paused', held: { guard: 'kill_switch', reason: 'odd' }, left: 1 },
  });
  const condition = {
    key: 'held/manual:9f3c2a',
    guard: 'destination',
    detail: 'is down',
    summary: '',
    severity: 'info',
  };
  const conditions = () => [{ ...condition, since: NOW } as const] as ReturnType<EngineCommands['conditions']>;
  const held = { engine: engine({ conditions }), ledger: ledger({ storedPlan: async () => stored }) };
  expect((await call(asking(held).deps, '/api/v1/plans/9f3c2a')).body['plan']).toMatchObject({
    progress: { state: 'held', held: { guard: 'destination', reason: 'is down' } },
  });
});

describe('a plan of a policy', () => {
  const approved = {
    state: 'approved',
    approvedBy: 'tom',
    approvedAt: NOW - 60_000,
    targets: ['a', 'b', 'c'],
  } as const;

  async function shown(change: Parameters<typeof storedPlan>[0]) {
    const asked: unknown[] = [];
    const actionsOf = async (...of: readonly unknown[]) => {
      asked.push(of);
      return [action({ id: 1, proposal: resume('a'), outcome: 'verified' })];
    };
    const { deps } = asking({ ledger: ledger({ storedPlan: async () => storedPlan(change), actionsOf }) });
    return { asked, plan: (await call(deps, '/api/v1/plans/9f3c2a')).body['plan'] };
  }

  test.each([
    [approved, { state: 'running', finished: false }, { from: NOW - 60_000, to: Number.MAX_SAFE_INTEGER }],
    [
      { ...approved, state: 'applied', by: 'engine', decidedAt: NOW },
      { state: 'finished', finished: true },
      { from: NOW - 60_000, to: Number.MAX_SAFE_INTEGER },
    ],
    [
      { ...approved, state: 'rejected', by: 'eve', decidedAt: NOW },
      { state: 'rejected', finished: true },
      { from: NOW - 60_000, to: NOW },
    ],
  ] as const)('has the progress of its entries since its approval: %j', async (change, progress, period) => {
    const { asked, plan } = await shown(change);
    expect(plan).toMatchObject({ origin: 'policy', progress: { ...progress, sent: 1, verified: 1, left: 2 } });
    expect(asked).toEqual([['resume-billing', { plan: '9f3c2a', targets: ['a', 'b', 'c'], ...period }]]);
  });

  test.each(['draft', 'pending', 'rejected'] as const)('that is %s and was never approved has none', async (state) => {
    const { asked, plan } = await shown({ state, decidedAt: NOW });
    expect(plan).not.toHaveProperty('progress');
    expect(asked).toEqual([]);
  });
});

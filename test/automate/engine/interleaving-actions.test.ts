/** Events between the decision about an action, its intent, its request, and its outcome. */
import { expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { heldBack, heldResults } from '../../support/held-back.ts';
import { policyOf as policyOfType } from '../../support/policies.ts';
import { HOUR, MINUTE, NEVER, policyOf, run, sentIds, SETTLE, START, world, type World, ran } from './world.ts';

const KIM = { reason: 'release night', by: 'kim' };
const POLICY = 'resume-billing';

test('a pause between the guards and the intent keeps the request from being sent', async () => {
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'reserve');
  const w = world({ ledger, entries: 1 });
  const ended = run(w);
  await expect.poll(() => waiting.length).toBe(1);
  await w.engine.pause({ ...KIM, policy: POLICY });
  release();
  await ended;
  expect(sentIds(w)).toEqual([]);
  expect(await w.ledger.openActions()).toEqual([]);
  const reason =
    'release night; nothing is sent during a pause; `opsd unpause --policy resume-billing --reason TEXT` lifts it';
  expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'kill_switch', reason } });
});

test.each(['a stop', 'a pause that cannot be stored'])(
  '%s while the intent is stored keeps the request from being sent, and releases the entry',
  async (what) => {
    const stopping = new AbortController();
    const { port, waiting, release } = heldBack(memoryLedger(), 'reserve');
    const { port: ledger, waiting: pausing } = heldBack(port, 'pause');
    const w = world({ ledger });
    const { dlqId } = w.dlq.add();
    const ended = run(w, stopping.signal);
    await expect.poll(() => waiting.length).toBe(1);
    if (what === 'a stop') stopping.abort(new Error('the daemon stops'));
    else {
      const paused = w.engine.pause(KIM);
      pausing[0]!.fail(new Error('disk full'));
      await paused;
    }
    release();
    await ended;
    expect(sentIds(w)).toEqual([]);
    expect(await w.ledger.recentActions(9)).toMatchObject([{ outcome: 'confirmed_not_applied' }]);
    expect((await w.ledger.recentActions(9))[0]!.detail).toMatch(/^not sent: (?:the daemon stops|release night)/);
    expect((await w.ledger.claims('production', [dlqId])).size).toBe(0);
    expect(await w.ledger.used([{ scope: {}, since: 0 }])).toEqual([0]);
  },
);

test('of two policies that resume one run through two entries at the same time, one does', async () => {
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'reserve');
  const select = (label: string) => ({ resource: 'workflow-dlq', anyLabel: [label] });
  const policies = ['a', 'b'].map((name) => policyOf({ name, select: select(name) }));
  const w = world({ ledger, policies });
  for (const label of ['a', 'b']) w.dlq.add({ labels: [label], workflowRunId: 'wfr-same' });
  const ended = Promise.all(['a', 'b'].map((name) => run(w, NEVER, name)));
  await expect.poll(() => waiting.length).toBe(2);
  release();
  await ended;
  expect(sentIds(w)).toHaveLength(1);
  const details = (await w.ledger.lastRuns()).map(({ detail }) => detail);
  expect(new Set(details)).toEqual(new Set(['1 acted', '1 skipped']));
});

function raisePolicy(name: string) {
  return policyOfType('budget.raise', { name, account: 'production', mode: 'enforce' });
}

function knowBudget(w: World): void {
  const known = { knownUsd: 100, origin: 'configuration', assertedAt: START, maxAgeMs: 24 * HOUR } as const;
  const spend = { monthUsd: 90, last24hUsd: 5, medianDayUsd: 4, hoursLeft: 10, fresh: true };
  w.facts = { budget: () => ({ spend: { ...spend, at: w.clock.now() }, known }) };
}

test('of two policies that raise one budget at the same time, one does', async () => {
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'reserve');
  const w = world({ ledger, policies: ['a', 'b'].map(raisePolicy) });
  knowBudget(w);
  for (const name of ['a', 'b']) await run(w, NEVER, name);
  await w.clock.advance(20 * MINUTE);
  const ended = Promise.all(['a', 'b'].map((name) => run(w, NEVER, name)));
  await expect.poll(() => waiting.length).toBe(2);
  release();
  await ended;
  expect(w.dlq.budgets).toHaveLength(1);
});

test('a lost raise is not repeated if an operator sets the budget while its guards are checked', async () => {
  let isSettling = false;
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'leaseLost', () => isSettling);
  const w = world({ ledger, policies: [raisePolicy('a')] });
  knowBudget(w);
  w.dlq.answers = ['lost'];
  await run(w, NEVER, 'a');
  await w.clock.advance(20 * MINUTE);
  await run(w, NEVER, 'a');
  expect(w.dlq.budgets).toHaveLength(1);
  await w.clock.advance(SETTLE);
  isSettling = true;
  const settled = w.engine.settle(NEVER);
  await expect.poll(() => waiting.length).toBe(1);
  const begun = { operation: 'update-budget', account: 'production', keys: [], by: 'kim', at: w.clock.now() };
  await w.ledger.beginOperation({ ...begun, budget: { fromUsd: 100, toUsd: 900 } });
  release();
  await settled;
  expect(w.dlq.budgets).toHaveLength(1);
  expect(await w.ledger.recentActions(9)).toMatchObject([
    { outcome: 'unresolvable', detail: 'a later change replaced it' },
  ]);
});

test('settling does not give up an action between its intent and its request', async () => {
  const { port: ledger, waiting, release } = heldResults(memoryLedger(), 'reserve', () => true);
  const w = world({ ledger, entries: 1 });
  const ended = run(w);
  await expect.poll(() => waiting.length).toBe(1);
  await w.engine.settle(NEVER);
  expect(await w.ledger.openActions()).toHaveLength(1);
  expect((await w.ledger.openActions())[0]).not.toHaveProperty('outcome', expect.anything());
  release();
  await ended;
  expect(await w.ledger.recentActions(9)).toMatchObject([{ outcome: 'accepted' }]);
});

test('settling does not replace an outcome that is recorded while it reads the open actions', async () => {
  let isSettling = false;
  const { port: ledger, waiting, release } = heldResults(memoryLedger(), 'openActions', () => isSettling);
  const w = world({ ledger, entries: 1 });
  const answered = Promise.withResolvers<void>();
  w.dlq.onResume = () => answered.promise;
  const ended = run(w);
  await expect.poll(async () => (await w.ledger.openActions()).length).toBe(1);
  isSettling = true;
  const settled = w.engine.settle(NEVER);
  await expect.poll(() => waiting.length).toBe(1);
  answered.resolve();
  await ended;
  release();
  await settled;
  expect(await w.ledger.recentActions(9)).toMatchObject([{ outcome: 'accepted' }]);
  expect(w.events.flatMap((event) => (event.type === 'action.outcome' ? [event.outcome] : []))).toEqual(['accepted']);
});

test('a campaign that changes between the plan and its step sends nothing', async () => {
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'beginRun', () => w.dlq.sent.length === 1);
  const w: World = world({ ledger, guards: GUARDS });
  const { workflowUrl: group } = w.dlq.add();
  w.dlq.add();
  await run(w);
  await w.clock.advance(HOUR);
  w.dlq.entries.delete(sentIds(w)[0]!);
  await w.engine.settle(NEVER);
  expect((await w.ledger.campaigns())[0]).toMatchObject({ state: 'ready', step: 2 });
  const ended = run(w);
  await expect.poll(() => waiting.length).toBe(1);
  const until = w.clock.now() + HOUR;
  const of = { policy: POLICY, account: 'production', group };
  await w.ledger.changeCampaign(of, (campaign) => campaign && { ...campaign, state: 'halted', halts: 1, until });
  release();
  await ended;
  expect(sentIds(w)).toHaveLength(1);
  expect((await w.ledger.campaigns())[0]).toMatchObject({ state: 'halted', until });
});

test('a step that begins while the campaign is judged is judged only after its last request', async () => {
  let isJudging = false;
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'changeCampaign', () => isJudging);
  const w = world({ ledger, guards: GUARDS, policy: { ramp: { start: 3 } }, entries: 2 });
  w.dlq.onResume = () => new Promise<never>(() => undefined);
  void run(w);
  await expect.poll(async () => (await w.ledger.openActions()).length).toBe(1);
  // The process ends during the first request of the step.
  w.restart();
  const answered = Promise.withResolvers<void>();
  w.dlq.onResume = () => answered.promise;
  isJudging = true;
  const settled = w.engine.settle(NEVER);
  await expect.poll(() => waiting.length).toBe(1);
  isJudging = false;
  const ended = run(w);
  await expect.poll(async () => (await w.ledger.openActions()).length).toBe(2);
  release();
  await settled;
  expect((await w.ledger.campaigns())[0]).toMatchObject({ state: 'ready', step: 1 });
  answered.resolve();
  await ended;
  expect((await w.ledger.campaigns())[0]).toMatchObject({ state: 'settling', step: 1 });
});

test('a halt that is lifted while it is announced leaves no condition', async () => {
  let isJudging = false;
  const { port: ledger, waiting, release } = heldResults(memoryLedger(), 'changeCampaign', () => isJudging);
  const w = await ran({ ledger, guards: GUARDS, entries: 1 });
  await w.clock.advance(HOUR);
  w.dlq.entries.delete(sentIds(w)[0]!);
  w.dlq.failAgain(0);
  isJudging = true;
  const settled = w.engine.settle(NEVER);
  await expect.poll(() => waiting.length).toBe(1);
  expect((await w.ledger.campaigns())[0]).toMatchObject({ state: 'halted' });
  isJudging = false;
  const lifted = w.engine.unpause({ ...KIM, policy: POLICY });
  // Without a turn, the halt would be lifted now, before its condition is raised.
  for (let n = 0; n < 100; n++) await Promise.resolve();
  release();
  await settled;
  expect(await lifted).toBe(1);
  expect((await w.ledger.campaigns())[0]).toMatchObject({ state: 'ready' });
  expect(w.engine.conditions().map(({ key }) => key)).not.toContainEqual(expect.stringMatching(/^halted\//));
});

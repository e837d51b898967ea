/** Events while the engine waits for the store. */
import { expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { heldBack, heldResults } from '../../support/held-back.ts';
import { policyOf as policyOfType } from '../../support/policies.ts';
import { HOUR, NEVER, policyOf, run, sentIds, world, type World, pendingPlans, storedPlan, ran } from './world.ts';

const KIM = { reason: 'release night', by: 'kim' };

test('a pause that cannot be stored, because its engine was replaced in the meantime, holds the next engine', async () => {
  const { port: ledger, waiting } = heldBack(memoryLedger(), 'pause');
  const w = world({ ledger });
  const paused = w.engine.pause(KIM);
  w.restart({ unwrittenPauses: w.engine.unwrittenPauses() });
  waiting[0]!.fail(new Error('disk full'));
  await paused;
  w.dlq.add();
  await run(w);
  expect(sentIds(w)).toEqual([]);
  expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'kill_switch' } });
  expect(await w.engine.unpause(KIM)).toBe(1);
});

/** Stops work while the ledger holds it back, and then lets it continue. */
async function stopDuring(
  { waiting, release }: Pick<ReturnType<typeof heldBack>, 'waiting' | 'release'>,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const stopping = new AbortController();
  const ended = work(stopping.signal);
  await expect.poll(() => waiting.length).toBe(1);
  stopping.abort(new Error('the daemon stops'));
  release();
  await ended;
}

test('a stop during the reading of the pauses keeps the next request from being sent', async () => {
  const held = heldBack(memoryLedger(), 'pauses', () => w.dlq.sent.length === 1);
  const w = world({ ledger: held.port, entries: 2 });
  await stopDuring(held, (signal) => run(w, signal));
  expect(sentIds(w)).toHaveLength(1);
  expect(w.lastRun()).toMatchObject({ outcome: 'halted', stopped: { guard: 'interrupted' } });
});

test('a run whose turn comes after a stop does not take place', async () => {
  const stopping = new AbortController();
  let reads = 0;
  const counted = heldBack(memoryLedger(), 'pauses', () => {
    reads += 1;
    return false;
  });
  const { port: ledger, waiting, release } = heldBack(counted.port, 'finishRun');
  const w = world({ ledger, entries: 1 });
  const runs = Array.from({ length: 3 }, () => run(w, stopping.signal));
  await expect.poll(() => waiting.length).toBe(1);
  stopping.abort(new Error('the daemon stops'));
  reads = 0;
  release();
  await Promise.all(runs);
  expect(waiting).toHaveLength(1);
  expect(reads).toBe(0);
  expect(w.events.filter(({ type }) => type === 'policy.run')).toHaveLength(1);
});

test('a run that is stopped during its decision does not take place', async () => {
  const held = heldBack(memoryLedger(), 'campaigns');
  const w = world({ ledger: held.port, entries: 1 });
  await stopDuring(held, (signal) => run(w, signal));
  expect(w.events.filter(({ type }) => type === 'policy.run')).toEqual([]);
  expect(await w.ledger.lastRuns()).toEqual([]);
});

test.each([
  { resumed: 2, outcomes: ['accepted', 'verified'], what: 'the next action' },
  { resumed: 1, outcomes: ['verified'], what: 'the campaigns' },
])('settling ends after a stop, before it judges $what', async ({ resumed, outcomes }) => {
  let isHeld = false;
  const held = heldBack(memoryLedger(), 'recordOutcome', () => isHeld);
  const w = world({
    ledger: held.port,
    guards: GUARDS,
    policy: { action: { type: 'workflow-dlq.resume', retries: 0 }, ramp: { start: 2 } },
  });
  for (let n = 0; n < resumed; n += 1) w.dlq.add();
  await run(w);
  await w.clock.advance(HOUR);
  isHeld = true;
  await stopDuring(held, (signal) => w.engine.settle(signal));
  expect((await w.ledger.recentActions(5)).map(({ outcome }) => outcome)).toEqual(outcomes);
  expect(w.events.filter(({ type }) => type === 'campaign.changed')).toEqual([]);
  await w.engine.settle(NEVER);
  expect(w.events.filter(({ type }) => type === 'campaign.changed')).not.toEqual([]);
});

test('settling reads nothing about an account after a stop', async () => {
  let reads = 0;
  const { port: ledger } = heldBack(memoryLedger(), 'resumes', () => {
    reads += 1;
    return false;
  });
  const w = await ran({ ledger, entries: 1 });
  reads = 0;
  await w.engine.settle(AbortSignal.abort(new Error('the daemon stops')));
  expect(reads).toBe(0);
  await w.engine.settle(NEVER);
  expect(reads).toBeGreaterThan(0);
});

test('the statuses of all policies read the pauses once', async () => {
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'pauses');
  const w = world({ ledger, policies: ['a', 'b', 'c'].map((name) => policyOf({ name })) });
  const statuses = w.engine.statuses(ledger);
  expect(waiting).toHaveLength(1);
  release();
  expect(await statuses).toHaveLength(3);
  expect(waiting).toHaveLength(1);
});

test('a pause of a manual plan that is approved during a review is not lifted by the review', async () => {
  const { port: ledger, waiting, release } = heldResults(memoryLedger(), 'view', () => isReviewing);
  let isReviewing = false;
  const w = world({ ledger, policies: [], entries: 1 });
  const selection = { action: 'resume', label: ['billing'] } as const;
  const made = await w.engine.planManually({ by: 'ann', reason: 'outage over', selection }, NEVER);
  if (!made.ok) throw new Error(made.message);
  await w.engine.pause({ ...KIM, policy: made.plan.policy });
  isReviewing = true;
  const settled = w.engine.settle(NEVER);
  await expect.poll(() => waiting.length).toBe(1);
  const approved = w.engine.approve(made.plan.id!, KIM);
  await expect.poll(async () => (await storedPlan(w, made.plan.id!))?.state).toBe('approved');
  release();
  await Promise.all([settled, approved]);
  expect(sentIds(w)).toEqual([]);
  expect(await w.ledger.pauses()).toMatchObject([{ scope: `policy/${made.plan.policy}` }]);
});

async function pendingIds(w: World): Promise<readonly string[]> {
  return (await pendingPlans(w)).map(({ plan }) => plan.id);
}

test('of operators who decide on a plan at the same time, a rejection counts, and all get the decision', async () => {
  let isHeld = false;
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'decidePlan', () => isHeld);
  const w = await ran({ ledger, policies: [policyOf({ mode: 'approve' })], entries: 1 });
  const [id] = await pendingIds(w);
  isHeld = true;
  const decided = [w.engine.approve(id!, KIM), w.engine.reject(id!, { by: 'tom' }), w.engine.apply(id!, KIM, NEVER)];
  await expect.poll(() => waiting.length).toBe(3);
  release();
  // The reason of the approval is not that of the rejection.
  const message = `Plan ${id} is rejected by tom.`;
  expect(await Promise.all(decided)).toMatchObject([
    { ok: true, plan: { state: 'rejected', by: 'tom' } },
    { ok: true, plan: { state: 'rejected', by: 'tom' } },
    { ok: false, code: 'decided', message },
  ]);
  expect(w.dlq.sent).toEqual([]);
});

test('a plan that a pause holds while it is applied is not decided', async () => {
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'beginRun');
  const w = world({ ledger, policies: [policyOf({ mode: 'approve' })], entries: 1 });
  const planned = await w.engine.plan('resume-billing', { by: 'tom', keep: true }, NEVER);
  if (!planned.ok) throw new Error(planned.message);
  const applied = w.engine.apply(planned.plan.id!, KIM, NEVER);
  await expect.poll(() => waiting.length).toBe(1);
  await w.engine.pause(KIM);
  release();
  expect(await applied).toMatchObject({ stored: { state: 'draft' }, result: { stopped: { guard: 'kill_switch' } } });
  expect(sentIds(w)).toEqual([]);
});

test('an approval that is taken back during a run stops its next request', async () => {
  let isHeld = false;
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'reserve', () => isHeld);
  const w = await ran({ ledger, policies: [policyOf({ mode: 'approve' })], entries: 1 });
  const [id] = await pendingIds(w);
  await w.engine.approve(id!, KIM);
  isHeld = true;
  const ended = run(w);
  await expect.poll(() => waiting.length).toBe(1);
  await w.engine.reject(id!, { by: 'tom', reason: 'wrong runs' });
  release();
  await ended;
  expect(w.dlq.sent).toEqual([]);
  expect(w.lastRun()).toMatchObject({ outcome: 'halted' });
});

test('a plan that is approved while a run replaces it stays approved, and no other becomes pending', async () => {
  let isHeld = false;
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'decidePlan', () => isHeld);
  const w = world({ ledger, policies: [policyOf({ mode: 'approve' })] });
  const { dlqId } = w.dlq.add();
  await run(w);
  const [id] = await pendingIds(w);
  w.dlq.entries.delete(dlqId);
  w.dlq.add();
  isHeld = true;
  const ended = run(w);
  await expect.poll(() => waiting.length).toBe(1);
  isHeld = false;
  await w.engine.approve(id!, KIM);
  release();
  await ended;
  expect(await storedPlan(w, id!)).toMatchObject({ state: 'approved', by: 'kim' });
  expect(await pendingIds(w)).toEqual([]);
});

/** A world whose approved prune is about to be used up, before its first page. */
async function pruning() {
  let isHeld = false;
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'decidePlan', () => isHeld);
  const options = {
    name: 'prune',
    account: 'production',
    mode: 'approve',
    limits: { maxPerRun: 50, maxPerHour: 1_000 },
  };
  const w = world({ ledger, policies: [policyOfType('message-dlq.prune', options)], guards: GUARDS });
  w.dlq.messages = 1_000;
  await run(w, NEVER, 'prune');
  const [id] = await pendingIds(w);
  await w.engine.approve(id!, KIM);
  isHeld = true;
  const ended = run(w, NEVER, 'prune');
  await expect.poll(() => waiting.length).toBe(1);
  isHeld = false;
  return { w, id: id!, ended, release };
}

test('an approved prune whose approval is used before its first page deletes nothing', async () => {
  const { w, id, ended, release } = await pruning();
  await w.ledger.decidePlan(id, { state: 'applied', at: w.clock.now(), by: 'another' });
  release();
  await ended;
  expect(w.dlq.pruned).toEqual([]);
  expect(w.lastRun()).toMatchObject({ outcome: 'pending_approval' });
});

test('an approval that comes while an earlier one is used up is not used up with it', async () => {
  const { w, id, ended, release } = await pruning();
  const { plan, targets } = (await storedPlan(w, id))!;
  const other = { ...plan, id: 'ffffff', hash: 'f'.repeat(64) };
  const [savedAt, expiresAt] = [w.clock.now(), w.clock.now() + HOUR];
  await w.ledger.savePlan({ plan: other, targets, savedAt, expiresAt, state: 'pending' });
  await w.engine.approve(other.id, KIM);
  release();
  await ended;
  expect(w.dlq.pruned).toEqual([1, 49]);
  expect(await storedPlan(w, id)).toMatchObject({ state: 'applied' });
  expect(await storedPlan(w, other.id)).toMatchObject({ state: 'approved' });
});

test('a hold that a run starts during a review is not resolved by the review', async () => {
  let isReviewing = false;
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'pauses', () => isReviewing);
  const w = world({ ledger, policy: { every: '1d' }, entries: 1 });
  await w.engine.pause(KIM);
  await run(w);
  await w.engine.unpause(KIM);
  isReviewing = true;
  const settled = w.engine.settle(NEVER);
  await expect.poll(() => waiting.length).toBe(1);
  isReviewing = false;
  w.dlq.failOnPage = 0;
  await run(w);
  release();
  await settled;
  expect(w.engine.conditions()).toMatchObject([{ key: 'held/resume-billing', guard: 'incomplete_read' }]);
});

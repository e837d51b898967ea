/** Commands of operators to the engine: plans that are applied, approved, rejected; pauses. */
import { describe, expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { IdentifiedPlan } from '#foundation/domain/plan.ts';
import {
  HOUR,
  MINUTE,
  NEVER,
  policyOf,
  run,
  sentIds,
  START,
  type World,
  world,
  type WorldOptions,
  settleAfter,
  pendingPlans,
  storedPlan,
  ran,
} from './world.ts';

const ME = { by: 'tom', reason: 'looked at it' };
const SAVED = { by: 'tom', keep: true } as const;

async function shown(w: World, over: object = {}): Promise<IdentifiedPlan> {
  const planned = await w.engine.plan('resume-billing', { ...SAVED, ...over }, NEVER);
  if (!planned.ok) throw new Error(planned.message);
  return planned.plan as IdentifiedPlan;
}

/** Id of the pending plan. */
async function pendingId(w: World): Promise<string> {
  return (await pendingPlans(w))[0]!.plan.id;
}

/** Three entries of three workflows, so that no ramp restricts them. */
function three(options: WorldOptions = {}): World {
  const w = world({ ...options, guards: GUARDS });
  for (const host of ['a', 'b', 'c']) w.dlq.add({ workflowUrl: `https://${host}.example.com/run` });
  return w;
}

/** A policy whose plan over these entries is pending approval. */
async function awaiting() {
  const w = three({ policy: { mode: 'approve' } });
  await run(w);
  const [pending] = await pendingPlans(w);
  return { w, plan: pending!.plan, id: pending!.plan.id };
}

describe('approval', () => {
  test('a plan waits once, is approved, and the policy’s own runs apply it', async () => {
    const { w, id } = await awaiting();
    await run(w);
    expect(await pendingPlans(w)).toHaveLength(1);
    expect(w.engine.conditions()).toMatchObject([
      {
        key: 'approval/resume-billing',
        guard: 'approval',
        summary: expect.stringContaining(id) as string,
      },
    ]);
    expect(await w.engine.approve(id, ME)).toMatchObject({
      ok: true,
      plan: { state: 'approved', by: 'tom' },
    });
    expect(w.soon).toEqual(['resume-billing']);
    expect(w.engine.conditions()).toMatchObject([
      { key: `approved/${id}`, severity: 'info', summary: expect.stringContaining('by tom') as string },
    ]);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002', 'dlq-003']);
    await run(w);
    await w.engine.settle(NEVER);
    expect(w.engine.conditions()).toEqual([]);
    expect(await w.engine.approve(id, ME)).toMatchObject({ ok: false, code: 'decided' });
  });

  test('covers only what was shown', async () => {
    const { w, id } = await awaiting();
    await w.engine.approve(id, ME);
    w.dlq.add({ workflowUrl: 'https://d.example.com/run' });
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002', 'dlq-003']);
    await run(w);
    expect(sentIds(w)).toHaveLength(3);
    expect(await w.ledger.storedPlans(['approved'], w.clock.now())).toEqual([]);
    expect(await pendingPlans(w)).toMatchObject([{ targets: ['dlq-004'] }]);
  });

  test('lasts over the steps of a campaign', async () => {
    const w = await ran({ policy: { mode: 'approve' }, guards: GUARDS, entries: 4 });
    await w.engine.approve(await pendingId(w), ME);
    const left = async () => (await w.ledger.storedPlans(['approved'], w.clock.now())).map((stored) => stored.left);
    expect(await left()).toEqual([4]);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001']);
    expect(await left()).toEqual([3]);
    await settleAfter(w, 6 * MINUTE);
    expect(w.soon).toEqual(['resume-billing', 'resume-billing']);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002', 'dlq-003', 'dlq-004']);
    expect(await left()).toEqual([0]);
  });

  test('counts what is left without requests that had no effect, and without those before the approval', async () => {
    const { w, id } = await awaiting();
    expect(await storedPlan(w, id)).not.toHaveProperty('left', expect.anything());
    await w.engine.approve(id, ME);
    w.dlq.answers = ['good', 'refused'];
    await run(w);
    const stored = (await storedPlan(w, id))!;
    expect(stored).toMatchObject({ state: 'approved', left: 1 });
    const { policy } = stored.plan;
    const of = { plan: id, targets: stored.targets, from: START, to: w.clock.now() };
    expect(await w.ledger.actionsOf(policy, of)).toHaveLength(3);
    expect(await w.ledger.actionsOf(policy, { ...of, from: w.clock.now() + 1, to: w.clock.now() + 2 })).toEqual([]);
    expect(await w.ledger.actionsOf(policy, { ...of, plan: 'x', targets: ['dlq-001'] })).toHaveLength(1);
  });

  test('expires', async () => {
    const { w, id } = await awaiting();
    await w.clock.advance(5 * HOUR);
    expect(await w.engine.approve(id, ME)).toMatchObject({ ok: false, code: 'expired' });
    await w.engine.settle(NEVER);
    expect(w.engine.conditions()).toEqual([]);
    expect(w.dlq.sent).toEqual([]);
  });

  test('that was rejected holds the policy with the decision, until a draft or the expiry changes nothing of it', async () => {
    const { w, id } = await awaiting();
    expect(await w.engine.reject(id, ME)).toMatchObject({ ok: true, plan: { state: 'rejected' } });
    const message = expect.stringContaining('rejected by tom') as string;
    expect(await w.engine.approve(id, ME)).toMatchObject({ ok: false, code: 'decided', message });
    await shown(w, { by: 'kim' });
    await run(w);
    const measured = `plan ${id} was rejected by tom: looked at it`;
    const held = { outcome: 'held', stopped: { guard: 'approval', measured, until: START + 4 * HOUR } };
    expect(w.lastRun()).toMatchObject(held);
    expect(await w.ledger.runs({ limit: 1 })).toMatchObject([
      { outcome: 'held', detail: expect.stringContaining('2025-11-20T16:00:00Z') as string },
    ]);
    expect(await w.engine.statuses()).toMatchObject([{ held: { guard: 'approval', measured } }]);
    expect(await pendingPlans(w)).toEqual([]);
    expect(await w.engine.explain('dlq-001', NEVER)).toMatchObject({
      policies: [{ verdict: 'stopped', denial: { guard: 'approval', measured } }],
    });
    await w.clock.advance(5 * HOUR);
    await run(w);
    expect(w.lastRun()).toMatchObject({ outcome: 'pending_approval' });
    expect(w.dlq.sent).toEqual([]);
    expect((await w.engine.statuses())[0]?.held).toBeUndefined();
  });

  test.each([
    ['enforce', [policyOf()], 'mode enforce'],
    ['audit', [policyOf({ mode: 'audit' })], 'mode audit'],
    ['off', [policyOf({ mode: 'off' })], 'mode off'],
    ['another account', [policyOf({ mode: 'approve', account: 'staging' })], 'another action or account'],
    ['no policy', [], 'does not exist any more'],
  ])('that is pending ends after a reload to %s', async (_, policies, reason) => {
    const { w, id } = await awaiting();
    w.restart({ policies, auditOnly: () => 'a typo' });
    await w.engine.settle(NEVER);
    expect(await storedPlan(w, id)).toMatchObject({ state: 'pending' });
    w.restart({ policies });
    await w.engine.settle(NEVER);
    expect(await storedPlan(w, id)).toMatchObject({
      state: 'expired',
      by: 'engine',
      decidedAt: START,
      reason: expect.stringContaining(reason) as string,
    });
    expect(w.engine.conditions()).toEqual([]);
  });

  test('that is pending stays for the replica that runs its policy', async () => {
    const { w } = await awaiting();
    const shared = { name: 'b', isLeader: false, allPolicies: new Set(['resume-billing']), hasLost: () => false };
    w.restart({ policies: [], shared });
    await w.engine.settle(NEVER);
    expect(await pendingPlans(w)).toHaveLength(1);
  });

  test('that is pending ends when a complete reading has none of its entries', async () => {
    const { w, id } = await awaiting();
    const stored = () => storedPlan(w, id);
    w.dlq.entries.delete('dlq-001');
    w.facts = { deliveries: () => ({ delivered: 0, all: 40 }) };
    await run(w);
    expect(await stored()).toMatchObject({ state: 'pending' });
    await w.engine.pause({ ...ME });
    w.dlq.entries.clear();
    await run(w);
    expect(await stored()).toMatchObject({ state: 'pending' });
    await w.engine.unpause({ ...ME });
    await run(w);
    expect(await stored()).toMatchObject({ state: 'expired', by: 'engine', reason: 'none of its entries is left' });
    await w.engine.settle(NEVER);
    expect(w.engine.conditions()).toEqual([]);
  });

  test('that stands can be taken back, also after it was given on a draft', async () => {
    const w = three({ policy: { mode: 'approve' } });
    const { id } = await shown(w);
    expect(await w.engine.approve(id, ME)).toMatchObject({ ok: true, plan: { state: 'approved', madeBy: 'tom' } });
    expect(await w.engine.reject(id, { by: 'eve', reason: 'not yet' })).toMatchObject({
      ok: true,
      plan: { state: 'rejected', by: 'eve', approvedBy: 'tom' },
    });
    expect(w.engine.conditions()).toEqual([]);
    await run(w);
    expect(w.dlq.sent).toEqual([]);
    expect(await pendingPlans(w)).toEqual([]);
  });

  test('that is only shown is not stored; one that is shown again after it was kept has its id', async () => {
    const w = three({ policy: { mode: 'approve' } });
    const only = await shown(w, { keep: false });
    expect(only).not.toHaveProperty('id', expect.anything());
    expect(await storedPlan(w, only.hash)).toBeUndefined();
    const { id } = await shown(w);
    expect(await shown(w, { by: 'eve', keep: false })).toMatchObject({ id });
    await w.engine.reject(id, ME);
    expect(await shown(w, { keep: false })).not.toHaveProperty('id', expect.anything());
    expect(await storedPlan(w, id)).toMatchObject({ state: 'rejected', madeBy: 'tom' });
  });

  test('names a run by the stored plan: pending, applied, or none', async () => {
    const { w, id } = await awaiting();
    const planIds = async () => (await w.ledger.runs({ limit: 9 })).map(({ planId }) => planId);
    w.dlq.add({ workflowUrl: 'https://d.example.com/run' });
    await run(w);
    expect(await planIds()).toEqual([id, id]);
    expect(w.lastRun()).toMatchObject({ planId: id });
    await w.engine.reject(id, ME);
    w.dlq.entries.delete('dlq-004');
    await run(w);
    expect(w.lastRun()).toMatchObject({ stopped: { guard: 'approval' } });
    expect(w.lastRun()).not.toHaveProperty('planId', expect.anything());
    expect(await planIds()).toEqual([undefined, id, id]);
  });

  test('that was decided stays decided: its content gets another plan, and a newer plan replaces a pending one', async () => {
    const { w, id, plan } = await awaiting();
    await w.engine.reject(id, ME);
    const again = await shown(w, { by: 'kim' });
    expect(again).toMatchObject({ hash: plan.hash });
    expect(again.id).not.toBe(id);
    expect(await storedPlan(w, id)).toMatchObject({ state: 'rejected', by: 'tom' });
    expect(await shown(w, { by: 'eve' })).toMatchObject({ id: again.id });
    expect(await storedPlan(w, again.id)).toMatchObject({ state: 'draft', madeBy: 'kim' });
  });

  test('of a plan that a newer one replaced names the newer one', async () => {
    const { w, id } = await awaiting();
    w.dlq.entries.clear();
    w.dlq.add({ workflowUrl: 'https://d.example.com/run' });
    await run(w);
    const [newer] = await pendingPlans(w);
    expect(await w.engine.approve(id, ME)).toMatchObject({
      ok: false,
      code: 'decided',
      message: expect.stringContaining(`is replaced by ${newer!.plan.id}`) as string,
    });
  });

  test('is required above the tripwire, in enforce too', async () => {
    const w = three({ policy: { limits: { maxMatched: 2 } } });
    await run(w);
    expect(w.lastRun()).toMatchObject({ outcome: 'pending_approval' });
    expect(w.dlq.sent).toEqual([]);
    await w.engine.settle(NEVER);
    await w.engine.approve(await pendingId(w), ME);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002', 'dlq-003']);
  });
});

describe('apply', () => {
  test('applies the shown actions that are still valid, once', async () => {
    const w = three();
    const plan = await shown(w);
    w.dlq.entries.delete('dlq-002');
    w.dlq.add({ workflowUrl: 'https://d.example.com/run' });
    expect(await w.engine.apply(plan.id, ME, NEVER)).toMatchObject({
      ok: true,
      result: { outcome: 'acted', acted: 2 },
    });
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-003']);
    expect(await w.engine.apply(plan.id, ME, NEVER)).toMatchObject({ ok: false, code: 'decided' });
  });

  test('overrules a limit once, and only limits', async () => {
    const w = three({ policy: { limits: { maxPerRun: 1 } } });
    const overrule = { settings: { 'limits.maxPerRun': '3' }, reason: 'the queue is on fire' };
    const plan = await shown(w, { overrule });
    expect(plan).toMatchObject({ overruled: overrule, chosen: { length: 3 } });
    await w.engine.apply(plan.id, ME, NEVER);
    expect(sentIds(w)).toHaveLength(3);
    for (const [settings, message] of [
      [{ mode: 'enforce' }, 'mode cannot be overruled'],
      [{ 'engine.protectedLabels': '[]' }, 'cannot be overruled'],
      [{ 'limits.maxPerRun': '0' }, 'must be a whole number above 0'],
      [{ 'ramp.settle': 'soon' }, 'must be a duration'],
      [{ 'limits.maxPerMonth': '4' }, 'has no limits.maxPerMonth'],
    ] as const) {
      const refused = await w.engine.plan('resume-billing', { ...SAVED, overrule: { settings, reason: 'x' } }, NEVER);
      expect(refused).toMatchObject({
        ok: false,
        code: 'bad_override',
        message: expect.stringContaining(message) as string,
      });
    }
  });

  test('is rejected in audit', async () => {
    const w = three({ policy: { mode: 'audit' } });
    const { id } = await shown(w);
    expect(await w.engine.apply(id, ME, NEVER)).toMatchObject({ ok: false, code: 'mode' });
  });

  test('of a plan that a guard holds changes nothing, and nothing is sent after the hold', async () => {
    const w = three({ policy: { mode: 'approve' } });
    const { id } = await shown(w);
    w.facts.deliveries = () => ({ delivered: 0, all: 100 });
    const held = await w.engine.apply(id, ME, NEVER);
    expect(held).toMatchObject({ ok: true, stored: { state: 'draft' }, result: { stopped: { guard: 'destination' } } });
    await w.engine.pause({ reason: 'freeze', by: 'tom' });
    const paused = { outcome: 'held', stopped: { guard: 'kill_switch' } };
    expect(await w.engine.apply(id, ME, NEVER)).toMatchObject({ stored: { state: 'draft' }, result: paused });
    await w.engine.unpause({ reason: 'over', by: 'tom' });
    expect(await storedPlan(w, id)).toMatchObject({ state: 'draft', madeBy: 'tom' });
    w.facts.deliveries = () => ({ delivered: 100, all: 100 });
    await run(w);
    expect(w.dlq.sent).toEqual([]);
  });

  test('of an unknown or expired plan reports it', async () => {
    const w = three();
    expect(await w.engine.apply('abcdef', ME, NEVER)).toMatchObject({ ok: false, code: 'unknown_plan' });
    const { id } = await shown(w);
    await w.clock.advance(2 * HOUR);
    expect(await w.engine.apply(id, ME, NEVER)).toMatchObject({ ok: false, code: 'expired' });
  });
});

describe('pauses', () => {
  test('of a policy stop that policy alone, across a restart, until an operator lifts them', async () => {
    const other = policyOf({ name: 'other', select: { resource: 'workflow-dlq', anyLabel: ['other'] } });
    const w = three({ policies: [policyOf(), other] });
    w.dlq.add({ labels: ['other'] });
    await w.engine.pause({ policy: 'resume-billing', reason: 'freeze', by: 'tom' });
    w.restart();
    await run(w);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'kill_switch' } });
    await w.engine.run('other', NEVER);
    expect(sentIds(w)).toEqual(['dlq-004']);
    expect(await w.engine.unpause({ policy: 'other', reason: 'x', by: 'tom' })).toBe(0);
    expect(await w.engine.unpause({ policy: 'resume-billing', reason: 'over', by: 'tom' })).toBe(1);
    expect(await w.ledger.pauses()).toEqual([]);
  });

  test('lifting a group’s halt allows one canary at once', async () => {
    const w = await ran({ guards: GUARDS, entries: 3 });
    w.dlq.failAgain(0);
    w.observe();
    await w.engine.settle(NEVER);
    expect(await w.ledger.campaigns()).toMatchObject([{ state: 'halted', until: START + 30 * MINUTE }]);
    await run(w);
    expect(w.dlq.sent).toHaveLength(1);
    expect(await w.engine.unpause({ policy: 'resume-billing', reason: 'mended', by: 'tom' })).toBe(1);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
  });
});

describe('an engine that replaces another in the same process', () => {
  test('sends no actions while the policies are unknown, and reports the reason', async () => {
    const w = world({ entries: 1 });
    let why: string | undefined = 'a typo';
    w.restart({ auditOnly: () => why });
    await run(w);
    expect(w.dlq.sent).toEqual([]);
    expect(await w.engine.statuses()).toMatchObject([{ mode: 'enforce', effectiveMode: 'audit', reducedBy: 'a typo' }]);
    why = undefined;
    await run(w);
    expect(w.dlq.sent).toHaveLength(1);
  });
});

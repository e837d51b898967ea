/**
 * Properties of the states of plans. Whatever operators, runs, restarts and time do in any order: each state has its
 * reason, a decided plan stays decided, and reading changes nothing. Every state is reached.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { StoredPlan } from '#automate/ledger/plans.ts';
import { planProgress } from '#operate/api/plan-progress.ts';
import { STORED_STATES } from '#automate/ledger/plans.ts';
import { isCommon, settleAndRun, stepsOf, takeStep } from './random-steps.ts';
import { HOUR, MINUTE, NEVER, SETTLE, world, type World, storedPlan } from './world.ts';

type State = StoredPlan['state'];

/** States that can follow each state. */
const AFTER: Readonly<Record<State, readonly State[]>> = {
  draft: ['pending', 'approved', 'rejected', 'applied', 'cancelled', 'replaced', 'expired'],
  pending: ['approved', 'rejected', 'applied', 'replaced', 'expired'],
  approved: ['rejected', 'applied', 'cancelled', 'expired'],
  // Only a manual plan whose run is in progress.
  applied: ['cancelled'],
  rejected: [],
  cancelled: [],
  replaced: [],
  expired: [],
};

const BY = { by: 'tom' } as const;
const POLICY = 'resume-billing';

const index = fc.nat(2);
const step = stepsOf({
  keep: 6,
  show: 6,
  run: 12,
  manual: 6,
  explain: 6,
  approve: [12, { index }],
  apply: [12, { index }],
  reject: [6, { index }],
  cancel: [6, { index }],
  settle: 9,
  restart: 3,
  pause: 3,
  unpause: 6,
  fail: 3,
  heal: 6,
  add: [3, { index }],
  remove: [3, { index }],
  swap: 3,
  again: 3,
  wait: [18, { ms: fc.constantFrom(MINUTE, SETTLE, SETTLE, HOUR, 5 * HOUR) }],
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function perform(w: World, one: Step, plans: readonly StoredPlan[]): Promise<unknown> {
  const id = 'index' in one ? (plans[one.index]?.plan.id ?? 'none') : 'none';
  if (one.do === 'settle') return settleAndRun(w);
  if (isCommon(one)) return takeStep(w, one);
  switch (one.do) {
    case 'keep':
    case 'show':
      return w.engine.plan(POLICY, { ...BY, keep: one.do === 'keep' }, NEVER);
    case 'run':
      return w.engine.run(POLICY, NEVER);
    case 'manual': {
      const selection = { action: 'resume', label: ['shop'] } as const;
      return w.engine.planManually({ ...BY, reason: 'go', selection }, NEVER);
    }
    case 'explain':
      return w.engine.explain([...w.dlq.entries.keys()][0] ?? 'dlq-1', NEVER);
    case 'approve':
      return w.engine.approve(id, BY);
    case 'reject':
      return w.engine.reject(id, { ...BY, reason: 'no' });
    case 'apply':
      return w.engine.apply(id, BY, NEVER);
    case 'cancel':
      return w.engine.cancel(id, { ...BY, reason: 'enough' });
    case 'pause':
    case 'unpause':
      return w.engine[one.do]({ ...BY, reason: 'to look' });
    case 'fail':
    case 'heal':
      w.facts = { deliveries: () => ({ delivered: one.do === 'heal' ? 100 : 0, all: 100 }) };
      return undefined;
    case 'remove':
      return w.dlq.entries.delete([...w.dlq.entries.keys()][one.index] ?? '');
    case 'swap':
      w.dlq.entries.clear();
      return w.dlq.add();
    case 'again':
      if (w.dlq.sent.length > 0) w.dlq.failAgain(w.dlq.sent.length - 1);
      return undefined;
    case 'add':
      return w.dlq.add({ labels: one.index % 2 === 1 ? ['shop'] : ['billing'] });
  }
}

async function allPlans(w: World): Promise<readonly StoredPlan[]> {
  return w.ledger.storedPlans(STORED_STATES, w.clock.now());
}

/** A state says who brought it about, when, and why. */
function expectReason({ state, by, reason, decidedAt, ...stored }: StoredPlan, now: number, ids: Set<string>): void {
  if (state === 'draft') return expect(stored).toMatchObject({ madeBy: 'tom' });
  if (state === 'pending') return expect(stored.expiresAt).toBeGreaterThan(now);
  expect({ by, decidedAt }, state).toEqual({
    by: expect.any(String) as string,
    decidedAt: expect.any(Number) as number,
  });
  if (by === 'engine') expect(reason, state).toEqual(expect.any(String));
  if (state === 'approved') {
    expect(stored.expiresAt).toBeGreaterThan(now);
    expect(stored).toMatchObject({ approvedBy: 'tom', left: expect.any(Number) as number });
  }
  if (state === 'replaced') expect(ids.has(stored.replacedBy ?? '')).toBe(true);
}

/** Facts in any order give the same plans and the same progress. */
async function expectNoOrder(w: World, plans: readonly StoredPlan[], seed: readonly number[]): Promise<void> {
  const shuffled = <T>(rows: readonly T[]): T[] =>
    rows
      .map((row, at) => ({ row, rank: seed[at % seed.length]! * 31 + at }))
      .toSorted((a, b) => (a.rank % 7) - (b.rank % 7))
      .map(({ row }) => row);
  const read = await w.ledger.storedPlans(shuffled(STORED_STATES), w.clock.now());
  expect(new Map(read.map((one) => [one.plan.id, one]))).toEqual(new Map(plans.map((one) => [one.plan.id, one])));
  for (const stored of shuffled(plans)) {
    expect(await storedPlan(w, stored.plan.id)).toEqual(stored);
    const { ledger, engine } = w;
    const other = {
      actionsOf: async (...of: Parameters<typeof ledger.actionsOf>) => shuffled(await ledger.actionsOf(...of)),
      campaigns: async () => shuffled(await ledger.campaigns()),
      pauses: () => ledger.pauses(),
    };
    const progress = await planProgress(stored, { ledger, engine });
    expect(await planProgress(stored, { ledger: other, engine })).toEqual(progress);
  }
}

test('each state has its reason, is final once decided, does not depend on reading, and is reached', async () => {
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 60 }),
      fc.array(fc.nat(100), { minLength: 3, maxLength: 3 }),
      fc.constantFrom('approve', 'enforce'),
      async (steps, seed, mode) => {
        const w = world({ guards: GUARDS, policy: { mode } });
        for (const label of ['billing', 'billing', 'shop']) w.dlq.add({ labels: [label] });
        w.dlq.add({ workflowUrl: 'https://b.example.com/run' });
        let before = new Map<string, StoredPlan>();
        for (const one of steps) {
          await perform(w, one, [...before.values()]);
          const plans = await allPlans(w);
          const ids = new Set(plans.map(({ plan }) => plan.id));
          for (const stored of plans) {
            expectReason(stored, w.clock.now(), ids);
            const old = before.get(stored.plan.id);
            if (old !== undefined && old.state !== stored.state) expect(AFTER[old.state]).toContain(stored.state);
            if (old !== undefined) {
              expect(stored.plan.hash).toBe(old.plan.hash);
              if (AFTER[old.state].length === 0) expect(stored).toEqual(old);
            }
            reached.add(stored.state);
            const progress = await planProgress(stored, w);
            if (stored.state === 'approved' || stored.state === 'applied') reached.add(progress!.state);
          }
          for (const id of before.keys()) expect(ids.has(id), id).toBe(true);
          before = new Map(plans.map((stored) => [stored.plan.id, stored]));
        }
        await expectNoOrder(w, await allPlans(w), seed);
      },
    ),
    { numRuns: 120, seed: 20_261_126 },
  );
  expect(reached).toEqual(new Set([...STORED_STATES, 'running', 'settling', 'held', 'paused', 'finished']));
});

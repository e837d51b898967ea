/**
 * Properties of manual plans: whatever is answered, cancelled, restarted or added in between, a plan acts only on the
 * entries of its selection, and on each of them once. The same selection as a policy chooses the same entries.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import { allowedOf } from '#foundation/domain/plan.ts';
import type { Selection } from '#foundation/domain/selection.ts';
import { casesOf } from '../../support/property-cases.ts';
import { answersOf, crash, isCommon, settleAndRun, stepsOf, takeStep } from './random-steps.ts';
import { HOUR, MINUTE, NEVER, SETTLE, START, world, type World, storedPlan } from './world.ts';

const LABELS = ['billing', 'shop', 'no-auto'] as const;
const URLS = ['https://a.example.com/one', 'https://b.example.com/two'] as const;
const KEYS = ['k1', 'k2'] as const;
const ADDRESSES = ['10.0.0.1', '10.0.0.2'] as const;
const ANSWERS = answersOf('good', 'lost', 'never_arrived', 'refused', 'rate_limited');

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const some = <T>(values: readonly T[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: values.length });

const entry = fc.record({
  labels: fc.subarray([...LABELS]),
  workflowUrl: fc.constantFrom(...URLS),
  flowControlKey: optional(fc.constantFrom(...KEYS)),
  callerIp: optional(fc.constantFrom(...ADDRESSES)),
  failureFunctionState: optional(fc.constantFrom('CALLBACK_SUCCESS', 'CALLBACK_FAIL')),
  responseStatus: fc.constantFrom(503, 400),
});

/** Removes members without a value, as a caller leaves them out. */
function given<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}

const filters = fc
  .record({
    label: optional(some(LABELS)),
    workflowUrl: optional(some(URLS)),
    flowControlKey: optional(some(KEYS)),
    callerIp: optional(some(ADDRESSES)),
    failureFunctionState: optional(some(['CALLBACK_SUCCESS', 'CALLBACK_FAIL'])),
  })
  .map((one) => given(one) as Partial<Selection>)
  .filter((one) => Object.keys(one).length > 0);

test('the same selection as a policy chooses the same entries', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 12 }), filters, async (entries, selected) => {
      const { label: anyLabel, ...others } = selected;
      const select = given({ resource: 'workflow-dlq', anyLabel, ...others });
      const policy = { mode: 'approve', select, where: 'entry.dlqId != ""' };
      const w = world({ guards: GUARDS, policy });
      for (const one of entries) w.dlq.add(given(one));
      const asPolicy = await w.engine.plan('resume-billing', { by: 'ann', keep: false }, NEVER);
      const selection: Selection = { action: 'resume', ...selected };
      const manual = await w.engine.planManually({ by: 'ann', reason: 'go', selection }, NEVER);
      if (!asPolicy.ok || !manual.ok) throw new Error('no plan');
      const [a, b] = [asPolicy.plan, manual.plan];
      expect(b.chosen.map(({ target }) => target)).toEqual(a.chosen.map(({ target }) => target));
      expect(b).toMatchObject({ state: a.state, matched: a.matched, skipped: a.skipped, backlog: a.backlog });
    }),
    { numRuns: casesOf(150) },
  );
});

const selections = fc.oneof<fc.Arbitrary<Selection | readonly number[]>[]>(
  filters.map((one) => ({ action: 'resume', ...one })),
  fc.uniqueArray(fc.nat(9), { minLength: 1 }),
);
const index = fc.nat(4);
const step = stepsOf({
  plan: [8, { selection: selections }],
  apply: [8, { index }],
  cancel: [2, { index }],
  answers: [4, { answers: ANSWERS }],
  wait: [6, { ms: fc.constantFrom(MINUTE, SETTLE, HOUR) }],
  settle: 8,
  restart: 2,
  policy: 2,
  add: [2, { entry: entry.map(given) }],
  return: [2, { index: fc.nat(9) }],
  crash: [4, { index, arrives: fc.boolean() }],
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function perform(w: World, action: Step, plans: string[], returned: Set<number>): Promise<void> {
  if (action.do === 'settle') return settleAndRun(w);
  if (isCommon(action)) return takeStep(w, action, returned);
  switch (action.do) {
    case 'plan': {
      const ids = [...w.dlq.entries.keys()];
      const selection: Selection =
        'action' in action.selection
          ? action.selection
          : { action: 'resume', ids: action.selection.map((index) => ids[index] ?? `dlq-none-${index}`) };
      const made = await w.engine.planManually({ by: 'ann', reason: 'go', selection }, NEVER);
      if (made.ok && allowedOf(made.plan) > 0) plans.push(made.plan.id!);
      return;
    }
    case 'apply':
      if (plans[action.index] !== undefined) await w.engine.apply(plans[action.index]!, { by: 'ann' }, NEVER);
      return;
    case 'cancel':
      if (plans[action.index] !== undefined) await w.engine.cancel(plans[action.index]!, { by: 'ann', reason: 'no' });
      return;
    case 'crash': {
      const id = plans[action.index];
      return crash(w, async () => id && w.engine.apply(id, { by: 'ann' }, NEVER), action);
    }
    case 'answers':
      w.dlq.answers = [...action.answers];
      return;
    case 'policy':
      return void (await w.engine.run('resume-billing', NEVER));
    case 'add':
      w.dlq.add(action.entry);
      return;
  }
}

test('a plan acts only on its selection, on no entry twice, and not after its cancellation', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry.map(given), { minLength: 3, maxLength: 10 }),
      fc.array(step, { minLength: 5, maxLength: 40 }),
      async (entries, steps) => {
        const w = world({ guards: GUARDS });
        for (const one of entries) w.dlq.add(one);
        const plans: string[] = [];
        const cancelled = new Map<string, number>();
        const returned = new Set<number>();
        for (const action of steps) {
          await perform(w, action, plans, returned);
          for (const id of plans) {
            const acts = (await w.ledger.actionsOf(`manual:${id}`)).length;
            if ((await storedPlan(w, id))?.state !== 'cancelled') continue;
            if (!cancelled.has(id)) cancelled.set(id, acts);
            expect(acts).toBe(cancelled.get(id));
          }
        }
        expect(w.dlq.effects).toHaveLength(new Set(w.dlq.effects).size);
        for (const id of plans) {
          const { targets } = (await w.ledger.storedPlan(id, START))!;
          for (const { proposal } of await w.ledger.actionsOf(`manual:${id}`))
            expect(targets).toContain(proposal.target);
        }
        for (const [target, same] of Map.groupBy(
          await w.ledger.recentActions(1_000),
          ({ proposal }) => proposal.target,
        )) {
          const active = same.filter(({ outcome = '' }) => !['rejected', 'confirmed_not_applied'].includes(outcome));
          expect(active.length, target).toBeLessThanOrEqual(1);
        }
        expect(w.runs()).not.toContain('failed');
        expect(await w.ledger.pauses()).toEqual([]);
      },
    ),
    { numRuns: casesOf(150) },
  );
});

/**
 * Properties of manual plans: whatever is answered, cancelled, restarted or added in between, a plan acts only on the
 * entries of its selection, and on each of them once. The same selection as a policy chooses the same entries.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import { allowedOf } from '#foundation/domain/plan.ts';
import type { Selection } from '#foundation/domain/selection.ts';
import type { ResumeAnswer } from '../../support/fake-dlq.ts';
import { HOUR, MINUTE, NEVER, SETTLE, START, world, type World } from './world.ts';

const LABELS = ['billing', 'shop', 'no-auto'] as const;
const URLS = ['https://a.example.com/one', 'https://b.example.com/two'] as const;
const KEYS = ['k1', 'k2'] as const;
const ADDRESSES = ['10.0.0.1', '10.0.0.2'] as const;
const ANSWERS: readonly ResumeAnswer[] = ['good', 'lost', 'never_arrived', 'refused', 'rate_limited'];

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
    { numRuns: 150 },
  );
});

type Step =
  | { readonly do: 'plan'; readonly selection: Selection | readonly number[] }
  | { readonly do: 'apply' | 'cancel'; readonly index: number }
  | { readonly do: 'answers'; readonly answers: readonly ResumeAnswer[] }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'settle' | 'restart' | 'policy' }
  | { readonly do: 'add'; readonly entry: object }
  | { readonly do: 'return'; readonly index: number }
  | { readonly do: 'crash'; readonly index: number; readonly arrives: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: filters.map((one) => ({ do: 'plan' as const, selection: { action: 'resume' as const, ...one } })),
  },
  {
    weight: 2,
    arbitrary: fc.uniqueArray(fc.nat(9), { minLength: 1 }).map((selection) => ({ do: 'plan' as const, selection })),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('apply', 'apply', 'apply', 'cancel'), index: fc.nat(4) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('answers' as const), answers: fc.array(fc.constantFrom(...ANSWERS)) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(MINUTE, SETTLE, HOUR) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('settle', 'settle', 'settle', 'restart', 'policy') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('add' as const), entry: entry.map(given) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('return' as const), index: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), index: fc.nat(4), arrives: fc.boolean() }) },
);

async function settle(w: World): Promise<void> {
  w.soon.length = 0;
  await w.engine.settle(NEVER);
  for (const policy of w.soon.splice(0)) await w.engine.run(policy, NEVER, { kind: 'campaign' });
}

async function perform(w: World, action: Step, plans: string[], returned: Set<number>): Promise<void> {
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
      const crashed = Promise.withResolvers<void>();
      w.dlq.onResume = async (dlqId, overrides) => {
        if (action.arrives) w.dlq.arrive(dlqId, overrides);
        crashed.resolve();
        await new Promise<never>(() => undefined);
      };
      const id = plans[action.index];
      if (id !== undefined) await Promise.race([w.engine.apply(id, { by: 'ann' }, NEVER), crashed.promise]);
      w.dlq.onResume = () => undefined;
      w.restart();
      return w.engine.recover(NEVER);
    }
    case 'answers':
      w.dlq.answers = [...action.answers];
      return;
    case 'wait':
      return w.clock.advance(action.ms);
    case 'settle':
      return settle(w);
    case 'restart':
      w.restart();
      return w.engine.recover(NEVER);
    case 'policy':
      return void (await w.engine.run('resume-billing', NEVER));
    case 'add':
      w.dlq.add(action.entry);
      return;
    case 'return': {
      const sent = w.dlq.sent[action.index];
      if (sent?.newRunId === undefined || returned.has(action.index)) return;
      returned.add(action.index);
      w.dlq.failAgain(action.index);
    }
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
            if ((await w.ledger.storedPlan(id, w.clock.now()))?.state !== 'cancelled') continue;
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
    { numRuns: 150 },
  );
});

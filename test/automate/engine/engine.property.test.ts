/**
 * Random sequences of responses, crashes, waits and repeated failures. No id has its effect twice. An id is sent again
 * only if the previous request provably had no effect. No cap is exceeded, and the outcomes account for every planned
 * action.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ResumeAnswer } from '../../support/fake-dlq.ts';
import { HOUR, MINUTE, NEVER, SETTLE, world, type World } from './world.ts';

const ANSWERS: readonly ResumeAnswer[] = [
  'good',
  'lost',
  'late',
  'never_arrived',
  'refused',
  'rate_limited',
  'no_run',
  'forbidden',
];

type Step =
  | { readonly do: 'run'; readonly answers: readonly ResumeAnswer[] }
  | { readonly do: 'crash'; readonly after: number; readonly arrives: boolean }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'settle' | 'observe' | 'restart' | 'add' }
  | { readonly do: 'return'; readonly index: number; readonly renamed: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('run' as const), answers: fc.array(fc.constantFrom(...ANSWERS)) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('crash' as const), after: fc.nat(3), arrives: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(MINUTE, SETTLE, 20 * MINUTE, HOUR) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('settle', 'observe', 'restart', 'add') }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('return' as const), index: fc.nat(20), renamed: fc.boolean() }),
  },
);

const PER_HOUR = 6;

/** With the minute of a late request the lag stays within the settle time, which covers exactly such lags. */
const LAG = fc.constantFrom(0, MINUTE, SETTLE - MINUTE - 1);

async function perform(w: World, action: Step, returned: Set<number>): Promise<void> {
  switch (action.do) {
    case 'run':
      w.dlq.answers = [...action.answers];
      await w.engine.run('resume-billing', NEVER);
      break;
    case 'crash': {
      // The process ends during a request. The request may or may not arrive.
      let left = action.after;
      const crashed = Promise.withResolvers<void>();
      w.dlq.answers = [];
      w.dlq.onResume = async (dlqId, overrides) => {
        if (left-- > 0) return;
        if (action.arrives) w.dlq.arrive(dlqId, overrides);
        crashed.resolve();
        await new Promise<never>(() => undefined);
      };
      await Promise.race([w.engine.run('resume-billing', NEVER), crashed.promise]);
      w.dlq.onResume = () => undefined;
      w.restart();
      await w.engine.recover(NEVER);
      break;
    }
    case 'wait':
      await w.clock.advance(action.ms);
      break;
    case 'settle':
      await w.engine.settle(NEVER);
      break;
    case 'observe':
      w.observe();
      break;
    case 'restart':
      w.restart();
      await w.engine.recover(NEVER);
      break;
    case 'add':
      w.dlq.add();
      break;
    case 'return': {
      const resumed = w.dlq.sent[action.index];
      const back = resumed?.newRunId !== undefined && !returned.has(action.index);
      if (!back) break;
      returned.add(action.index);
      w.dlq.failAgain(action.index, action.renamed ? { workflowRunId: `wfr-renamed-${action.index}` } : {});
      break;
    }
  }
}

test('no id is sent twice unless proven not done, no cap is exceeded, the outcomes match the plan', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), fc.nat(8), LAG, async (steps, entries, lagMs) => {
      const w = world({ policy: { limits: { maxPerHour: PER_HOUR } } });
      w.dlq.lagMs = lagMs;
      const returned = new Set<number>();
      for (let i = 0; i < entries; i++) w.dlq.add();
      for (const action of steps) {
        await perform(w, action, returned);
        const [used] = await w.ledger.used([{ scope: {}, since: w.clock.now() - HOUR }]);
        expect(used).toBeLessThanOrEqual(PER_HOUR);
      }
      // Each id has one effect, whatever the responses.
      expect(w.dlq.effects).toHaveLength(new Set(w.dlq.effects).size);
      // An id is sent again only after proof that the previous request had no effect.
      const intents = await w.ledger.recentActions(1_000);
      for (const [dlqId, same] of Map.groupBy(intents, (intent) => intent.proposal.target)) {
        const open = same.filter((intent) => !['rejected', 'confirmed_not_applied'].includes(intent.outcome ?? ''));
        expect(open.length, dlqId).toBeLessThanOrEqual(1);
      }
      expect(w.dlq.sent.every((request) => request.dlqIds.length === 1)).toBe(true);
      // A lineage never has more attempts than allowed.
      for (const [lineage, same] of Map.groupBy(intents, ({ proposal }) =>
        'lineage' in proposal ? proposal.lineage : '',
      )) {
        const effects = same.filter((intent) => !['rejected', 'confirmed_not_applied'].includes(intent.outcome ?? ''));
        expect(effects.length, lineage).toBeLessThanOrEqual(3);
      }
      expect(w.runs()).not.toContain('failed');
    }),
    { numRuns: 150 },
  );
});

/**
 * Random sequences of responses, crashes, waits and repeated failures. No id has its effect twice. An id is sent again
 * only if the previous request provably had no effect. No cap is exceeded, and the outcomes account for every planned
 * action.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { casesOf } from '../../support/property-cases.ts';
import { answersOf, crash, isCommon, stepsOf, takeStep } from './random-steps.ts';
import { HOUR, MINUTE, NEVER, SETTLE, world, type World } from './world.ts';

const ANSWERS = answersOf('good', 'lost', 'late', 'never_arrived', 'refused', 'rate_limited', 'no_run', 'forbidden');
const step = stepsOf({
  run: [20, { answers: ANSWERS }],
  crash: [8, { after: fc.nat(3), arrives: fc.boolean() }],
  wait: [12, { ms: fc.constantFrom(MINUTE, SETTLE, 20 * MINUTE, HOUR) }],
  settle: 5,
  observe: 5,
  restart: 5,
  add: 5,
  return: [8, { index: fc.nat(20), renamed: fc.boolean() }],
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const PER_HOUR = 6;

/** With the minute of a late request the lag stays within the settle time, which covers exactly such lags. */
const LAG = fc.constantFrom(0, MINUTE, SETTLE - MINUTE - 1);

async function perform(w: World, action: Step, returned: Set<number>): Promise<unknown> {
  if (isCommon(action)) return takeStep(w, action, returned);
  switch (action.do) {
    case 'run':
      w.dlq.answers = [...action.answers];
      return w.engine.run('resume-billing', NEVER);
    case 'crash':
      return crash(w, () => w.engine.run('resume-billing', NEVER), action);
    case 'add':
      return w.dlq.add();
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
    { numRuns: casesOf(150) },
  );
});

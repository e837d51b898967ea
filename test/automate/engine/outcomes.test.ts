/** The documentation of outcomes says what the program does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RUN_OUTCOMES, type Plan } from '#foundation/domain/plan.ts';
import { runNumbersText } from '#foundation/domain/counted.ts';
import { Rejections } from '#automate/engine/guard/rejections.ts';
import { concluded, unacted } from '#automate/engine/run/run-result.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { NEVER, policyOf, START, world } from './world.ts';

const doc = (name: string): string => readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8');

function planOf(over: Partial<Plan>): Plan {
  const none = { chosen: [], campaigns: [], skipped: [] };
  return { action: 'workflow-dlq.resume', state: 'held', matched: 1, backlog: 1, ...none, ...over } as Plan;
}

test.each(GUARDS)('docs/guards.md says if an objection of $name defers the run', ({ name }) => {
  const line = new RegExp(`^- <a id="${name}">.*`, 'm').exec(doc('guards.md'))!;
  const { outcome } = unacted(planOf({ stopped: { guard: name, reason: 'r' } }));
  expect(line[0].split('**: ')[1]!.startsWith('Defers')).toBe(outcome === 'deferred');
});

test('docs/policy-runs.md has every outcome, and no other', () => {
  const table = doc('policy-runs.md').split('## Outcomes of a run')[1]!.split('## ')[0]!;
  const named = [...table.matchAll(/^- `(\w+)`: /gm)].map(([, outcome]) => outcome);
  expect(new Set(named)).toEqual(new Set<string | undefined>(RUN_OUTCOMES));
});

test('the numbers of a run add up, and their text names the rest', () => {
  const counts = fc.array(fc.nat({ max: 50 }), { minLength: 7, maxLength: 7 });
  fc.assert(
    fc.property(counts, ([denied = 0, acted = 0, skipped = 0, failed = 0, unknown = 0, left = 0, later = 0]) => {
      const chosen = Array.from({ length: acted + skipped + failed + unknown + left }, () => ({ items: 1 }));
      const plan = planOf({
        state: 'changes',
        matched: denied + chosen.length + later,
        chosen: chosen as unknown as Plan['chosen'],
        backlog: later,
      });
      const result = concluded(policyOf(), plan, { acted, skipped, failed, unknown, left, done: acted });
      expect(result.matched).toBe(result.acted + result.backlog! + denied + skipped + failed + unknown);
      const rest = denied + skipped + failed + unknown;
      const text = runNumbersText(result);
      const leftText = left + later > 0 ? `, ${left + later} left` : '';
      expect(text).toContain(`${result.matched} matched: ${acted} acted on${leftText}`);
      expect(text.includes('denied or without effect')).toBe(rest > 0);
      const held = unacted({ ...plan, state: 'held', stopped: { guard: 'arrivals', reason: 'r' } });
      expect(held.matched).toBe(held.acted + held.backlog! + denied);
    }),
  );
});

test('outcomes that do not match the plan are an error, and say every figure', () => {
  const plan = planOf({ state: 'changes' });
  const totals = { acted: 1, skipped: 1, failed: 0, unknown: 1, left: 1, done: 1 };
  const unbalanced = { guard: 'outcome_mismatch', reason: 'planned 5, but acted 1' };
  expect(concluded(policyOf(), plan, totals, unbalanced)).toMatchObject({
    outcome: 'failed',
    acted: 1,
    error: 'outcome_mismatch: planned 5, but acted 1',
    stopped: unbalanced,
  });
  const balanced = concluded(policyOf(), plan, { ...totals, left: 2 });
  expect(balanced).toMatchObject({ outcome: 'acted', detail: '1 acted, 1 skipped, 1 unknown, 2 not sent' });
});

describe('a run says', () => {
  test('on how many entries it would act in audit, with the number that a plan matches', async () => {
    const w = world({ policy: { mode: 'audit' }, entries: [{}, {}, {}, { labels: ['billing', 'no-auto'] }] });
    const planned = await w.engine.plan('resume-billing', { by: 'ann', keep: false }, NEVER);
    await w.engine.run('resume-billing', NEVER);
    const [last] = await w.ledger.lastRuns();
    expect(planned).toMatchObject({ plan: { matched: 4 } });
    expect(last).toMatchObject({ outcome: 'would_act', matched: 4, acted: 0, backlog: 3 });
    expect(last!.detail).toBe('would act on 3 now; denied: 1 protected');
  });

  test('nothing about the number of matches during a pause', async () => {
    const w = world({ entries: 1 });
    w.pause = '/etc/PAUSE exists';
    await w.engine.run('resume-billing', NEVER);
    const [last] = await w.ledger.lastRuns();
    expect(last).toMatchObject({ outcome: 'held', acted: 0 });
    expect(last).not.toHaveProperty('matched', expect.anything());
    expect(runNumbersText(last!)).toBe('number of matches unknown, 0 acted on');
    expect(w.lastRun()).not.toHaveProperty('backlog', expect.anything());
  });
});

describe('an earlier policy', () => {
  const closed = [{ days: 'sun', from: '00:00', to: '00:01', timezone: 'UTC' }];
  const byHand = { on: { hand: true } };
  test.each([
    ['with a closed window keeps its entries from a later resume', { windows: closed }, 'workflow-dlq.resume', 0],
    ['that runs only manually leaves them to a later resume', byHand, 'workflow-dlq.resume', 1],
  ])('%s', async (_what, over, _type, sent) => {
    const w = world({ policies: [policyOf({ name: 'first', ...over }), policyOf({ name: 'second' })] });
    w.dlq.add({ createdAt: START - 3_600_000 });
    await w.engine.run('second', NEVER);
    expect(w.dlq.sent).toHaveLength(sent);
    expect(w.lastRun().outcome).toBe(sent === 0 ? 'denied' : 'acted');
  });
});

test('a manual plan says that the default where does not apply', async () => {
  const w = world({ entries: [{ responseStatus: 422 }] });
  const selection = { action: 'resume' as const, ids: ['dlq-001'] };
  const made = await w.engine.planManually({ by: 'ann', reason: 'go', selection }, NEVER);
  expect(made).toMatchObject({
    plan: {
      notes: expect.arrayContaining([expect.stringMatching(/does not apply .*: 1 of these entries/)]) as string[],
    },
  });
});

test('the oldest rejections are dropped first', () => {
  const rejections = new Rejections();
  for (let i = 0; i <= 10_000; i++) rejections.add('a', `dlq-${i}`, i);
  expect(rejections.of('a', 'dlq-0')).toBeUndefined();
  expect(rejections.of('b', 'dlq-1')).toBeUndefined();
  rejections.add('a', 'dlq-1', 20_000);
  rejections.add('a', 'dlq-new', 20_001);
  expect(rejections.of('a', 'dlq-1')).toEqual({ count: 2, at: 20_000 });
  expect(rejections.of('a', 'dlq-2')).toBeUndefined();
});

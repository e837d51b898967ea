import { expect, test } from 'vitest';
import type { Plan } from '#foundation/domain/plan.ts';
import { Rejections } from '#automate/engine/guard/rejections.ts';
import { concluded } from '#automate/engine/run/run-result.ts';
import { planOf, policyOf, world } from './world.ts';

async function planOver(entries: number): Promise<Plan> {
  const w = world();
  for (let i = 0; i < entries; i++) w.dlq.add();
  return planOf(w);
}

test('outcomes that do not match the plan are an error, and say every figure', async () => {
  const plan = await planOver(5);
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

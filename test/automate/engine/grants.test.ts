/** Scope of an approval, for actions without ids or after an edit of the policy. */
import { describe, expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { IdentifiedPlan } from '#foundation/domain/plan.ts';
import { policyOf } from '../../support/policies.ts';
import { HOUR, MINUTE, NEVER, type World, world, pendingPlans } from './world.ts';

const ME = { by: 'tom' };

async function pending(w: World): Promise<IdentifiedPlan> {
  return (await pendingPlans(w))[0]!.plan;
}

describe('an approved prune', () => {
  const prune = (over: object = {}) =>
    policyOf('message-dlq.prune', {
      name: 'prune',
      account: 'production',
      mode: 'approve',
      limits: { maxPerRun: 50, maxPerHour: 1_000 },
      ...over,
    });

  function dead(over: object = {}): World {
    const w = world({ policies: [prune(over)], guards: GUARDS });
    w.dlq.messages = 1_000;
    return w;
  }

  test('is applied in one run, once, and then requires approval again', async () => {
    const w = dead();
    await w.engine.run('prune', NEVER);
    await w.engine.approve((await pending(w)).id, ME);
    for (let i = 0; i < 3; i++) await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toEqual([1, 49]);
    expect(w.lastRun()).toMatchObject({ outcome: 'pending_approval' });
    await w.engine.apply((await pending(w)).id, ME, NEVER);
    await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toEqual([1, 49, 1, 49]);
  });

  test.each([
    ['other filters', { select: { anyLabel: ['other'] } }],
    ['an older beginning', { select: { failedWithin: '60d' } }],
  ])('is none for %s', async (_what, over) => {
    const w = dead({ select: { failedWithin: '30d' } });
    await w.engine.run('prune', NEVER);
    const { id } = await pending(w);
    w.restart({ policies: [prune({ select: { failedWithin: '30d', ...over.select } })] });
    expect(await w.engine.approve(id, ME)).toMatchObject({ ok: false, code: 'expired' });
    expect(await w.engine.apply(id, ME, NEVER)).toMatchObject({ ok: false, code: 'expired' });
    w.restart({ policies: [prune({ select: { failedWithin: '30d' } })] });
    expect(await w.engine.approve(id, ME)).toMatchObject({ ok: true });
    w.restart({ policies: [prune({ select: { failedWithin: '30d', ...over.select } })] });
    await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toEqual([]);
  });

  test('deletes no more and nothing later than shown, whatever the policy says since', async () => {
    const w = dead();
    const toDates: unknown[] = [];
    await w.engine.run('prune', NEVER);
    await w.engine.approve((await pending(w)).id, ME);
    const wider = prune({ select: { failedBefore: '1h' }, limits: { maxPerRun: 500, maxPerHour: 1_000 } });
    w.restart({ policies: [wider] });
    await w.engine.run('prune', NEVER);
    for (const { proposal } of await w.ledger.recentActions(9)) {
      if (proposal.action === 'message-dlq.prune') toDates.push(proposal.filter.toDate);
    }
    expect(w.dlq.pruned).toEqual([1, 49]);
    expect(new Set(toDates)).toEqual(new Set([w.clock.now() - 14 * 24 * HOUR]));
  });

  test('that showed no page deletes none', async () => {
    const w = dead({ mode: 'enforce', limits: { maxPerRun: 50, maxPerHour: 50, probation: { runs: 1 } } });
    await w.engine.run('prune', NEVER);
    await w.engine.run('prune', NEVER);
    const planned = await w.engine.plan('prune', { by: 'tom', keep: true }, NEVER);
    await w.clock.advance(59 * MINUTE);
    w.restart({ policies: [prune({ mode: 'enforce' })] });
    if (planned.ok) await w.engine.apply(planned.plan.id!, ME, NEVER);
    expect(w.dlq.pruned).toEqual([1, 49]);
  });
});

test('an approval of resumes does not cover deletes by a policy of the same name', async () => {
  const common = { name: 'billing', account: 'production', mode: 'approve' };
  const w = world({ policies: [policyOf('workflow-dlq.resume', common)], guards: GUARDS });
  const action = { archive: { dir: '/nonexistent', require: false }, grace: '1h' };
  const deletes = policyOf('workflow-dlq.delete', { ...common, where: 'entry.cause == "transient"', action });
  w.dlq.add();
  await w.engine.run('billing', NEVER);
  const { id } = await pending(w);
  w.restart({ policies: [deletes] });
  expect(await w.engine.approve(id, ME)).toMatchObject({
    ok: false,
    message: `The policy of plan ${id} has changed since. \`opsd plan billing --keep\` makes a new one.`,
  });
  w.restart({ policies: [policyOf('workflow-dlq.resume', common)] });
  await w.engine.approve(id, ME);
  w.restart({ policies: [deletes] });
  await w.engine.run('billing', NEVER);
  await w.clock.advance(2 * HOUR);
  await w.engine.run('billing', NEVER);
  expect(w.dlq.deleted).toEqual([]);
  expect(w.lastRun()).toMatchObject({ outcome: 'pending_approval' });
  expect(await pending(w)).toMatchObject({ action: 'workflow-dlq.delete' });
});

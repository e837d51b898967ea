/** Effects of a changed local clock: none may spend a limit or let it expire. */
import { expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import { policyOf } from '../../support/policies.ts';
import { HOUR, MINUTE, NEVER, run, sentIds, SETTLE, world, settleAfter, ran } from './world.ts';

const DAY = 24 * HOUR;

test('a run sends one read first when the service has not responded yet', async () => {
  const w = world({ entries: 1 });
  w.facts = { clockSkewMs: () => (w.dlq.listings.length > 0 ? 0 : undefined) };
  await run(w);
  expect(w.dlq.listings[0]).toEqual({ count: 1 });
  expect(sentIds(w)).toEqual(['dlq-001']);
});

test.each([
  ['workflow-dlq.resume', {}],
  ['workflow-dlq.delete', {}],
  ['message-dlq.delete', {}],
  ['message-dlq.prune', {}],
  ['budget.raise', {}],
] as const)('%s is held until the service has responded, and while the clocks differ', async (type, over) => {
  const w = world({
    policies: [policyOf(type, { name: 'test', account: 'production', mode: 'enforce', ...over })],
    guards: GUARDS,
  });
  for (const skew of [undefined, -61_000, 31 * DAY]) {
    w.facts = { clockSkewMs: () => skew };
    await w.engine.run('test', NEVER);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'clock' } });
  }
});

test('a run ends when the clock jumps between two requests', async () => {
  const w = world({ entries: 3 });
  w.facts = { clockSkewMs: () => (w.dlq.sent.length > 0 ? DAY : 0) };
  await run(w);
  expect(sentIds(w)).toHaveLength(1);
  expect(w.lastRun()).toMatchObject({ acted: 1, stopped: { guard: 'clock' } });
});

test('a clock jump during a request does not shorten the wait for its outcome', async () => {
  const w = world({ entries: 1 });
  w.dlq.answers = ['never_arrived'];
  w.dlq.onResume = () => w.clock.jump(-DAY);
  await run(w);
  w.clock.jump(DAY);
  await w.engine.settle(NEVER);
  expect(await w.ledger.recentActions(1)).toMatchObject([{ outcome: 'unknown' }]);
  await settleAfter(w, SETTLE);
  expect(await w.ledger.recentActions(1)).toMatchObject([{ outcome: 'confirmed_not_applied' }]);
});

test.each([-31 * DAY, 31 * DAY])(
  'a restart with a clock that is %i ms off neither shortens nor extends the wait for a lost action',
  async (off) => {
    const w = world({ entries: 1 });
    const crashed = Promise.withResolvers<void>();
    w.dlq.onResume = async () => {
      crashed.resolve();
      await new Promise<never>(() => undefined);
    };
    await Promise.race([run(w), crashed.promise]);
    w.clock.jump(off);
    w.facts = { clockSkewMs: () => off };
    w.restart();
    await w.engine.recover(NEVER);
    w.clock.jump(-off);
    w.facts = {};
    await settleAfter(w, SETTLE - 1);
    expect(await w.ledger.recentActions(1)).toMatchObject([{ outcome: 'unknown' }]);
    await settleAfter(w, 1);
    expect(await w.ledger.recentActions(1)).toMatchObject([{ outcome: 'confirmed_not_applied' }]);
  },
);

test('a changed clock causes no verdict on a step and no halt of a campaign', async () => {
  const w = await ran({ guards: GUARDS, entries: 3, answers: ['never_arrived'] });
  w.clock.jump(DAY);
  w.facts = { clockSkewMs: () => DAY };
  await w.engine.settle(NEVER);
  expect(await w.ledger.campaigns()).toMatchObject([{ state: 'settling', halts: 0 }]);
});

test('a plan is not saved during a clock change: it could be applied for too long', async () => {
  const w = world({ entries: 1 });
  w.facts = { clockSkewMs: () => DAY };
  const planned = await w.engine.plan('resume-billing', { by: 'tom', keep: true }, NEVER);
  expect(planned).toMatchObject({ ok: true, plan: { matched: 1, stopped: { guard: 'clock' } } });
  expect(await w.ledger.storedPlans(['draft'], 0)).toEqual([]);
});

test('a window is counted longer while it reaches back to a time before the clock change', async () => {
  const w = world({ policy: { limits: { maxPerHour: 1 } } });
  const set = w.clock.now() + MINUTE;
  w.facts = { steadySince: () => set };
  for (let i = 0; i < 2; i++) w.dlq.add();
  await run(w);
  await w.clock.advance(HOUR);
  await run(w);
  expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'caps' } });
  expect(sentIds(w)).toHaveLength(1);
  await w.clock.advance(MINUTE);
  await run(w);
  expect(sentIds(w)).toHaveLength(2);
});

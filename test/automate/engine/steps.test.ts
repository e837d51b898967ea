/** Steps of campaigns while they are being sent. */
import { describe, expect, test } from 'vitest';
import { engineSettings } from '#automate/policies/settings.ts';
import { retryHorizon } from '#automate/guardrails/campaign.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { MINUTE, NEVER, planOf, policyOf, run, sentIds, START, world, type World, settleAfter, ran } from './world.ts';

test('a step is judged when it is complete, though its first entries are known to have failed before', async () => {
  const w = world({ policy: { ramp: { start: 3 } }, guards: GUARDS, entries: 3 });
  w.facts = { resumeEnded: (_account, _message, end) => end === 'failed' };
  w.dlq.onResume = async (dlqId) => {
    if (dlqId === 'dlq-003') await w.engine.settle(NEVER);
  };
  const changes = () => w.events.filter(({ type }) => type === 'campaign.changed');
  await run(w);
  expect(sentIds(w)).toHaveLength(3);
  expect(changes()).toEqual([]);
  expect(await w.ledger.campaigns()).toMatchObject([{ state: 'settling', step: 1, judged: 0 }]);
  await w.engine.settle(NEVER);
  expect(changes()).toMatchObject([{ state: 'halted' }]);
  expect(await w.ledger.campaigns()).toMatchObject([{ state: 'halted', halts: 1, judged: 3 }]);
});

test.each([
  ['enforce', [], ['dlq-001']],
  ['approve', ['resume-billing'], ['dlq-001', 'dlq-002', 'dlq-003', 'dlq-004']],
])('a policy with approval in %s continues by itself up to the approved scope', async (mode, soon, ids) => {
  const w = world({ policy: { mode, on: { hand: true } }, guards: GUARDS, entries: 4 });
  const planned = await w.engine.plan('resume-billing', { by: 'tom', keep: true }, NEVER);
  if (planned.ok) await w.engine.apply(planned.plan.id!, { by: 'tom' }, NEVER);
  w.dlq.add();
  await settleAfter(w, 6 * MINUTE);
  expect(await w.ledger.campaigns()).toMatchObject([{ state: 'ready', step: 2 }]);
  expect(w.soon).toEqual(soon);
  for (const policy of w.soon) await run(w, NEVER, policy);
  expect(sentIds(w)).toEqual(ids);
});

describe('how long a step settles', () => {
  const SECONDS = 1_000;
  /** A campaign of one entry a step, settling for 5 minutes. */
  const policyOfSteps = (ramp: object = {}, action: object = {}) =>
    policyOf({ ramp: { max: 1, ...ramp }, action: { type: 'workflow-dlq.resume', ...action } });

  async function settling(policy = policyOfSteps()): Promise<World> {
    const w = await ran({ policies: [policy], guards: GUARDS, entries: 3 });
    expect(await w.ledger.campaigns()).toMatchObject([{ state: 'settling', until: START + 5 * MINUTE }]);
    return w;
  }

  async function judgedAfter(w: World, ms: number, step: number): Promise<void> {
    await settleAfter(w, ms - 1);
    expect(await w.ledger.campaigns()).toMatchObject([{ state: 'settling', step }]);
    await settleAfter(w, 1);
    expect(await w.ledger.campaigns()).toMatchObject([{ state: 'ready', step: step + 1 }]);
  }

  async function overruled(w: World, settle: string): Promise<{ reason: string; apply: () => Promise<unknown> }> {
    const overrule = { settings: { 'ramp.settle': settle }, reason: 'the destination is watched' };
    const planned = await w.engine.plan('resume-billing', { by: 'tom', keep: true, overrule }, NEVER);
    if (!planned.ok) throw new Error(planned.message);
    const { id, stopped } = planned.plan;
    const { reason = '' } = stopped ?? {};
    return { reason, apply: async () => w.engine.apply(id!, { by: 'tom' }, NEVER) };
  }

  test.each([
    ['lowered', '10s', 10 * SECONDS],
    ['raised', '20m', 20 * MINUTE],
  ])('follows a configuration that %s it while the step is in progress', async (_what, settle, ms) => {
    const w = await settling();
    w.restart({ policies: [policyOfSteps({ settle })] });
    await w.engine.recover(NEVER);
    expect(await w.ledger.campaigns()).toMatchObject([{ state: 'settling', until: START + ms }]);
    expect(w.events.filter(({ type }) => type === 'campaign.changed')).toEqual([]);
    await judgedAfter(w, ms, 1);
  });

  test('is overruled by a plan that is applied while the step is in progress, and the next one continues', async () => {
    const w = await settling();
    await w.clock.advance(30 * SECONDS);
    const { reason, apply } = await overruled(w, '20s');
    expect(reason).toMatch(/^step 1 is judged by the next listing;/);
    expect((await planOf(w)).campaigns[0]!.held?.reason).toMatch(/^step 1 settles; .*2025-11-20T12:05/);
    await apply();
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
    expect(await w.ledger.campaigns()).toMatchObject([{ state: 'settling', step: 2, verified: 1 }]);
    w.restart();
    await judgedAfter(w, 20 * SECONDS, 2);
    await run(w);
    await judgedAfter(w, 5 * MINUTE, 3);
  });

  test('is not overruled by a plan that is applied before the overruled time has passed', async () => {
    const w = await settling();
    const { reason, apply } = await overruled(w, '1m');
    expect(reason).toMatch(/^step 1 settles; .*2025-11-20T12:01:00Z/);
    const [before] = await w.ledger.campaigns();
    expect(await apply()).toMatchObject({ result: { outcome: 'deferred' }, stored: { state: 'draft' } });
    expect(await w.ledger.campaigns()).toEqual([before]);
    await w.clock.advance(MINUTE);
    expect(await apply()).toMatchObject({ result: { outcome: 'acted' } });
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
  });

  test.each([
    ['a destination that fails', (w: World) => (w.facts = { deliveries: () => ({ delivered: 0, all: 40 }) })],
    ['a pause', (w: World) => (w.pause = 'to look')],
    ['a full cap', (w: World) => w.restart({ settings: engineSettings.parse({ caps: { perHour: 1 } }) })],
  ])('is not overruled by a plan that %s holds when it is applied', async (_what, hold) => {
    const w = await settling();
    await w.clock.advance(30 * SECONDS);
    const { apply } = await overruled(w, '20s');
    const [before] = await w.ledger.campaigns();
    hold(w);
    expect(await apply()).toMatchObject({ result: { acted: 0 }, stored: { state: 'draft' } });
    expect(await w.ledger.campaigns()).toEqual([before]);
    expect(sentIds(w)).toEqual(['dlq-001']);
  });

  test('of a step without effect does not apply to the next', async () => {
    const w = world({ policies: [policyOfSteps()], guards: GUARDS, entries: 2 });
    w.dlq.answers = ['refused'];
    await (await overruled(w, '1s')).apply();
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
    await judgedAfter(w, 5 * MINUTE, 1);
  });

  test("is never shorter than the maximum duration of the step's retries", async () => {
    const w = await ran({ policies: [policyOfSteps({ max: 3 }, { retries: 2 })], guards: GUARDS, entries: 5 });
    await judgedAfter(w, 5 * MINUTE, 1);
    await run(w);
    const { reason, apply } = await overruled(w, '1s');
    expect(reason).toMatch(/^step 2 settles; .*2025-11-20T12:07:40.596Z/);
    await apply();
    expect(await w.ledger.campaigns()).toMatchObject([{ state: 'settling', step: 2, until: START + 10 * MINUTE }]);
    await w.clock.advance(retryHorizon(2));
    await apply();
    expect(await w.ledger.campaigns()).toMatchObject([{ state: 'settling', step: 3 }]);
  });

  test('does not end early when the log shows a delivery: a run is more than one message', async () => {
    const w = await settling();
    w.facts = { resumeEnded: (_account, _message, end) => end === 'delivered' };
    await judgedAfter(w, 5 * MINUTE, 1);
    expect(await w.ledger.campaigns()).toMatchObject([{ verified: 1 }]);
  });
});

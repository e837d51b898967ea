import { expect, test } from 'vitest';
import { policyOf as anyPolicy } from '../../support/policies.ts';
import { HOUR, MINUTE, NEVER, policyOf, run, SETTLE, START, world, settleAfter, ran } from './world.ts';

test('report the room of windows: each cap once, by its scope', async () => {
  const policies = [
    policyOf({ name: 'one', limits: { maxPerHour: 100, maxPerDay: 200 } }),
    policyOf({ name: 'two', limits: { maxPerHour: 50, maxPerDay: 60 } }),
    policyOf({ name: 'none', mode: 'off' }),
  ];
  const w = world({ policies, engine: { caps: { perHour: 500, perDay: 900 } }, entries: 3 });
  await run(w, undefined, 'one');
  const left = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      (await w.engine.readings(w.ledger)).caps.map(({ scope, window, remaining }) => [`${scope} ${window}`, remaining]),
    );
  expect(await left()).toEqual({
    'policy/one hour': 97,
    'policy/one day': 197,
    'policy/two hour': 50,
    'policy/two day': 60,
    'account/production hour': 497,
    'account/production day': 897,
    'engine hour': 497,
    'engine day': 897,
  });
  await w.clock.advance(HOUR + 5 * MINUTE);
  expect(await left()).toMatchObject({ 'policy/one hour': 100, 'policy/one day': 197, 'engine hour': 500 });
});

test('report unsettled actions, and whether this process may act', async () => {
  const w = world();
  expect(await w.engine.readings(w.ledger)).toMatchObject({ unknownOutcomes: 0, approvals: [], isLeader: true });
  expect(await w.engine.readings(w.ledger)).not.toHaveProperty('oldestIntentAt', expect.anything());
  w.dlq.add();
  w.dlq.answers = ['lost'];
  await run(w);
  expect(await w.engine.readings(w.ledger)).toMatchObject({ unknownOutcomes: 1, oldestIntentAt: START });
  const taken = { ...w.ledger, leaseLost: async () => 'another process has the store' };
  expect((await w.engine.readings(taken)).isLeader).toBe(false);
});

test('report how long a plan has waited for approval', async () => {
  const w = await ran({ policy: { mode: 'approve' }, entries: 1 });
  await w.clock.advance(MINUTE);
  await run(w);
  expect((await w.engine.readings(w.ledger)).approvals).toEqual([
    { account: 'production', policy: 'resume-billing', since: START },
  ]);
});

test('report pauses: the engine by the kill switch too, a policy by itself', async () => {
  const w = world();
  const paused = async () => Object.fromEntries((await w.engine.readings(w.ledger)).paused);
  expect(await paused()).toEqual({ engine: false, 'policy/resume-billing': false });
  await w.engine.pause({ policy: 'resume-billing', reason: 'test', by: 'me' });
  expect(await paused()).toEqual({ engine: false, 'policy/resume-billing': true });
  w.pause = 'file PAUSE';
  expect(await paused()).toEqual({ engine: true, 'policy/resume-billing': true });
});

test('a lasting unknown outcome raises one notification, however often it is checked', async () => {
  const policy = anyPolicy('budget.raise', { name: 'raise', account: 'production', mode: 'enforce' });
  const w = world({ policies: [policy] });
  const known = { knownUsd: 100, origin: 'configuration', assertedAt: START, maxAgeMs: 24 * HOUR } as const;
  const spend = { monthUsd: 90, last24hUsd: 5, medianDayUsd: 4, hoursLeft: 10, fresh: true };
  w.facts = { budget: () => ({ spend: { ...spend, at: w.clock.now() }, known }) };
  w.dlq.answers = ['lost', 'lost'];
  await run(w, NEVER, 'raise');
  await w.clock.advance(20 * MINUTE);
  await run(w, NEVER, 'raise');
  const outcomes = () => w.events.flatMap((event) => (event.type === 'action.outcome' ? [event.outcome] : []));
  for (let i = 0; i < 2; i++) {
    await settleAfter(w, SETTLE);
    expect(w.dlq.budgets).toHaveLength(i + 2);
    expect(outcomes()).toEqual(i === 0 ? ['unknown'] : ['unknown', 'confirmed_applied']);
  }
});

test.each(['abort', 'approve'] as const)('a run that the tripwire stops is remembered as such: %s', async (onTrip) => {
  const w = await ran({ policy: { limits: { maxMatched: 1, onTrip } }, entries: 1 });
  expect([...(await w.ledger.lastStops('tripwire', 0)).keys()]).toEqual([]);
  for (let i = 0; i < 2; i++) w.dlq.add();
  await w.clock.advance(MINUTE);
  await run(w);
  expect([...(await w.ledger.lastStops('tripwire', START)).keys()]).toEqual(['resume-billing']);
  expect([...(await w.ledger.lastStops('tripwire', w.clock.now())).keys()]).toEqual([]);
});

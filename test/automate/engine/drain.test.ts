import { expect, test } from 'vitest';
import type { PlanCampaign } from '#foundation/domain/plan.ts';
import { drainOf } from '#automate/engine/decide/drain.ts';
import type { ResumePolicy } from '#automate/policies/policy.ts';
import { MINUTE, policyOf, START } from './world.ts';

const policy = policyOf() as ResumePolicy;
const expiries = [1, 2, 3].map((n) => START + n * 20 * MINUTE);

function campaign(over: Partial<PlanCampaign>): PlanCampaign {
  return { group: 'g', state: 'ready', step: 1, now: 3, next: [], verified: 0, judged: 0, matched: 3, ...over };
}

test('the time that a halt lasts, or a step settles, is included, and expirations in between are reported', () => {
  const drain = (over: Partial<PlanCampaign>) => drainOf(policy, expiries, [campaign(over)], START);
  expect(drain({})).toEqual({ ms: 0, expiring: 0 });
  expect(drain({ state: 'halted', until: START + 30 * MINUTE })).toEqual({ ms: 30 * MINUTE, expiring: 1 });
  expect(drain({ state: 'settling', until: START + 5 * MINUTE })).toEqual({ ms: 5 * MINUTE, expiring: 0 });
  expect(drain({ state: 'halted', until: START - MINUTE })).toEqual({ ms: 0, expiring: 0 });
});

test('is unknown where a group waits for an operator', () => {
  expect(drainOf(policy, expiries, [campaign({ state: 'audit' })], START)).toBeUndefined();
  expect(drainOf(policy, [Infinity, Infinity], [campaign({})], START)).toEqual({ ms: 0 });
});

test('the number of expiries is a lower bound where some are unknown', () => {
  const halted = campaign({ state: 'halted', until: START + 30 * MINUTE });
  expect(drainOf(policy, [...expiries, Infinity, Infinity], [halted], START)).toEqual({
    ms: 30 * MINUTE,
    expiring: 1,
    unknownExpiries: 2,
  });
});

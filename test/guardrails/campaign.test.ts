/** The two incidents of a bulk repair as pure simulations, and the rules of a campaign at their bounds. */
import { expect, test } from 'vitest';
import type { Campaign } from '../../src/domain/campaign.ts';
import { begin, breaker, drained, judge, reopen, retryHorizon, sent } from '../../src/guardrails/campaign.ts';

const NOW = Date.UTC(2025, 10, 20, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const RAMP = { start: 1, factor: 3, max: 500, settle: 5 * MINUTE };

function begun(ramp = RAMP): Campaign {
  return begin({ id: 'p/1', policy: 'p', account: 'a', group: 'g', ramp, now: NOW });
}

interface Sent {
  readonly at: number;
  readonly count: number;
}

/** Looks every 15 seconds, as the engine does: judges what settled, reopens what may be, sends what is allowed. */
function simulate(options: { readonly entries: number; readonly until: number; succeeds(at: number): boolean }): {
  readonly steps: readonly Sent[];
  readonly campaign: Campaign;
  readonly at: number;
} {
  const steps: Sent[] = [];
  let left = options.entries;
  let campaign = begun();
  let at = NOW;
  for (; at < options.until && campaign.state !== 'ended'; at += 15_000) {
    const last = steps.at(-1);
    if (last !== undefined && campaign.state === 'settling') {
      const good = options.succeeds(last.at);
      campaign = judge(
        campaign,
        { verified: good ? last.count : 0, failed: good ? 0 : last.count, undecided: 0 },
        RAMP,
        at,
      );
    }
    campaign = reopen(campaign, at);
    if (left === 0) campaign = drained(campaign);
    else if (campaign.state === 'ready') {
      const count = Math.min(left, campaign.size);
      left -= count;
      steps.push({ at, count });
      campaign = sent(campaign, { count, now: at, horizonMs: retryHorizon(1), ramp: RAMP });
    }
  }
  return { steps, campaign, at };
}

test('after a repair 5,000 entries are drained within two hours: 1, 3, 9, … 500', () => {
  const { steps, campaign, at } = simulate({ entries: 5_000, until: NOW + 24 * HOUR, succeeds: () => true });
  expect(campaign).toMatchObject({ state: 'ended', judged: 5_000, verified: 5_000 });
  expect(steps.map((step) => step.count).slice(0, 8)).toEqual([1, 3, 9, 27, 81, 243, 500, 500]);
  expect(at - NOW).toBeLessThanOrEqual(2 * HOUR);
});

test('while every resumed run fails, three canaries are lost, spaced by the breaker, and then the group is in audit', () => {
  const { steps, campaign } = simulate({ entries: 5_000, until: NOW + 24 * HOUR, succeeds: () => false });
  expect(steps.map((step) => step.count)).toEqual([1, 1, 1]);
  const gaps = steps.slice(1).map((step, i) => step.at - steps[i]!.at);
  expect(gaps).toEqual([30 * MINUTE + 15_000, 2 * HOUR + 15_000]);
  expect(campaign).toMatchObject({
    state: 'audit',
    judged: 3,
    verified: 0,
    reason: '3 halts in a row, the last: the probe failed: 1 of 1',
  });
  expect(breaker(campaign)).toBe('open');
});

test('after the fix of a bad deploy the next canary reopens the group', () => {
  const { steps, campaign } = simulate({
    entries: 50,
    until: NOW + 24 * HOUR,
    succeeds: (at) => at > NOW + HOUR,
  });
  expect(steps.map((step) => step.count)).toEqual([1, 1, 1, 3, 9, 27, 8]);
  expect(campaign).toMatchObject({ state: 'ended', halts: 0, verified: 48 });
});

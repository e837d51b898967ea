/** The two incidents of a bulk repair as pure simulations, and the rules of a campaign at their bounds. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Campaign } from '#foundation/domain/campaign.ts';
import {
  type Growth,
  type StepResults,
  begin,
  breaker,
  drained,
  judgeStep,
  lift,
  nextSizes,
  reopen,
  retryHorizon,
  sent,
} from '#automate/guardrails/campaign.ts';
import { arrivals, destination, ramp } from '#automate/guardrails/group-guards.ts';

const NOW = Date.UTC(2025, 10, 20, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const RAMP = { start: 1, factor: 3, max: 500, settle: 5 * MINUTE };

function begun(ramp = RAMP): Campaign {
  return begin({ id: 'p/1', policy: 'p', account: 'a', group: 'g' }, { ramp, now: NOW });
}

interface Sent {
  readonly at: number;
  readonly count: number;
}

/** Evaluates every 15 seconds, as the engine does: judges settled steps, reopens groups, sends allowed entries. */
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
      campaign = judgeStep(
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

test('while every resumed run fails, four canaries are lost, spaced by the breaker, and then the group is in audit', () => {
  const { steps, campaign } = simulate({ entries: 5_000, until: NOW + 24 * HOUR, succeeds: () => false });
  expect(steps.map((step) => step.count)).toEqual([1, 1, 1, 1]);
  const gaps = steps.slice(1).map((step, i) => step.at - steps[i]!.at);
  expect(gaps).toEqual([30 * MINUTE + 15_000, 2 * HOUR + 15_000, 6 * HOUR + 15_000]);
  expect(campaign).toMatchObject({
    state: 'audit',
    judged: 4,
    verified: 0,
    reason: '4 halts in a row, the last: the probe failed: 1 of 1',
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

/** Returns the sum of the last entries. */
function last(counts: readonly number[], looks: number): number {
  return counts.slice(-looks).reduce((sum, count) => sum + count, 0);
}

test.each([
  ['16 messages a minute', 4],
  ['no other traffic', 0],
])('a destination is down for two hours and 5,000 runs fail; with %s', (_what, traffic) => {
  const repairedAt = NOW + 2 * HOUR;
  const perLook = 15_000;
  const failures: number[] = [];
  const delivered: number[] = [];
  const steps: Sent[] = [];
  let campaign = begun();
  let left = 0;
  let at = NOW;
  for (; at < NOW + 24 * HOUR && (at < repairedAt || campaign.state !== 'ended'); at += perLook) {
    const isDown = at < repairedAt;
    const failed = isDown ? 5_000 / 480 : 0;
    failures.push(failed);
    delivered.push(isDown ? 0 : traffic);
    left += failed;

    const out = steps.at(-1);
    if (out !== undefined && campaign.state === 'settling') {
      const good = out.at >= repairedAt;
      const results = { verified: good ? out.count : 0, failed: good ? 0 : out.count, undecided: 0 };
      const next = judgeStep(campaign, results, RAMP, at);
      if (next !== campaign && !good) left += out.count;
      campaign = next;
    }
    campaign = reopen(campaign, at);
    if (left < 1 && !isDown) campaign = drained(campaign);
    const all = Math.min(60, delivered.length) * traffic;
    const facts = {
      action: 'workflow-dlq.resume',
      group: 'g',
      matched: Math.round(left),
      deliveries: { delivered: last(delivered, 60), all },
      deliveriesMs: 900_000,
      arrivals: { last10m: Math.round(last(failures, 40)), baseline10m: Math.round(last(failures, 5_760)) / 144 },
      campaign,
      now: at,
    } as const;
    const count = Math.min(...[destination, arrivals, ramp].map((guard) => guard(facts).allowed));
    if (count === 0) continue;
    left -= count;
    steps.push({ at, count });
    campaign = sent(campaign, { count, now: at, horizonMs: retryHorizon(1), ramp: RAMP });
  }
  const lost = steps.filter((step) => step.at < repairedAt);
  const [canary] = steps.filter((step) => step.at >= repairedAt);
  expect(lost.map((step) => step.count)).toEqual([1]);
  expect(at - repairedAt).toBeLessThanOrEqual(2 * HOUR);
  expect(canary).toMatchObject({ count: 1 });
  expect(canary!.at - repairedAt).toBeLessThanOrEqual(15 * MINUTE);
  expect(campaign).toMatchObject({ state: 'ended', halts: 0 });
  expect(steps.reduce((sum, step) => sum + step.count, 0)).toBeGreaterThanOrEqual(5_000);
});

/** A campaign whose step of this size is sent and can be judged from NOW. */
function out(over: Partial<Campaign> = {}): Campaign {
  return { ...begun(), state: 'settling', sentAt: NOW - 5 * MINUTE, until: NOW, step: 4, size: 27, ...over };
}

function judged(campaign: Campaign, results: Partial<StepResults>, ramp: Growth = RAMP): Campaign {
  return judgeStep(campaign, { verified: 0, failed: 0, undecided: 0, ...results }, ramp, NOW);
}

/** Builds results of these numbers, successes first. */
function past(good: number, bad: number): boolean[] {
  return [...Array.from({ length: good }, () => true), ...Array.from({ length: bad }, () => false)];
}

test('begins with start, and never with more than max', () => {
  expect(begun()).toMatchObject({ state: 'ready', step: 1, size: 1, halts: 0, judged: 0 });
  expect(begun({ ...RAMP, start: 20, max: 10 }).size).toBe(10);
});

describe('sent', () => {
  const act = { count: 1, now: NOW, horizonMs: 0, ramp: RAMP };

  test('waits for the longer of settle and horizon, counted from the last act', () => {
    const first = sent(begun(), act);
    expect(first).toMatchObject({ state: 'settling', step: 1, sentAt: NOW, until: NOW + 5 * MINUTE });
    expect(sent(begun(), { ...act, horizonMs: HOUR }).until).toBe(NOW + HOUR);
    expect(sent(first, { ...act, now: NOW + 1 })).toMatchObject({ sentAt: NOW + 1, until: NOW + 5 * MINUTE + 1 });
  });

  test('an action with a short horizon does not shorten the wait for one with a long', () => {
    const first = sent(begun(), { ...act, horizonMs: HOUR });
    expect(sent(first, { ...act, now: NOW + 1 }).until).toBe(NOW + HOUR);
  });

  test('no request changes nothing, and neither does an action of a group that must not send', () => {
    expect(sent(begun(), { ...act, count: 0 })).toEqual(begun());
    for (const state of ['halted', 'audit', 'ended'] as const) {
      expect(sent({ ...begun(), state }, act)).toEqual({ ...begun(), state });
    }
  });
});

describe('judge: when', () => {
  test('not before the step has settled', () => {
    const early = out({ until: NOW + 1 });
    expect(judged(early, { verified: 27 })).toBe(early);
    expect(judged(early, { verified: 26, failed: 1 })).toBe(early);
    expect(judged(early, { undecided: 26, failed: 1 })).toBe(early);
    expect(judged(early, {})).toBe(early);
  });

  test('but at once when all of it failed', () => {
    expect(judged(out({ until: NOW + HOUR, size: 1 }), { failed: 1 })).toMatchObject({
      state: 'halted',
      until: NOW + 30 * MINUTE,
    });
  });

  test('an undecided action blocks for 45 minutes and then counts as failed', () => {
    const blocked = out({ sentAt: NOW - 45 * MINUTE + 1, size: 1 });
    expect(judged(blocked, { undecided: 1 })).toBe(blocked);
    const late = judged(out({ sentAt: NOW - 45 * MINUTE, size: 1 }), { undecided: 1 });
    expect(late).toMatchObject({ state: 'halted', judged: 1, verified: 0, reason: 'the canary failed: 1 of 1' });
  });

  test('only a sent step', () => {
    for (const state of ['ready', 'halted', 'audit', 'ended'] as const) {
      const campaign = { ...out(), state };
      expect(judged(campaign, { failed: 27 })).toBe(campaign);
    }
  });
});

describe('judge: how', () => {
  test('an unknown step is sent again in the same size, as another step', () => {
    const next = judged(out({ halts: 1, size: 1 }), {});
    expect(next).toMatchObject({ state: 'ready', step: 5, size: 1, halts: 1, judged: 0 });
    expect(next.until).toBeUndefined();
    expect(next.sentAt).toBeUndefined();
  });

  test.each([
    ['all verified', 27, 27, 0, 81],
    ['no more than max', 243, 243, 0, 500],
    ['only as far as was verified', 100, 40, 0, 120],
    ['but no less than it had', 100, 10, 0, 100],
    ['0.9 is verified', 30, 27, 3, 81],
    ['below 0.9 halves', 30, 26, 4, 15],
    ['an odd size halves down', 27, 20, 7, 13],
    ['one of nine is bad', 9, 8, 1, 4],
  ])(
    '%s: a step of %i with %i verified and %i failed is followed by one of %i',
    (_what, size, verified, failed, to) => {
      const next = judged(out({ size, recent: past(50, 0), judged: 50, verified: 50 }), { verified, failed });
      expect(next).toMatchObject({ state: 'ready', step: 5, size: to, judged: 50 + verified + failed });
      expect(next.verified).toBe(50 + verified);
    },
  );

  test('a fraction as factor still grows', () => {
    expect(judged(out({ size: 1 }), { verified: 1 }, { ...RAMP, factor: 1.2 }).size).toBe(2);
  });

  test('a step no larger than start is a canary: if it fails, it halts', () => {
    const ramp = { ...RAMP, start: 5 };
    const recent = past(50, 0);
    expect(judged(out({ size: 5, recent }), { verified: 4, failed: 1 }, ramp)).toMatchObject({
      state: 'halted',
      size: 1,
      halts: 1,
      until: NOW + 30 * MINUTE,
      reason: 'the canary failed: 1 of 5',
    });
    expect(judged(out({ size: 6, recent }), { verified: 4, failed: 1 }, ramp)).toMatchObject({
      state: 'ready',
      size: 3,
    });
  });

  test('a breaker can be set to stay open for another time, and one more halt ends in audit', () => {
    const ramp: Growth = { start: 1, factor: 3, max: 500, settle: 5 * MINUTE, breaker: [MINUTE] };
    const canary = { ...begun(), state: 'settling' as const, sentAt: NOW, until: NOW };
    const failed: StepResults = { verified: 0, failed: 1, undecided: 0 };
    const halted = judgeStep(canary, failed, ramp, NOW);
    expect(halted).toMatchObject({ state: 'halted', until: NOW + MINUTE, haltedAt: NOW });
    // The history shows the halt after the breaker has closed.
    expect(reopen(halted, NOW + MINUTE)).toMatchObject({ state: 'ready', haltedAt: NOW });
    expect(judgeStep({ ...canary, halts: 1 }, failed, ramp, NOW)).toMatchObject({ state: 'audit' });
  });

  test.each([
    ['2 failures among the first 10', 9, past(3, 1), 7, 1, { state: 'ready' }],
    ['3 failures among the first 10', 9, past(3, 1), 7, 2, { state: 'halted', reason: '3 of the first 10 failed' }],
    // With 9 known results, only one of this step can be among the first 10.
    ['failures that are not among the first 10', 27, past(8, 1), 24, 3, { state: 'ready' }],
    ['the third failure as the tenth result', 27, past(7, 2), 26, 1, { state: 'halted' }],
    ['the third failure after the tenth result', 27, past(8, 2), 26, 1, { state: 'ready' }],
    ['fewer than 10 known results, which have no share', 3, past(1, 0), 1, 2, { state: 'ready', size: 1 }],
    ['0.7 of the last 50', 50, past(50, 0), 35, 15, { state: 'ready', size: 25 }],
    ['below 0.7 of them', 50, past(50, 0), 34, 16, { state: 'halted', reason: '34 of the last 50 succeeded' }],
    ['below 0.7, although the step is good', 50, past(25, 15), 4, 0, { state: 'halted' }],
    ['a large step, weighed as a whole', 500, past(50, 0), 360, 140, { state: 'ready', size: 250 }],
    ['a large step below 0.7', 500, past(50, 0), 300, 200, { state: 'halted' }],
  ])('%s', (_what, size, recent, verified, failed, expected) => {
    expect(judged(out({ size, recent }), { verified, failed })).toMatchObject(expected);
  });
});

describe('halts', () => {
  test('open 30 minutes, 2 hours, 6 hours, and then the group is in audit', () => {
    const after = (halts: number) => judged(out({ size: 1, halts }), { failed: 1 });
    expect(after(1)).toMatchObject({ state: 'halted', halts: 2, until: NOW + 2 * HOUR });
    expect(after(2)).toMatchObject({ state: 'halted', until: NOW + 6 * HOUR });
    expect(after(3)).toMatchObject({ state: 'audit', halts: 4, until: undefined });
  });

  test('end in one canary, which is judged without the earlier failures', () => {
    const halted: Campaign = { ...begun(), state: 'halted', until: NOW, halts: 2, recent: past(7, 3), reason: 'x' };
    expect(reopen(halted, NOW - 1)).toBe(halted);
    const reopened = reopen(halted, NOW);
    expect(reopened).toMatchObject({ state: 'ready', size: 1, halts: 2, recent: [] });
    expect(reopened.reason).toBeUndefined();
    expect(breaker(reopened)).toBe('half-open');
    const ramp = { ...RAMP, start: 4 };
    const probed = judged({ ...reopened, state: 'settling' }, { verified: 1 }, ramp);
    expect(probed).toMatchObject({ state: 'ready', size: 12, halts: 0 });
    expect(breaker(probed)).toBe('closed');
  });

  test('verified results are reported only until a step fails', () => {
    const good = judged(out(), { verified: 27 });
    expect(good.verifiedAt).toBe(NOW);
    const settling = { ...good, state: 'settling', until: NOW } as const;
    expect(judged(settling, {}).verifiedAt).toBe(NOW);
    for (const campaign of [
      judged({ ...settling, recent: past(50, 0) }, { verified: 70, failed: 11 }),
      judged(settling, { failed: 81 }),
      lift({ ...good, state: 'halted' }),
      lift({ ...good, state: 'audit' }),
      reopen({ ...good, state: 'halted', until: NOW }, NOW),
    ])
      expect(campaign.verifiedAt).toBeUndefined();
  });

  test('only a halted group is reopened', () => {
    for (const state of ['ready', 'settling', 'audit', 'ended'] as const) {
      const campaign = { ...out(), state };
      expect(reopen(campaign, NOW)).toBe(campaign);
    }
  });

  test('an operator lifts a halt and the fallback to audit', () => {
    for (const state of ['halted', 'audit'] as const) {
      const lifted = lift({ ...out({ halts: 3, recent: past(0, 3) }), state, reason: 'x' });
      expect(lifted).toMatchObject({ state: 'ready', size: 1, halts: 0, recent: [] });
      expect(lifted).not.toHaveProperty('until', expect.anything());
    }
    expect(lift(out())).toEqual(out());
  });

  test('a group that drains keeps its breaker; one that is ready ends', () => {
    expect(drained(begun()).state).toBe('ended');
    expect(drained({ ...begun(), halts: 1 }).state).toBe('ready');
    for (const state of ['settling', 'halted', 'audit'] as const)
      expect(drained({ ...begun(), state }).state).toBe(state);
  });

  test('the breaker of the metric', () => {
    const named = (['ready', 'settling', 'halted', 'audit', 'ended'] as const).map((state) =>
      [0, 1].map((halts) => breaker({ ...begun(), state, halts })),
    );
    expect(named).toEqual([
      ['closed', 'half-open'],
      ['closed', 'half-open'],
      ['open', 'open'],
      ['open', 'open'],
      ['closed', 'half-open'],
    ]);
  });
});

test('the sizes that follow', () => {
  expect(nextSizes({ ...begun(), size: 27 }, RAMP)).toEqual([81, 243]);
  expect(nextSizes({ ...begun(), size: 243 }, RAMP)).toEqual([500, 500]);
  expect(nextSizes({ ...begun(), size: 1, halts: 1 }, { ...RAMP, start: 4 })).toEqual([12, 36]);
});

test('the retry horizon follows the backoff of the service, up to 45 minutes', () => {
  const seconds = [0, 1, 2, 3, 4, 100, undefined].map((retries) => Math.round(retryHorizon(retries) / 1_000));
  expect(seconds).toEqual([0, 12, 161, 1_969, 2_700, 2_700, 2_700]);
});

describe('in any order of events', () => {
  const growth = fc.record({
    start: fc.integer({ min: 1, max: 20 }),
    factor: fc.double({ min: 1, max: 10, noNaN: true }),
    max: fc.integer({ min: 20, max: 1_000 }),
    settle: fc.integer({ min: 0, max: HOUR }),
  });
  const count = fc.integer({ min: 0, max: 600 });
  const results = fc.record({ verified: count, failed: count, undecided: fc.oneof(fc.constant(0), count) });
  const event = fc.oneof(
    fc.record({ what: fc.constant('sent' as const), count, horizonMs: fc.integer({ min: 0, max: HOUR }) }),
    fc.record({ what: fc.constant('judge' as const), results }),
    fc.record({ what: fc.constantFrom('reopen' as const, 'lift' as const, 'drained' as const) }),
  );
  const history = fc.array(fc.tuple(event, fc.integer({ min: -HOUR, max: 3 * HOUR })), { maxLength: 60 });

  test('nothing throws, no step exceeds max, and only verified results cause growth', () => {
    fc.assert(
      fc.property(growth, history, (ramp, events) => {
        let campaign = begun(ramp);
        let now = NOW;
        for (const [event, passed] of events) {
          now += passed;
          const before = campaign;
          if (event.what === 'sent') campaign = sent(campaign, { ...event, now, ramp });
          else if (event.what === 'judge') campaign = judgeStep(campaign, event.results, ramp, now);
          else if (event.what === 'reopen') campaign = reopen(campaign, now);
          else campaign = { lift, drained }[event.what](campaign);

          const { state, size, until, sentAt, reason, recent, halts } = campaign;
          expect(Number.isInteger(size) && size >= 1 && size <= ramp.max).toBe(true);
          expect(recent.length).toBeLessThanOrEqual(50);
          expect(campaign.verified).toBeLessThanOrEqual(campaign.judged);
          expect(halts).toBeLessThanOrEqual(3);
          expect(until !== undefined).toBe(state === 'settling' || state === 'halted');
          expect(sentAt !== undefined).toBe(state === 'settling');
          expect(reason !== undefined).toBe(state === 'halted' || state === 'audit');
          if (size > before.size) {
            expect([before.state, event.what]).toEqual(['settling', 'judge']);
            expect(campaign.verified).toBeGreaterThan(before.verified);
            const earned = Math.max(campaign.verified - before.verified, ramp.start) * ramp.factor;
            expect(size).toBeLessThanOrEqual(Math.ceil(earned));
          }
          if (before.state === 'halted' && state !== 'halted' && event.what !== 'lift') {
            expect(now).toBeGreaterThanOrEqual(before.until!);
          }
          if (before.state === 'audit' && state !== 'audit') expect(event.what).toBe('lift');
          if (halts > before.halts && halts < 3) expect(until! - now).toBe([0, 30 * MINUTE, 2 * HOUR][halts]);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('when all fails from the start, start and three canaries are lost; later, about the present step and three canaries', () => {
    const looks = fc.array(
      fc.record({
        wait: fc.integer({ min: 1, max: 2 * HOUR }),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
        decided: fc.boolean(),
      }),
      { minLength: 10, maxLength: 80 },
    );
    fc.assert(
      fc.property(growth, fc.integer({ min: 0, max: 6 }), looks, (ramp, goodSteps, looks) => {
        let now = NOW;
        let campaign = begun(ramp);
        for (let i = 0; i < goodSteps; i += 1) {
          const { size } = campaign;
          campaign = sent(campaign, { count: size, now, horizonMs: 0, ramp });
          now = campaign.until!;
          campaign = judgeStep(campaign, { verified: size, failed: 0, undecided: 0 }, ramp, now);
        }
        // At most 15 of the last 50 may fail without a halt. The next step is half as large. A canary halts at once.
        const { size } = campaign;
        const most = (size <= ramp.start ? size : Math.max(size, 15 + Math.floor(size / 2))) + 3;
        let lost = 0;
        let step = 0;
        for (const { wait, share, decided } of looks) {
          now += wait;
          campaign = judgeStep(
            campaign,
            { verified: 0, failed: decided ? step : 0, undecided: decided ? 0 : step },
            ramp,
            now,
          );
          campaign = reopen(campaign, now);
          if (campaign.state !== 'ready') continue;
          step = Math.max(1, Math.floor(campaign.size * share));
          lost += step;
          campaign = sent(campaign, { count: step, now, horizonMs: retryHorizon(1), ramp });
        }
        expect(lost).toBeLessThanOrEqual(most);
      }),
      { numRuns: 500 },
    );
  });
});

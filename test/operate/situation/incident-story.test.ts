/** Story of an incident, and its failures and repairs over time. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CampaignStep } from '#foundation/domain/campaign.ts';
import { acknowledgmentText, stateWord } from '#foundation/domain/incident.ts';
import { rateOf } from '#foundation/domain/failure-rate.ts';
import { incidentHistory, incidentStory, type StoryFacts } from '#operate/situation/incident-story.ts';

const MINUTE = 60_000;
const STEPS: readonly CampaignStep[] = [
  { campaign: 'p/1', step: 1, at: 500, sent: 1, outcomes: [{ at: 480, outcome: 'verified', count: 1 }] },
  {
    campaign: 'p/1',
    step: 2,
    at: 600,
    sent: 3,
    outcomes: [
      { at: 660, outcome: 'verified', count: 1 },
      { at: 720, outcome: 'failed_again', count: 2 },
    ],
  },
  { campaign: 'p/1', step: 3, at: 800, sent: 1_200, outcomes: [] },
];
const FACTS: StoryFacts = {
  incident: {
    place: 'shop.example',
    firstAt: 100,
    lastAt: 900,
    ever: 7,
    reason: 'HTTP 503',
    isSinceKnown: true,
    acknowledged: { by: 'anna', note: 'vendor called', at: 400 },
    resolvedAt: 2_000,
    deliveries: { failed: 9, lost: 7, since: 100, lastAt: 900, isFailing: false, recoveringSince: 1_000 },
  },
  deploys: [{ at: 350, of: ['app.example.com'], version: 'v42', isRollback: false }],
  marks: [
    { at: 50, kind: 'version', detail: '1.2.3' },
    { at: 60, kind: 'configuration', detail: '9f3c2a' },
    { at: 90, kind: 'configuration', detail: '77ab policy p, limits' },
  ],
  plans: [{ id: 'ab12', policy: 'p', savedAt: 200, covers: 7, approvedBy: 'tom', approvedAt: 300 }],
  steps: STEPS,
  campaigns: [{ id: 'p/1', haltedAt: 730, reason: '2 of the last 3 failed' }, { id: 'p/2' }],
};

test('has everything in the order of time, as sentences, and no bare hash', () => {
  expect(incidentStory(FACTS).map(({ at, kind, text, plan = '' }) => [at, kind, text, plan])).toEqual([
    [50, 'change', 'The daemon started with version 1.2.3', ''],
    [90, 'change', 'The configuration of the daemon changed: policy p, limits', ''],
    [100, 'failure', 'The first failure: HTTP 503', ''],
    [200, 'person', 'p made the plan ab12 of 7 actions', 'ab12'],
    [300, 'person', 'tom approved the plan ab12', 'ab12'],
    [350, 'change', 'v42 was deployed: app.example.com', ''],
    [400, 'person', 'anna acknowledged it: vendor called', ''],
    [500, 'repair', 'Step 1 of the campaign p/1: 1 run resumed, 1 verified', ''],
    [600, 'failure', 'Step 2 of the campaign p/1: 3 runs resumed, 1 verified, 2 failed again', ''],
    [730, 'failure', 'The campaign p/1 halted: 2 of the last 3 failed', ''],
    [800, 'repair', 'Step 3 of the campaign p/1: 1,200 runs resumed', ''],
    [900, 'failure', 'The last failure, 7 dead letters so far', ''],
    [1_000, 'recovery', 'The destination delivers again', ''],
    [2_000, 'recovery', 'It was resolved', ''],
  ]);
  const earlier = { ...FACTS.incident, isSinceKnown: false, lastAt: 100 };
  expect(incidentStory({ ...FACTS, incident: earlier, marks: [], plans: [], steps: [], campaigns: [] })[0]!.text).toBe(
    'The first known failure: HTTP 503',
  );
});

test.each([
  [{ until: Date.UTC(2026, 10, 27, 16) }, 'until 2026-11-27 16:00:00Z', 'vendor called', ': vendor called'],
  [{ untilDeploy: true }, 'until a deploy of shop.example', '', ''],
])('a snooze has its end: %j', (end, until, note, why) => {
  const acknowledged = { by: 'anna', note, at: 400, ...end };
  const incident = { ...FACTS.incident, state: 'acknowledged', acknowledged } as const;
  const told = (one: typeof FACTS.incident) => incidentStory({ ...FACTS, incident: one }).map(({ text }) => text);
  expect(told(incident)).toContain(`anna snoozed it ${until}${why}`);
  expect(told(incident)).not.toContain('The snooze ended');
  expect(told({ ...incident, acknowledged: { ...acknowledged, endedAt: 450 } })).toContain('The snooze ended');
  expect(acknowledgmentText(incident)).toBe(`snoozed by anna ${until}${why}`);
  expect(stateWord(incident)).toBe('snoozed');
  expect(stateWord({ ...incident, state: 'recovering' })).toBe('recovering');
});

test('an acknowledgment is no snooze', () => {
  const incident = { ...FACTS.incident, state: 'acknowledged' } as const;
  expect([acknowledgmentText(incident), stateWord(incident)]).toEqual(['anna knows: vendor called', 'acknowledged']);
  expect(acknowledgmentText({ place: 'shop.example' })).toBeUndefined();
});

test('every failure and every final outcome is in one step of the history', () => {
  const time = fc.integer({ min: 0, max: 5_000 }).map((minutes) => minutes * MINUTE);
  const outcome = fc.record({
    at: time,
    outcome: fc.constantFrom('verified' as const, 'failed_again' as const),
    count: fc.integer({ min: 1, max: 50 }),
  });
  fc.assert(
    fc.property(fc.array(time, { minLength: 1 }), fc.array(outcome), time, (failures, outcomes, now) => {
      const history = incidentHistory({ rate: rateOf(failures) }, [{ ...STEPS[0]!, outcomes }], now)!;
      const { from, stepMs, failed, verified, failedAgain } = history;
      const counted = (counts: readonly number[], at: number): number => counts[Math.floor((at - from) / stepMs)] ?? 0;
      const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
      const of = (wanted: string): number =>
        outcomes.reduce((all, one) => all + (one.outcome === wanted ? one.count : 0), 0);
      expect([sum(failed), sum(verified), sum(failedAgain)]).toEqual([
        failures.length,
        of('verified'),
        of('failed_again'),
      ]);
      for (const at of failures) expect(counted(failed, at)).toBeGreaterThan(0);
      for (const one of outcomes)
        expect(counted(one.outcome === 'verified' ? verified : failedAgain, one.at)).toBeGreaterThanOrEqual(one.count);
      expect(new Set([failed.length, verified.length, failedAgain.length]).size).toBe(1);
      expect(from + failed.length * stepMs).toBeGreaterThan(Math.max(now, ...failures));
    }),
  );
  expect(incidentHistory({}, STEPS, 0)).toBeUndefined();
});

test('the history of a resolved incident ends with it', () => {
  const history = incidentHistory({ rate: rateOf([0]), resolvedAt: 3 * MINUTE }, [], 500 * MINUTE)!;
  expect([history.stepMs, history.failed]).toEqual([MINUTE, [1, 0, 0, 0]]);
});

/** The next step claims only what the facts hold. */
import { expect, test } from 'vitest';
import { commandOfAction, incidentNextStep, type IncidentFacts } from '#operate/situation/next-step.ts';

const UNTIL = Date.UTC(2026, 10, 20, 12);

function step(change: Partial<IncidentFacts>, incident: Partial<IncidentFacts['incident']> = {}) {
  const { text, by, action } = incidentNextStep({
    incident: { id: 'a1b2', state: 'open', cause: 'transient', kind: 'workflow', ...incident },
    membersNow: 3,
    policies: [],
    plans: [],
    campaigns: [],
    ...change,
  });
  return { text, by, command: action && commandOfAction(action) };
}

const deliveries = { failed: 55, lost: 9, since: 0, lastAt: 0, isFailing: true };
const halted = {
  policy: 'resume-billing',
  group: 'https://flaky.example/wf',
  state: 'halted',
  until: UNTIL,
  reason: '2 of 5 failed again',
} as const;

test('an active approval is announced, with the command that takes it back', () => {
  const approved = { id: '9f3c2a', policy: 'resume-billing', state: 'approved', by: 'ada', expiresAt: UNTIL };
  const plans = [{ ...approved, covers: 96, left: 3 }];
  const found = step({ plans });
  expect(found).toMatchObject({ by: 'policy', command: 'opsd reject 9f3c2a --reason TEXT' });
  expect(found.text).toBe(
    'Plan 9f3c2a of resume-billing is approved by ada: 3 of 96 actions left, until 2026-11-20 12:00:00Z. It acts when no guard holds it.',
  );
  const manual = [{ ...approved, covers: 1, policy: 'manual:9f3c2a' }];
  expect(step({ plans: manual })).toMatchObject({ command: 'opsd cancel 9f3c2a --reason TEXT' });
});

test('dead letters that no operation lists are unknown, not absent', () => {
  const { text } = step({ membersNow: 0 }, { kind: 'destination', deliveries });
  expect(text).not.toMatch(/no dead letter/i);
  expect(text).toContain('9 messages failed; no operation lists the message DLQ');
});

test('a policy that waits for an event repairs nothing before it', () => {
  const waiting = {
    name: 'after-deploy',
    effectiveMode: 'enforce',
    selects: 3,
    schedule: '2m after a deploy',
  } as const;
  expect(step({ policies: [waiting] })).toEqual({
    text: 'Policy after-deploy selects 3 of 3. It runs 2m after a deploy, and does nothing before.',
    by: 'operator',
    command: 'opsd plan after-deploy',
  });
  const repairs = { text: 'Policy after-deploy selects 3 of 3. Its plan shows what it does next.', by: 'policy' };
  const campaigns = [{ policy: 'after-deploy', group: 'g', state: 'ready' }] as const;
  expect(step({ policies: [waiting], campaigns })).toMatchObject(repairs);
  expect(step({ policies: [{ ...waiting, nextRunAt: UNTIL }] })).toMatchObject(repairs);
  const held = { guard: 'quota', reason: '', since: UNTIL };
  expect(step({ policies: [{ ...waiting, held }] })).toMatchObject(repairs);
  const other = { ...waiting, name: 'by-clock', nextRunAt: UNTIL };
  expect(step({ policies: [waiting, other] })).toMatchObject({ by: 'policy', command: 'opsd plan by-clock' });
});

test('a destination that delivers again is not to be repaired', () => {
  const recovering = step(
    { membersNow: 0 },
    { state: 'recovering', deliveries: { ...deliveries, recoveringSince: UNTIL } },
  );
  expect(recovering).toMatchObject({ by: 'none' });
  expect(recovering.text).toMatch(/^Wait: the destination delivers again since 2026-11-20 12:00:00Z/);
  const campaigns = [halted];
  expect(step({ campaigns }).text).toMatch(
    /^Repair the cause first\. .* It resumes one run after 2026-11-20 12:00:00Z\.$/,
  );
  expect(step({ campaigns, destination: { delivered: 95, attempts: 100 } })).toMatchObject({
    text: expect.stringMatching(/^The destination delivers again: lift the halt\./),
    command: 'opsd unpause --policy resume-billing --group https://flaky.example/wf --reason TEXT',
  });
});

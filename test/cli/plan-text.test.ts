/** Text of a plan: one reviewed golden file for each action and width. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { planText } from '#cli/commands/plan-text.ts';
import type { Plan, Proposal, ResumeProposal } from '#foundation/domain/plan.ts';
import { planOf } from '../support/ledger-facts.ts';

const NOW = Date.UTC(2026, 10, 18, 10, 30, 0);
const HOUR = 3_600_000;

const BASE = {
  policy: 'resume-billing-transient',
  account: 'production',
  group: 'https://app.example.com/api/workflows/invoice',
  items: 1,
} as const;

function run(index: number, overrides: Partial<ResumeProposal> = {}): ResumeProposal {
  const dlqId = `dlq-8812-${String(index).padStart(2, '0')}`;
  return {
    ...BASE,
    action: 'workflow-dlq.resume',
    target: dlqId,
    dlqId,
    workflowRunId: `wfr_k2f${index}`,
    workflowUrl: BASE.group,
    lineage: `l${index}`,
    attempt: index,
    failedAt: NOW - index * HOUR,
    expiresAt: NOW + index * HOUR,
    labels: ['billing', `tenant:${index}`],
    cause: 'transient',
    ...(index !== 2 && { status: 503 }),
    ...overrides,
  };
}

function plan(overrides: Partial<Plan> = {}): Plan {
  return planOf({
    policy: BASE.policy,
    at: NOW,
    trigger: { kind: 'hand' },
    read: { pages: 20, entries: 241, complete: true, filterChecked: 241, population: 1_912, clockSkewMs: 400 },
    checks: [
      { guard: 'destination', passed: true, reason: '0.97 of 312' },
      { guard: 'arrivals', passed: true, reason: '3 in 10 minutes (≤ 25)' },
      { guard: 'ramp', passed: false, reason: 'step 4: at most 27' },
      { guard: 'destination', passed: false, reason: '0.41 of 96' },
      { guard: 'arrivals', passed: true, reason: '3 in 10 minutes (≤ 25)' },
    ],
    matched: 232,
    chosen: [run(1), run(2), run(3)],
    backlog: 206,
    skipped: [
      { guard: 'attempts', reason: 'backing off, next 2026-11-18T10:40Z', count: 12 },
      { guard: 'where', reason: 'permanent 400', count: 9 },
      { guard: 'attempts', reason: '3 of 3', count: 7 },
      { guard: 'protected', reason: 'no-auto', count: 4 },
    ],
    campaigns: [
      { group: BASE.group, state: 'ready', step: 4, now: 27, next: [81, 128], verified: 13, judged: 13, matched: 180 },
      {
        group: 'https://app.example.com/api/workflows/onboarding',
        state: 'halted',
        step: 1,
        now: 0,
        next: [3, 9],
        verified: 0,
        judged: 3,
        matched: 29,
        held: { guard: 'ramp', reason: 'halted until 2026-11-18T10:58Z: 3 of the first 3 failed' },
      },
    ],
    caps: [
      { scope: 'policy', window: 'hour', used: 64, limit: 2_000 },
      { scope: 'policy', window: 'day', used: 210, limit: 10_000 },
      { scope: 'account', window: 'hour', used: 88, limit: 5_000 },
      { scope: 'engine', window: 'hour', used: 88, limit: 5_000 },
      { scope: 'engine', window: 'day', used: 412, limit: 20_000 },
    ],
    drain: { ms: 25 * 60_000 - 20_000, expiring: 6 },
    ...overrides,
  });
}

const { read: _read, drain: _drain, ...UNREAD } = plan({ checks: [], skipped: [], campaigns: [], backlog: 0 });

const CHOSEN_DELETES: readonly Proposal[] = [1, 2].map((index): Proposal => {
  const { attempt: _attempt, ...rest } = run(index, { cause: 'permanent', status: 400 });
  return { ...rest, action: 'workflow-dlq.delete' };
});

/** One plan of each action, as the engine creates them. */
const PLANS: Readonly<Record<string, Plan>> = {
  resume: plan(),
  delete: plan({
    id: 'd41d8c',
    policy: 'delete-hopeless',
    action: 'workflow-dlq.delete',
    mode: 'approve',
    effectiveMode: 'approve',
    checks: [],
    campaigns: [],
    needsApproval: { guard: 'tripwire', reason: '209 matched, at most 100' },
    chosen: CHOSEN_DELETES,
    backlog: 207,
    drain: { ms: 0, expiring: 0 },
  }),
  'message-delete': {
    ...UNREAD,
    id: 'c4ca42',
    policy: 'delete-known',
    action: 'message-dlq.delete',
    matched: 2,
    skipped: [{ guard: 'select', reason: 'not selected', count: 40 }],
    notes: ['No operation lists these messages: their ids come from failure callbacks.'],
    chosen: [1, 2].map((index) => ({
      ...BASE,
      group: '',
      action: 'message-dlq.delete' as const,
      target: `dlq-m${index}`,
      dlqId: `dlq-m${index}`,
      messageId: `msg_${index}`,
      failedAt: NOW - index * HOUR,
      ...(index === 1 && { status: 410, url: 'https://gone.example.com/hook' }),
    })),
  },
  prune: {
    ...UNREAD,
    id: 'eccbc8',
    policy: 'prune-newsletter-dlq',
    action: 'message-dlq.prune',
    matched: 200,
    backlog: 0,
    caps: [
      { scope: 'policy', window: 'hour', used: 0, limit: 1_000 },
      { scope: 'engine deletes', window: 'day', used: 0, limit: 1_000 },
    ],
    notes: [
      'The messages cannot be listed: the service only returns how many it deleted.',
      'At most 200 messages that failed before 2026-11-04T10:30Z; the DLQ holds 4211 in all.',
    ],
    chosen: [1, 100, 99].map((items, index) => ({
      ...BASE,
      group: '',
      action: 'message-dlq.prune' as const,
      target: `prune/${index + 1}`,
      items,
      page: index + 1,
      filter: { toDate: NOW - 336 * HOUR, label: ['newsletter', 'digest'] as const, responseStatus: [410] as const },
    })),
  },
  budget: {
    ...UNREAD,
    id: 'a87ff6',
    policy: 'raise-budget-near-limit',
    action: 'budget.raise',
    matched: 1,
    caps: [{ scope: 'policy', window: 'hour', used: 0, limit: 1 }],
    needsApproval: { guard: 'surge', reason: '24 hours cost $41.00, 3.1 times the median day' },
    notes: ['The known budget is $200: asserted in the configuration, 17 d ago.', 'Hours left at this pace: 6.4.'],
    chosen: [{ ...BASE, group: '', action: 'budget.raise', target: 'budget/240', fromUsd: 200, toUsd: 240 }],
  },
};

describe.each(Object.keys(PLANS))('%s', (name) => {
  test.each([100, 200])('at %d columns', async (width) => {
    const shown = planText(PLANS[name]!, { color: false, width });
    await expect(shown).toMatchFileSnapshot(`../fixtures/plan-text/${name}-${width}.txt`);
    // Commands stay whole, so that they can be copied.
    const long = shown.split('\n').filter((line) => line.length > width && !/^(Apply|One|Overrule)/.test(line));
    expect(long).toEqual([]);
  });

  test('in color says the same', () => {
    const colored = planText(PLANS[name]!, { color: true, width: 100 });
    expect(colored).toContain('\u001B[1m');
    expect(stripVTControlCharacters(colored)).toBe(planText(PLANS[name]!, { color: false, width: 100 }));
  });
});

const text = (overrides: Partial<Plan>): string => planText(plan(overrides), { color: false });

test('shows the guard that holds it, and the reason', () => {
  const held = text({ state: 'held', stopped: { guard: 'quota', reason: '429 within 10 min' } });
  expect(held).toContain('\nHeld      quota: 429 within 10 min\n');
  expect(held).not.toContain('opsd apply');
  const aborted = text({ state: 'aborted', stopped: { guard: 'incomplete_read', reason: 'page 3 failed' } });
  expect(aborted).toContain('\nAborted   incomplete_read: page 3 failed\n');
});

test.each<readonly [string, NonNullable<Plan['drain']>, string]>([
  ['unknown', { ms: 0 }, 'expiry unknown (limits.dlqRetention is not configured)'],
  ['known', { ms: 0, expiring: 6 }, '6 entries expire before that'],
  [
    'partly unknown',
    { ms: 0, expiring: 6, unknownExpiries: 4 },
    'at least 6 entries expire before that; expiry of 4 unknown',
  ],
  [
    'known of none that expires',
    { ms: 0, expiring: 0, unknownExpiries: 4 },
    'at least 0 entries expire before that; expiry of 4 unknown',
  ],
])('the number of entries that expire is %s', (_what, drain, says) => {
  expect(text({ drain })).toContain(`; ${says}`);
});

test('lists the deferred entries where it sends nothing now, with a command to explain one', () => {
  const stopped = { guard: 'destination', reason: '0.00 of 40' };
  const deferred = [run(1), run(2)];
  const held = text({ state: 'held', stopped, chosen: [], deferred, matched: 60, backlog: 60 });
  expect(held).toContain('\n   Waiting; none is in this run:\n   dlqId ');
  expect(held).toContain('\n   … and 58 more\n');
  expect(held).toContain('\nOne entry: opsd explain dlq-8812-01\n');
});

test('says when a run would not act, and shows no command that would be rejected', () => {
  const audit = text({ effectiveMode: 'audit' });
  expect(audit).toContain('\nMode      audit (configured as enforce): a run would not act\n');
  expect(audit).not.toContain('opsd apply');
  const approve = text({ mode: 'approve', effectiveMode: 'approve' });
  expect(approve).toContain('\nMode      approve: a run would wait for approval\n');
});

test('shows overruled limits, and does not offer them again', () => {
  const overruled = { settings: { 'limits.maxPerHour': '6000' }, reason: 'catch up' };
  const shown = text({ overruled, caps: [{ scope: 'policy', window: 'hour', used: 6_000, limit: 6_000 }] });
  expect(shown).toContain('\nOverruled  once: limits.maxPerHour=6000; catch up\n');
  expect(shown).not.toContain('--once');
});

test('a plan that overrules the settle time of a step can be applied while the step is in progress', () => {
  const overruled = { settings: { 'ramp.settle': '30s' }, reason: 'the destination is watched' };
  const stopped = { guard: 'ramp', reason: 'step 2 is judged by the next listing' };
  expect(text({ state: 'held', stopped, overruled, chosen: [] })).toContain('\nApply with: opsd apply 9f3c2a\n');
  const { id: _id, ...unkept } = plan({ state: 'held', stopped, overruled, chosen: [] });
  expect(planText(unkept, { color: false })).toMatch(
    /\nTo apply it, keep it: opsd plan resume-billing-transient --once --set ramp\.settle=\S+ --reason .+ --keep\n/,
  );
  expect(text({ state: 'held', stopped, overruled, chosen: [], matched: 0, backlog: 0 })).not.toContain('opsd apply');
});

test.each([
  [{ caps: [{ scope: 'policy', window: 'hour', used: 1_999, limit: 2_000 }] }, 'limits.maxPerHour=6000'],
  [{ caps: [{ scope: 'policy', window: 'day', used: 10_000, limit: 10_000 }] }, 'limits.maxPerDay=30000'],
  [{ needsApproval: { guard: 'tripwire', reason: 'x' } }, 'limits.maxMatched=209'],
  [{ state: 'held', stopped: { guard: 'min_interval', reason: 'x' } }, 'limits.minInterval=1s'],
] as const)('offers the limit that can be overruled: %j', (overrides, limit) => {
  expect(text(overrides)).toContain(
    `\nOverrule once: opsd plan resume-billing-transient --once --set ${limit} --reason "…"\n`,
  );
});

test('a plan without a reading has no sums', () => {
  const held = plan({
    state: 'held',
    stopped: { guard: 'kill_switch', reason: 'paused' },
    chosen: [],
    matched: 0,
    backlog: 0,
  });
  const { read: _nothing, drain: _none, ...unread } = held;
  expect(planText({ ...unread, checks: [], skipped: [], campaigns: [], caps: [] }, { color: false })).toBe(
    'Plan      9f3c2a  resume-billing-transient  (policies/billing.yaml:3)  production  nothing has been done\nRead      nothing was read\nHeld      kill_switch: paused\n',
  );
});

test('counts what it does not list', () => {
  const chosen = Array.from({ length: 120 }, (_, index) => run(index));
  const shown = text({ chosen });
  expect(shown.match(/^ {3}dlq-/gm)).toHaveLength(50);
  expect(shown).toContain('… and 70 more; all of them with -o json');
  const checks = Array.from({ length: 30 }, (_, index) => ({ guard: 'arrivals', passed: true, reason: String(index) }));
  expect(text({ checks })).toContain('and 18 more');
});

test('shows control characters of external texts escaped', () => {
  const hostile = 'x\u001B[2J\u009B1m\r\n\u202Ey';
  const denial = { guard: hostile, reason: hostile };
  const shown = text({
    policy: hostile,
    source: hostile,
    account: hostile,
    chosen: [run(1, { dlqId: hostile, workflowRunId: hostile, labels: [hostile], cause: hostile })],
    skipped: [{ ...denial, count: 1 }],
    checks: [{ ...denial, passed: false }],
    campaigns: [{ ...plan().campaigns[0]!, group: hostile, held: denial }],
    overruled: { settings: { [hostile]: hostile }, reason: hostile },
    needsApproval: denial,
    notes: [hostile],
    state: 'held',
    stopped: denial,
  });
  expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('caps that count as used for any action show the reason', () => {
  const shown = text({ caps: [{ scope: 'policy', window: 'hour', used: 9, limit: 9, why: 'all count as used: odd' }] });
  expect(shown).toContain('hour 9 of 9   all count as used: odd');
});

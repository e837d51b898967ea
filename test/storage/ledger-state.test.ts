/** Further content of the ledger: campaigns, plans, triggers, alerts, dead letters, the state of policies. */
import { expect, test } from 'vitest';
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { NO_CAPS, planOf, resumeOf } from '../support/ledger-facts.ts';
import { ledgerTest } from '../support/postgres/test-stores.ts';

const p = { name: 'p', account: 'production' };
const q = { ...p, name: 'q' };

function campaignOf(change: Partial<Campaign> = {}): Campaign {
  return {
    id: 'p/1',
    policy: 'p',
    account: 'production',
    group: 'g',
    state: 'ready',
    step: 1,
    size: 1,
    begunAt: 1_000,
    halts: 0,
    recent: [],
    judged: 0,
    verified: 0,
    ...change,
  };
}

ledgerTest('a group has one campaign at a time, and a new one has its own number', async (ledger) => {
  const of = (policy: string, group = 'g') => ({ policy, account: 'production', group });
  const first = campaignOf({ state: 'settling', sentAt: 2_000, until: 9_000, recent: [true, false] });
  expect(await ledger.changeCampaign(of('p'), () => ({ ...first, id: '' }))).toEqual({ ...first, id: 'p/1' });
  expect(await ledger.campaigns()).toEqual([{ ...first, id: 'p/1' }]);
  expect((await ledger.changeCampaign(of('q'), () => campaignOf({ policy: 'q', id: '' })))?.id).toBe('q/1');
  // A change keeps the id, whatever it returns.
  const ended = await ledger.changeCampaign(
    of('p'),
    (campaign) => campaign && { ...campaign, id: 'p/9', state: 'ended' },
  );
  expect(ended?.id).toBe('p/1');
  await ledger.changeCampaign(of('p'), (campaign) => {
    expect(campaign).toBeUndefined();
    return campaignOf({ id: '' });
  });
  await ledger.changeCampaign(of('p', 'a'), () => campaignOf({ id: '', group: 'a' }));
  expect((await ledger.campaigns()).map(({ id }) => id)).toEqual(['p/3', 'p/2', 'q/1']);
});

const HASH = 'abc123'.padEnd(64, '4');

ledgerTest(
  'a plan is found by its id or a longer part of its hash, is used once, and not after its time',
  async (ledger) => {
    const plan = planOf({ id: 'abc123', hash: HASH });
    await ledger.savePlan({ targets: ['a'], plan, savedAt: 1_000, expiresAt: 5_000, state: 'pending' });
    expect(await ledger.storedPlan('abc123', 2_000)).toEqual({
      plan,
      targets: ['a'],
      savedAt: 1_000,
      expiresAt: 5_000,
      state: 'pending',
      revision: 1,
    });
    expect(await ledger.storedPlan('abc1234', 2_000)).toBeDefined();
    for (const id of ['abc12', 'abc1235', '', '%', 'g']) expect(await ledger.storedPlan(id, 2_000), id).toBeUndefined();
    expect(await ledger.storedPlan('abc123', 5_000)).toMatchObject({ state: 'expired' });
    expect(await ledger.decidePlan('abc123', { state: 'approved', at: 5_000, by: 'anna' })).toBe(false);
    expect(await ledger.decidePlan('abc123', { state: 'approved', at: 2_000, by: 'anna', reason: 'seen' })).toBe(true);
    expect(await ledger.storedPlan('abc123', 3_000)).toMatchObject({ state: 'approved', by: 'anna', reason: 'seen' });
    expect(await ledger.decidePlan('abc123', { state: 'replaced', at: 3_000, by: 'bert' })).toBe(false);
    expect(await ledger.decidePlan('abc123', { state: 'applied', at: 3_000, by: 'engine' })).toBe(true);
    expect(await ledger.decidePlan('abc123', { state: 'applied', at: 3_000, by: 'engine' })).toBe(false);
    const used = await ledger.storedPlan('abc123', 9_000);
    expect(used).toMatchObject({ state: 'applied', by: 'engine', approvedBy: 'anna' });
    expect(used).not.toHaveProperty('reason');
  },
);

ledgerTest(
  'plans are listed newest first by state; showing a plan again does not withdraw its request',
  async (ledger) => {
    const other = planOf({ id: 'abcdef', hash: 'abcdef'.padEnd(64, '0') });
    const plan = planOf({ id: 'abc123', hash: HASH });
    await ledger.savePlan({ targets: ['a'], plan, savedAt: 1_000, expiresAt: 5_000, state: 'pending' });
    await ledger.savePlan({ targets: ['a'], plan: other, savedAt: 2_000, expiresAt: 3_000, state: 'pending' });
    await ledger.savePlan({ targets: ['a'], plan, savedAt: 2_500, expiresAt: 9_000, state: 'draft' });
    const listed = async (states: Parameters<typeof ledger.storedPlans>[0], now: number): Promise<string[]> =>
      (await ledger.storedPlans(states, now)).map((stored) => `${stored.plan.id} ${stored.state}`);
    expect(await listed(['pending'], 2_000)).toEqual(['abcdef pending', 'abc123 pending']);
    expect(await listed(['pending'], 4_000)).toEqual(['abc123 pending']);
    expect(await listed(['expired'], 4_000)).toEqual(['abcdef expired']);
    expect(await listed(['draft', 'applied'], 4_000)).toEqual([]);
    await ledger.savePlan({ targets: ['a'], plan, savedAt: 6_000, expiresAt: 9_000, state: 'draft' });
    expect(await listed(['draft'], 6_000)).toEqual([expect.stringMatching(/^(?!abc123)[0-9a-f]{6} draft$/)]);
  },
);

test.each([
  ['pending', 'approved', 4_000, false],
  ['pending', 'rejected', 4_000, false],
  ['pending', 'rejected', 5_000, true],
  ['pending', 'applied', 4_000, true],
  ['draft', 'approved', 4_000, false],
  ['draft', 'rejected', 4_000, true],
] as const)(
  'the same plan is saved as %s over one that is %s, at %d: %s',
  async (state, decision, savedAt, isSaved) => {
    const ledger = memoryLedger();
    const stored = { targets: ['a'], plan: planOf(), savedAt: 1_000, expiresAt: 5_000, state: 'pending' } as const;
    await ledger.savePlan(stored);
    await ledger.decidePlan(stored.plan.id, { state: decision, at: 2_000, by: 'anna' });
    const saved = await ledger.savePlan({ ...stored, savedAt, expiresAt: 9_000, state });
    expect(saved).toMatchObject({ state: isSaved ? state : decision, revision: isSaved ? 2 : 1 });
    expect(await ledger.storedPlan(stored.plan.id, 2_000)).toMatchObject({ state: decision, by: 'anna' });
  },
);

ledgerTest('an approved plan counts what is left, by its targets and its runs', async (ledger) => {
  const { plan } = await ledger.savePlan({
    targets: ['dlq-1', 'dlq-2', 'dlq-3'],
    plan: planOf(),
    savedAt: 1_000,
    expiresAt: 9_000,
    state: 'pending',
  });
  await ledger.decidePlan(plan.id, { state: 'approved', at: 2_000, by: 'anna' });
  const own = await ledger.beginRun(plan, 3_000);
  const other = await ledger.beginRun(planOf({ id: 'other1' }), 3_000);
  await ledger.reserve(own, resumeOf('dlq-1'), 3_001, NO_CAPS);
  await ledger.reserve(other, resumeOf('dlq-2'), 3_002, NO_CAPS);
  await ledger.reserve(other, resumeOf('dlq-9'), 3_003, NO_CAPS);
  expect(await ledger.storedPlan(plan.id, 4_000)).toMatchObject({ left: 1 });
  expect(await ledger.storedPlans(['approved'], 4_000)).toMatchObject([{ left: 1 }]);
  const of = { plan: plan.id, targets: ['dlq-1', 'dlq-2', 'dlq-3'], from: 2_000, to: Number.MAX_SAFE_INTEGER };
  const targets = async (period: typeof of) =>
    (await ledger.actionsOf(plan.policy, period)).map(({ proposal }) => proposal.target);
  expect(await targets(of)).toEqual(['dlq-1', 'dlq-2']);
  expect(await targets({ ...of, targets: [] })).toEqual(['dlq-1']);
  expect(await targets({ ...of, to: 3_000 })).toEqual([]);
});

ledgerTest('plans with a common prefix have ids of their own', async (ledger) => {
  const [one, two] = ['1', '2'].map((digit) => planOf({ id: 'abc123', hash: `abc123${digit}`.padEnd(64, '0') }));
  await ledger.savePlan({ targets: ['a'], plan: one!, savedAt: 1, expiresAt: 10, state: 'pending' });
  await ledger.savePlan({ targets: ['a'], plan: two!, savedAt: 2, expiresAt: 20, state: 'pending' });
  expect((await ledger.storedPlan('abc123', 5))?.plan.hash).toBe(one!.hash);
  const other = await ledger.storedPlan('abc1232', 5);
  expect(other?.plan).toMatchObject({ hash: two!.hash, id: expect.not.stringMatching('abc123') as string });
  expect(await ledger.decidePlan(other!.plan.id, { state: 'approved', at: 5, by: 'anna' })).toBe(true);
  expect((await ledger.storedPlan('abc1231', 5))?.plan.hash).toBe(one!.hash);
});

const KEY = 'opsd/f00/2025-11-20T12:00:00.000Z';
const trigger = { kind: 'alert', name: 'Down', key: KEY } as const;
const recorded = { policy: 'p', account: 'production', trigger, at: 1_000 };
const firing = { receiver: 'opsd', name: 'Down', key: KEY, accounts: ['production'], isFiring: true, at: 1_000 };

test('a trigger is recorded once for each policy', async () => {
  const ledger = memoryLedger();
  expect(await ledger.recordTrigger(recorded)).toBe(true);
  expect(await ledger.recordTrigger({ ...recorded, at: 2_000 })).toBe(false);
  expect(await ledger.recordTrigger({ ...recorded, policy: 'q' })).toBe(true);
});

async function pendingOf(ledger: Ledger, name: string, account: string, now: number) {
  return (await ledger.pendingTriggers([{ name, account }], now)).get(name) ?? [];
}

async function isFiring(ledger: Ledger, account: string, name: string, now: number): Promise<boolean | undefined> {
  return (await ledger.alertsFiring(account, now))(name);
}

test('a trigger is pending until it is ended, for its policy and account alone', async () => {
  const ledger = memoryLedger();
  const callback = { kind: 'callback', key: 'production/dlq-1' } as const;
  await ledger.noteAlert(firing);
  await ledger.recordTrigger(recorded);
  await ledger.recordTrigger({ ...recorded, trigger: callback, at: 500 });
  await ledger.recordTrigger({ ...recorded, policy: 'q' });
  const pending = await pendingOf(ledger, 'p', 'production', 2_000);
  expect(pending).toEqual([
    { trigger: callback, at: 500 },
    { trigger, at: 1_000 },
  ]);
  expect(await pendingOf(ledger, 'p', 'staging', 2_000)).toEqual([]);
  await ledger.endTriggers(p, pending);
  expect(await pendingOf(ledger, 'p', 'production', 2_000)).toEqual([]);
  expect(await pendingOf(ledger, 'q', 'production', 2_000)).toHaveLength(1);
  expect(await ledger.recordTrigger(recorded)).toBe(false);
});

test('the end of an alert ends its triggers permanently, and no others', async () => {
  const ledger = memoryLedger();
  const callback = { kind: 'callback', key: KEY } as const;
  await ledger.noteAlert(firing);
  await ledger.recordTrigger(recorded);
  await ledger.recordTrigger({ ...recorded, policy: 'q', trigger: callback });
  await ledger.noteAlert({ ...firing, isFiring: false, at: 2_000 });
  // A late repetition, such as from another Alertmanager of the cluster.
  await ledger.noteAlert({ ...firing, at: 3_000 });
  expect(await pendingOf(ledger, 'p', 'production', 4_000)).toEqual([]);
  expect(await pendingOf(ledger, 'q', 'production', 4_000)).toHaveLength(1);
});

test('the trigger of an alert that was not repeated for a day waits for a repetition', async () => {
  const ledger = memoryLedger();
  const day = 86_400_000;
  await ledger.noteAlert(firing);
  await ledger.recordTrigger(recorded);
  expect(await pendingOf(ledger, 'p', 'production', 1_000 + day)).toHaveLength(1);
  expect(await pendingOf(ledger, 'p', 'production', 1_001 + day)).toEqual([]);
  await ledger.noteAlert({ ...firing, at: 2 * day });
  expect(await pendingOf(ledger, 'p', 'production', 2 * day)).toHaveLength(1);
});

test('an alert fires for its accounts; without an account label it is unknown', async () => {
  const ledger = memoryLedger();
  const { accounts: _accounts, ...unassigned } = firing;
  const asked = (name: string, account: string) => isFiring(ledger, account, name, 2_000);
  await ledger.noteAlert({ ...firing, accounts: ['staging', 'test'] });
  expect([await asked('Down', 'staging'), await asked('Down', 'test'), await asked('Down', 'production')]).toEqual([
    true,
    true,
    false,
  ]);
  await ledger.noteAlert({ ...unassigned, key: 'opsd/bar/1' });
  expect([await asked('Down', 'staging'), await asked('Down', 'production')]).toEqual([true, undefined]);
  expect(await asked('Other', 'production')).toBe(false);
  await ledger.noteAlert({ ...unassigned, key: 'opsd/bar/1', isFiring: false });
  expect(await asked('Down', 'production')).toBe(false);
});

test('an alert is new once, and nothing is known before the first one arrived', async () => {
  const ledger = memoryLedger();
  expect(await isFiring(ledger, 'production', 'Down', 3_000)).toBeUndefined();
  const alert = { receiver: 'opsd', name: 'Down', key: 'f00/1', accounts: ['production'], isFiring: true, at: 1_000 };
  expect(await ledger.noteAlert(alert)).toBe(true);
  expect(await ledger.noteAlert({ ...alert, at: 2_000 })).toBe(false);
  expect([
    await isFiring(ledger, 'production', 'Down', 3_000),
    await isFiring(ledger, 'production', 'Other', 3_000),
  ]).toEqual([true, false]);
  expect(await ledger.noteAlert({ ...alert, key: 'f00/2' })).toBe(true);
  expect(await ledger.noteAlert({ ...alert, isFiring: false, at: 3_000 })).toBe(false);
  expect(await isFiring(ledger, 'production', 'Down', 3_000)).toBe(true);
  await ledger.noteAlert({ ...alert, key: 'f00/2', isFiring: false, at: 3_000 });
  expect(await isFiring(ledger, 'production', 'Down', 3_000)).toBe(false);
});

test('an alert without a reported end fires for a day, is then unknown, and has ended after six', async () => {
  const ledger = memoryLedger();
  const day = 86_400_000;
  const alert = { receiver: 'opsd', name: 'Down', key: 'f00/1', accounts: ['production'], isFiring: true, at: 0 };
  await ledger.noteAlert(alert);
  await ledger.noteAlert({ ...alert, key: 'bar/1', isFiring: false });
  expect(await isFiring(ledger, 'production', 'Down', day)).toBe(true);
  expect(await isFiring(ledger, 'production', 'Down', day + 1)).toBeUndefined();
  expect(await isFiring(ledger, 'production', 'Down', 6 * day)).toBeUndefined();
  expect(await isFiring(ledger, 'production', 'Down', 6 * day + 1)).toBe(false);
  await ledger.noteAlert({ ...alert, at: 7 * day });
  expect(await isFiring(ledger, 'production', 'Down', 8 * day)).toBe(true);
});

test('dead letters are learned once, the newest listed oldest first, and forgotten', async () => {
  const ledger = memoryLedger();
  const deadLetter = (dlqId: string, learnedAt: number): DeadLetter => ({
    account: 'production',
    dlqId,
    messageId: `msg_${dlqId}`,
    learnedAt,
    labels: ['x'],
  });
  for (const known of [
    deadLetter('b', 2),
    deadLetter('a', 1),
    deadLetter('c', 3),
    { ...deadLetter('b', 9), account: 'staging' },
  ]) {
    await ledger.noteDeadLetter(known);
  }
  await ledger.noteDeadLetter(deadLetter('a', 7));
  expect(await ledger.deadLetters('production', 2)).toEqual([deadLetter('b', 2), deadLetter('c', 3)]);
  await ledger.forgetDeadLetter('production', 'a');
  expect((await ledger.deadLetters('production', 9)).map(({ dlqId }) => dlqId)).toEqual(['b', 'c']);
});

ledgerTest('a match has the date of the start of its unbroken matches', async (ledger) => {
  await ledger.noteMatches(p, ['a', 'b'], 1_000);
  await ledger.noteMatches(p, ['b', 'c'], 2_000);
  await ledger.noteMatches(q, ['b'], 3_000);
  expect(await ledger.firstMatches('p')).toEqual(
    new Map([
      ['b', 1_000],
      ['c', 2_000],
    ]),
  );
  expect((await ledger.firstMatches('q')).get('b')).toBe(3_000);
  await ledger.noteMatches(p, [], 4_000);
  expect((await ledger.firstMatches('p')).get('b')).toBeUndefined();
});

ledgerTest('versions and conditions of policies are returned as saved', async (ledger) => {
  expect((await ledger.policyVersions(['p'])).get('p')).toBeUndefined();
  await ledger.savePolicyVersion(p, { scope: { select: { label: ['a'] } }, auditRuns: 1 });
  await ledger.savePolicyVersion(p, { scope: { select: { label: ['b'] } }, auditRuns: 2 });
  expect((await ledger.policyVersions(['p'])).get('p')).toEqual({ scope: { select: { label: ['b'] } }, auditRuns: 2 });
  expect(await ledger.condition('p')).toBeUndefined();
  await ledger.saveCondition(p, { since: 1, last: 2, readings: 3 });
  expect(await ledger.condition('p')).toEqual({ since: 1, last: 2, readings: 3 });
  await ledger.saveCondition(p, undefined);
  expect(await ledger.condition('p')).toBeUndefined();
});

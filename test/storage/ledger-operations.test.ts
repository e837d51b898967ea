/** Operations of operators in the ledger: records, claims on entries, and budgets. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { BegunOperation } from '#automate/ledger/operations.ts';
import type { Proposal } from '#foundation/domain/plan.ts';
import { isOvertaken, newestBudget } from '#foundation/domain/known-budget.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { openStore } from '#storage/sqlite.ts';
import { proposal, plan } from '../operate/http/world.ts';
import { ledgerTest } from '../support/postgres/test-stores.ts';
import { tempDir } from '../support/temp-dir.ts';

const NOW = Date.UTC(2026, 10, 18, 10, 30);
const DAY_MS = 86_400_000;

const resume = (...dlqIds: string[]): BegunOperation => ({
  operation: 'resume-workflow-dlq',
  account: 'production',
  keys: ['dlqIds'],
  by: 'oncall',
  at: NOW,
  claims: { action: 'workflow-dlq.resume', dlqIds },
});

const budget = (toUsd: number, at: number, fromUsd?: number): BegunOperation => ({
  operation: 'update-budget',
  account: 'production',
  keys: ['budget'],
  by: 'oncall',
  at,
  budget: { toUsd, ...(fromUsd !== undefined && { fromUsd }) },
});

const begin = async (ledger: ReturnType<typeof memoryLedger>, begun: BegunOperation): Promise<number> => {
  const result = await ledger.beginOperation(begun);
  if (!result.ok) throw new Error(result.reason);
  return result.id;
};

ledgerTest(
  'an entry of an operation is claimed: no policy acts on it, and its departure is the daemon’s own',
  async (ledger) => {
    const id = await begin(ledger, resume('dlq-8812'));
    expect((await ledger.claims('production', ['dlq-8812'])).has('dlq-8812')).toBe(true);
    expect((await ledger.claims('other', ['dlq-8812'])).has('dlq-8812')).toBe(false);
    expect((await ledger.claims('production', ['dlq-8812'])).get('dlq-8812')).toBe('workflow-dlq.resume');
    const run = await ledger.beginRun(plan(), NOW);
    expect(await ledger.reserve(run, proposal(), NOW, [])).toEqual({
      ok: false,
      guard: 'claim',
      reason: 'already sent by an operator as operation 1',
    });
    await ledger.endOperation(id, 'production', { at: NOW, outcome: 'accepted' });
    expect(await ledger.reserve(run, proposal(), NOW, [])).toMatchObject({ ok: false, guard: 'claim' });
  },
);

ledgerTest('a rejected operation releases its entries', async (ledger) => {
  await ledger.endOperation(await begin(ledger, resume('dlq-8812')), 'production', { at: NOW, outcome: 'rejected' });
  expect((await ledger.claims('production', ['dlq-8812'])).has('dlq-8812')).toBe(false);
  expect((await ledger.reserve(await ledger.beginRun(plan(), NOW), proposal(), NOW, [])).ok).toBe(true);
});

ledgerTest('an entry that a policy acted on is refused, with all others of the call', async (ledger) => {
  const reserved = await ledger.reserve(await ledger.beginRun(plan(), NOW), proposal(), NOW, []);
  expect(await ledger.beginOperation(resume('dlq-1', 'dlq-8812'))).toEqual({
    ok: false,
    reason: 'dlq-8812: action 1 of policy resume-billing has it',
  });
  expect((await ledger.claims('production', ['dlq-1'])).has('dlq-1')).toBe(false);
  if (reserved.ok) await ledger.recordOutcome(reserved.intent.id, 'production', { at: NOW, outcome: 'rejected' });
  expect((await ledger.beginOperation(resume('dlq-1', 'dlq-8812'))).ok).toBe(true);
});

ledgerTest('a pause of the engine refuses an operation on many entries, and no other', async (ledger) => {
  await ledger.pause({ scope: 'policy/p', reason: 'odd', at: NOW, by: 'kim' });
  const bulk = { ...resume('dlq-1'), isBulk: true };
  const id = await begin(ledger, bulk);
  await ledger.endOperation(id, 'production', { at: NOW, outcome: 'rejected' });
  await ledger.pause({ scope: 'engine', reason: 'release night', at: NOW, by: 'kim' });
  expect(await ledger.beginOperation(bulk)).toEqual({ ok: false, reason: 'the engine is paused: release night' });
  expect(await ledger.beginOperation(budget(1, NOW))).toMatchObject({ ok: true });
});

ledgerTest(
  'an operation by filter is refused while an action of a policy on its account has no outcome',
  async (ledger) => {
    const { claims: _none, ...unnamed } = resume();
    const byFilter = { ...unnamed, isBulk: true, isByFilter: true };
    const reserved = await ledger.reserve(await ledger.beginRun(plan(), NOW), proposal(), NOW, []);
    expect(await ledger.beginOperation(byFilter)).toEqual({
      ok: false,
      reason: 'policy resume-billing acts on account production at this time',
    });
    expect(await ledger.beginOperation({ ...byFilter, account: 'other' })).toMatchObject({ ok: true });
    if (reserved.ok) await ledger.recordOutcome(reserved.intent.id, 'production', { at: NOW, outcome: 'accepted' });
    expect(await ledger.beginOperation(byFilter)).toMatchObject({ ok: true });
  },
);

ledgerTest('an operation whose outcome is unknown may be repeated by an operator, but by no policy', async (ledger) => {
  await ledger.endOperation(await begin(ledger, resume('dlq-8812')), 'production', { at: NOW, outcome: 'unknown' });
  expect(await ledger.reserve(await ledger.beginRun(plan(), NOW), proposal(), NOW, [])).toMatchObject({
    guard: 'claim',
  });
  expect((await ledger.beginOperation(resume('dlq-8812'))).ok).toBe(true);
  expect(await ledger.beginOperation(resume('dlq-8812'))).toMatchObject({ ok: false });
});

ledgerTest('a retriggered run is left alone by everything but a manual delete', async (ledger) => {
  const retrigger = {
    dlqId: 'dlq-8812',
    workflowRunId: 'opsd-1',
    workflowUrl: 'https://app.example.com/invoice',
    reason: 'why',
    bodyBytes: 2,
    bodySha256: '0',
    isEdited: true,
  };
  const begun = { ...resume('dlq-8812'), claims: { action: 'retrigger' as const, dlqIds: ['dlq-8812'] }, retrigger };
  const id = await begin(ledger, begun);
  const of = async (account: string, wanted: string) => (await ledger.retriggers(account, wanted))[0];
  expect(await of('production', 'dlq-8812')).toEqual({ ...retrigger, at: NOW, by: 'oncall' });
  expect(await of('other', 'dlq-8812')).toBeUndefined();
  expect(await ledger.beginOperation(begun)).toEqual({ ok: false, reason: 'dlq-8812: operation 1 has it' });
  await ledger.endOperation(id, 'production', { at: NOW, outcome: 'accepted' });
  expect(await of('production', 'opsd-1')).toEqual({ ...retrigger, at: NOW, by: 'oncall', outcome: 'accepted' });

  const { attempt: _attempt, campaign: _campaign, ...run } = proposal();
  const reserve = async (policy: string, action: 'workflow-dlq.resume' | 'workflow-dlq.delete') => {
    const asked = (action === 'workflow-dlq.resume' ? proposal() : { ...run, action }) as Proposal;
    return (await ledger.reserve(await ledger.beginRun(plan(), NOW), { ...asked, policy }, NOW, [])).ok;
  };
  expect(await reserve('resume-billing', 'workflow-dlq.resume')).toBe(false);
  expect(await reserve('manual:9f3c', 'workflow-dlq.resume')).toBe(false);
  expect(await reserve('delete-old', 'workflow-dlq.delete')).toBe(false);
  expect(await reserve('manual:9f3c', 'workflow-dlq.delete')).toBe(true);
});

test('after a crash the outcome of an operation is recorded as unknown, once', async () => {
  const path = join(tempDir(), 'opsd.db');
  {
    using store = openStore(path);
    const ledger = await openLedger(store, memoryAudit());
    await begin(ledger, resume('dlq-1'));
    await ledger.endOperation(await begin(ledger, resume('dlq-2')), 'production', { at: NOW, outcome: 'accepted' });
  }
  using store = openStore(path);
  const audit = memoryAudit();
  const ledger = await openLedger(store, audit);
  expect(await ledger.endInterruptedOperations(NOW)).toBe(1);
  expect(await ledger.endInterruptedOperations(NOW)).toBe(0);
  expect(audit.entries.filter(({ type }) => type === 'operation.ended')).toMatchObject([{ id: 1, outcome: 'unknown' }]);
  expect((await ledger.claims('production', ['dlq-1'])).has('dlq-1')).toBe(true);
});

test('a record has names and ids, and the transaction fails with the audit log', async () => {
  const audit = memoryAudit();
  const ledger = memoryLedger('here', audit);
  await begin(ledger, { ...resume('dlq-1'), object: 'acc-1' });
  expect(audit.entries.at(-1)).toEqual({
    type: 'operation.begun',
    account: 'production',
    operation: 'resume-workflow-dlq',
    id: 1,
    keys: ['dlqIds'],
    by: 'oncall',
    object: 'acc-1',
    dlqIds: ['dlq-1'],
  });
  const broken = memoryLedger('here', {
    ...memoryAudit(),
    append: (entry) => {
      if (entry.type === 'operation.begun') throw new Error('disk full');
      return { sequence: 1, hash: '' };
    },
  });
  await expect(broken.beginOperation(resume('dlq-1'))).rejects.toThrow('disk full');
  expect((await broken.claims('production', ['dlq-1'])).has('dlq-1')).toBe(false);
  expect(await broken.endInterruptedOperations(NOW)).toBe(0);
});

ledgerTest('old operations and their claims are forgotten', async (ledger) => {
  await begin(ledger, { ...resume('dlq-1'), at: NOW - 401 * DAY_MS });
  await begin(ledger, { ...resume('dlq-2'), at: NOW - 399 * DAY_MS });
  await ledger.prune(NOW);
  expect([...(await ledger.claims('production', ['dlq-1', 'dlq-2'])).keys()]).toEqual(['dlq-2']);
});

ledgerTest('budgets of operators are known, in the order of time, with raises of policies', async (ledger) => {
  const outcome = (id: number, result: 'accepted' | 'rejected' | 'unknown') =>
    ledger.endOperation(id, 'production', { at: NOW, outcome: result });
  await outcome(await begin(ledger, budget(500, NOW, 100)), 'accepted');
  await outcome(await begin(ledger, budget(50, NOW + 1)), 'rejected');
  expect(newestBudget(undefined, await ledger.budgetChanges('production', 0))).toMatchObject({
    knownUsd: 500,
    origin: 'ledger',
  });
  await outcome(await begin(ledger, budget(Infinity, NOW + 2, 500)), 'accepted');
  expect(newestBudget(undefined, await ledger.budgetChanges('production', 0))?.knownUsd).toBe(Infinity);
  expect(await ledger.budgetChangesOf(['production', 'staging'])).toEqual(
    new Map([
      ['production', await ledger.budgetChanges('production', 0)],
      ['staging', []],
    ]),
  );
  expect(await ledger.budgetChanges('production', NOW)).toHaveLength(1);
  expect(await ledger.raises('production', 0)).toEqual([]);
  await outcome(await begin(ledger, budget(200, NOW + 3)), 'unknown');
  expect(newestBudget(undefined, await ledger.budgetChanges('production', 0))).toBeUndefined();
});

test('a lower budget of an operator is later than an assertion of the same day', () => {
  const day = Date.UTC(2026, 10, 18);
  const asserted = { knownUsd: 500, assertedOn: day, maxAge: 45 * DAY_MS };
  expect(isOvertaken(asserted, { at: NOW, toUsd: 100 })).toBe(true);
  expect(isOvertaken(asserted, { at: NOW, toUsd: 100, isByOperator: true })).toBe(false);
  expect(isOvertaken({ ...asserted, assertedOn: day + 2 * DAY_MS }, { at: NOW, toUsd: 100, isByOperator: true })).toBe(
    true,
  );
});

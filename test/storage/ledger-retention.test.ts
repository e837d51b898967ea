import { expect, test } from 'vitest';
import type { ActionOutcome } from '#automate/ledger/intents.ts';
import { intentFor, NO_CAPS, planOf, resumeOf } from '../support/ledger-facts.ts';
import { ledgerTest } from '../support/postgres/test-stores.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';

const DAY = 86_400_000;
const NOW = 1_000 * DAY;
const OLD = NOW - 401 * DAY;

test('actions with a final outcome are removed after 400 days, and not a day before', async () => {
  const audit = memoryAudit();
  const ledger = memoryLedger('here', audit);
  const done = async (dlqId: string, at: number, outcome: ActionOutcome): Promise<number> => {
    const id = await intentFor(ledger, dlqId, {}, at);
    await ledger.recordOutcome(id, 'production', { at, outcome });
    return id;
  };
  for (const outcome of [
    'verified',
    'failed_again',
    'rejected',
    'confirmed_applied',
    'confirmed_not_applied',
  ] as const) {
    await done(`old-${outcome}`, OLD, outcome);
  }
  const young = await done('young', NOW - 399 * DAY, 'verified');
  expect(await ledger.prune(NOW)).toEqual({ intents: 5, runs: 5, plans: 0, more: false });
  expect((await ledger.recentActions(9)).map(({ id }) => id)).toEqual([young]);
  expect(audit.entries.at(-1)).toEqual({ type: 'store.pruned', intents: 5, runs: 5, plans: 0 });
  const told = audit.entries.length;
  expect(await ledger.prune(NOW)).toMatchObject({ intents: 0, runs: 0 });
  expect(audit.entries).toHaveLength(told);
});

ledgerTest('an action stays while anything still needs it', async (ledger) => {
  await intentFor(ledger, 'no-outcome', {}, OLD);
  for (const outcome of ['accepted', 'unknown', 'unresolvable', 'unverified'] as const) {
    await ledger.recordOutcome(await intentFor(ledger, outcome, {}, OLD), 'production', { at: OLD, outcome });
  }
  const verified = async (dlqId: string, change: Parameters<typeof resumeOf>[1], at = OLD): Promise<boolean> =>
    ledger.recordOutcome(await intentFor(ledger, dlqId, change, at), 'production', { at, outcome: 'verified' });
  await verified('may-be-listed', { expiresAt: NOW + DAY });
  await verified('lineage-young', { lineage: 'l1' });
  await verified('lineage-young-2', { lineage: 'l1' }, NOW - DAY);
  await verified('lineage-open', { lineage: 'l2' });
  await intentFor(ledger, 'lineage-open-2', { lineage: 'l2' }, OLD);
  await verified('campaign-open', { campaign: { id: 'p/1', step: 1 } });
  const of = { policy: 'p', account: 'production', group: 'g' };
  await ledger.changeCampaign(of, () => ({
    ...of,
    id: '',
    state: 'settling',
    step: 1,
    size: 1,
    begunAt: OLD,
    halts: 0,
    recent: [],
    judged: 0,
    verified: 0,
  }));
  await verified('expired', { expiresAt: NOW - DAY });
  expect((await ledger.prune(NOW)).intents).toBe(1);
  expect((await ledger.claims('production', ['expired'])).has('expired')).toBe(false);
  for (const target of [
    'no-outcome',
    'accepted',
    'unknown',
    'unresolvable',
    'unverified',
    'may-be-listed',
    'campaign-open',
  ]) {
    expect((await ledger.claims('production', [target])).has(target), target).toBe(true);
  }
  expect((await ledger.histories('production', ['l1'])).get('l1')?.attempts).toBe(2);
  expect((await ledger.histories('production', ['l2'])).get('l2')?.attempts).toBe(2);
});

ledgerTest('the last run of a policy stays, and plans are removed by their state', async (ledger) => {
  await ledger.beginRun(planOf(), OLD);
  const last = await ledger.beginRun(planOf(), OLD + 1);
  const save = (digit: string, state: 'draft' | 'pending', expiresAt: number) =>
    ledger.savePlan({
      plan: planOf({ id: `${digit}00000`, hash: digit.padEnd(64, '0') }),
      targets: [],
      savedAt: OLD,
      expiresAt,
      state,
    });
  await save('1', 'pending', OLD);
  await save('2', 'pending', NOW - 30 * DAY);
  await save('3', 'draft', NOW - 8 * DAY);
  await save('4', 'draft', NOW - 6 * DAY);
  expect(await ledger.prune(NOW)).toEqual({ intents: 0, runs: 1, plans: 2, more: false });
  expect((await ledger.lastRuns()).map(({ id }) => id)).toEqual([last]);
  expect((await ledger.storedPlans(['expired'], NOW)).map(({ plan }) => plan.id)).toEqual(['200000', '400000']);
});

ledgerTest('a requested window is equal before and after', async (ledger) => {
  await intentFor(ledger, 'old', { items: 5 }, OLD);
  await ledger.reserve(1, resumeOf('young', { items: 7 }), NOW - DAY, NO_CAPS);
  await ledger.prune(NOW);
  expect((await ledger.used([{ scope: {}, since: NOW - 31 * DAY }]))[0]).toBe(7);
});

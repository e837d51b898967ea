import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { Proposal } from '#foundation/domain/plan.ts';
import { ACTION_OUTCOMES, type CapLimit } from '#automate/ledger/intents.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { nextEpoch } from '#storage/meta.ts';
import { openStore } from '#storage/sqlite.ts';
import { intentFor, NO_CAPS, pageOf, planOf, raiseTo, resumeOf } from '../support/ledger-facts.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { LEDGERS, ledgerTest } from '../support/postgres/test-stores.ts';
import { tempDir } from '../support/temp-dir.ts';

const HOUR = 3_600_000;

async function ledgerIn(path = join(tempDir(), 'opsd.db')): Promise<Ledger> {
  const store = openStore(path);
  onTestFinished(() => {
    if (store.db.isOpen) store[Symbol.dispose]();
  });
  return await openLedger(store, memoryAudit());
}

ledgerTest('a sent id is not reserved again, unless the request provably had no effect', async (ledger) => {
  for (const outcome of ACTION_OUTCOMES) {
    const dlqId = `dlq-${outcome}`;
    const id = await intentFor(ledger, dlqId);
    expect(await ledger.reserve(1, resumeOf(dlqId), 2_000, NO_CAPS)).toMatchObject({ ok: false, guard: 'claim' });
    await ledger.recordOutcome(id, 'production', { at: 2_000, outcome });
    const withoutEffect = outcome === 'rejected' || outcome === 'confirmed_not_applied';
    expect((await ledger.claims('production', [dlqId])).has(dlqId), outcome).toBe(!withoutEffect);
    const action = withoutEffect ? undefined : 'workflow-dlq.resume';
    expect((await ledger.claims('production', [dlqId])).get(dlqId), outcome).toBe(action);
    expect((await ledger.reserve(1, resumeOf(dlqId), 3_000, NO_CAPS)).ok, outcome).toBe(withoutEffect);
  }
  expect((await ledger.reserve(1, resumeOf('dlq-accepted', { account: 'staging' }), 3_000, NO_CAPS)).ok).toBe(true);
});

ledgerTest('caps slide, count each scope apart, and are returned by an action without effect', async (ledger) => {
  const caps: CapLimit[] = [
    { scope: 'policy', windowMs: HOUR, limit: 2 },
    { scope: 'engine', windowMs: 24 * HOUR, limit: 3 },
  ];
  const run = await ledger.beginRun(planOf(), 0);
  const reserve = (dlqId: string, at: number, policy = 'resume-billing') =>
    ledger.reserve(run, resumeOf(dlqId, { policy }), at, caps);
  expect((await reserve('a', 1_000)).ok).toBe(true);
  const second = await reserve('b', 2_000);
  expect(await reserve('c', 3_000)).toMatchObject({ ok: false, guard: 'caps', reason: 'policy: 2 in 1 h reached' });
  if (second.ok)
    await ledger.recordOutcome(second.intent.id, 'production', { at: 2_500, outcome: 'rejected', detail: '404' });
  expect((await reserve('c', 3_000)).ok).toBe(true);
  expect(await reserve('d', 3_500)).toMatchObject({ ok: false, guard: 'caps' });
  expect((await reserve('d', 1_000 + HOUR)).ok).toBe(true);
  expect(await reserve('e', 3_000 + 2 * HOUR, 'another')).toMatchObject({ reason: 'engine: 3 in 24 h reached' });
  expect((await ledger.used([{ scope: { policy: 'resume-billing' }, since: 0 }]))[0]).toBe(3);
  expect((await ledger.used([{ scope: { policy: 'another' }, since: 0 }]))[0]).toBe(0);
  expect((await ledger.used([{ scope: { account: 'production' }, since: 0 }]))[0]).toBe(3);
});

test('the state after a crash is found at the next opening, and settles through its outcomes', async () => {
  const path = join(tempDir(), 'opsd.db');
  const before = openStore(path);
  const crashed = await intentFor(await openLedger(before, memoryAudit()), 'dlq-7', { lineage: 'lin-7' });
  before[Symbol.dispose]();

  const ledger = await ledgerIn(path);
  expect(await ledger.openActions()).toMatchObject([{ id: crashed, proposal: { dlqId: 'dlq-7', lineage: 'lin-7' } }]);
  expect((await ledger.claims('production', ['dlq-7'])).has('dlq-7')).toBe(true);
  await ledger.recordOutcome(crashed, 'production', {
    at: 5_000,
    outcome: 'unknown',
    detail: 'the process ended before an answer',
  });
  expect(await ledger.openActions()).toMatchObject([{ id: crashed, outcome: 'unknown', outcomeAt: 5_000 }]);
  expect(await ledger.unknownOutcomes()).toEqual(new Map([['resume-billing', 1]]));
  expect(await ledger.oldestOpenAt()).toBe(1_000);
  await ledger.recordOutcome(crashed, 'production', { at: 9_000, outcome: 'confirmed_applied' });
  expect(await ledger.openActions()).toEqual([]);
  expect(await ledger.unknownOutcomes()).toEqual(new Map());
  expect(await ledger.oldestOpenAt()).toBeUndefined();
  expect(await ledger.recentActions(5)).toMatchObject([{ id: crashed, outcome: 'confirmed_applied' }]);
});

test('a lineage is identified by the run of a resume, and counts only actions that may have happened', async () => {
  const ledger = await ledgerIn();
  const first = await intentFor(ledger, 'a', { lineage: 'lin-9' }, 1_000);
  await ledger.recordOutcome(first, 'production', { at: 1_100, outcome: 'accepted', newRunId: 'wfr_new' });
  await ledger.recordOutcome(first, 'production', { at: 2_000, outcome: 'failed_again' });
  expect((await ledger.lineagesOfRuns('production', ['wfr_new'])).get('wfr_new')).toEqual({
    lineage: 'lin-9',
    attempts: 1,
    lastAttemptAt: 1_000,
  });
  expect((await ledger.lineagesOfRuns('staging', ['wfr_new'])).get('wfr_new')).toBeUndefined();
  expect((await ledger.lineagesOfRuns('production', ['wfr_other'])).get('wfr_other')).toBeUndefined();
  // A listing has many ids, and some of them several times.
  const many = Array.from({ length: 2_500 }, (_, index) => (index % 1_200 === 1_199 ? 'wfr_new' : `wfr_${index}`));
  expect([...(await ledger.lineagesOfRuns('production', many)).keys()]).toEqual(['wfr_new']);
  expect([...(await ledger.claims('production', [...many, 'a', 'a']))]).toEqual([['a', 'workflow-dlq.resume']]);
  const repeatedly = await ledger.histories('production', [...many, 'lin-9', 'lin-9']);
  expect([...repeatedly]).toMatchObject([['lin-9', { attempts: 1 }]]);
  const second = await intentFor(ledger, 'b', { lineage: 'lin-9' }, 5_000);
  expect((await ledger.histories('production', ['lin-9'])).get('lin-9')).toMatchObject({
    attempts: 2,
    lastAttemptAt: 5_000,
  });
  await ledger.recordOutcome(second, 'production', { at: 5_100, outcome: 'rejected' });
  expect((await ledger.histories('production', ['lin-9'])).get('lin-9')).toMatchObject({
    attempts: 1,
    lastAttemptAt: 1_000,
  });
  expect((await ledger.histories('production', ['lin-none'])).get('lin-none')).toBeUndefined();
  expect(await ledger.recentActions(2)).toMatchObject([
    { id: second },
    { id: first, newRunId: 'wfr_new', outcome: 'failed_again' },
  ]);
});

test('the last run of each policy has its result', async () => {
  const ledger = await ledgerIn();
  const old = await ledger.beginRun(planOf(), 1_000);
  await ledger.finishRun(old, 'production', { at: 1_500, outcome: 'nothing_to_do', matched: 0, acted: 0, backlog: 0 });
  const run = await ledger.beginRun(planOf(), 2_000);
  await ledger.reserve(run, resumeOf('dlq-1'), 2_001, NO_CAPS);
  await ledger.finishRun(run, 'production', {
    at: 2_500,
    outcome: 'acted',
    matched: 4,
    acted: 1,
    backlog: 3,
    detail: 'caps',
  });
  const other = await ledger.beginRun(planOf({ policy: 'another' }), 3_000);
  expect(await ledger.lastRuns()).toEqual([
    {
      id: other,
      policy: 'another',
      account: 'production',
      at: 3_000,
      trigger: { kind: 'schedule' },
      planId: '9f3c2a',
      matched: 0,
      acted: 0,
      backlog: 0,
    },
    {
      id: run,
      policy: 'resume-billing',
      account: 'production',
      at: 2_000,
      trigger: { kind: 'schedule' },
      planId: '9f3c2a',
      finishedAt: 2_500,
      outcome: 'acted',
      matched: 4,
      acted: 1,
      backlog: 3,
      detail: 'caps',
    },
  ]);
});

test.each(LEDGERS)('%s: in any sequence of calls, no cap is exceeded and no id occurs twice', async (name, open) => {
  const caps: CapLimit[] = [
    { scope: 'policy', windowMs: 1_000_000, limit: 5 },
    { scope: 'account', windowMs: 3_000_000, limit: 9 },
    { scope: 'engine', windowMs: 5_000_000, limit: 14 },
  ];
  const step = fc.record({
    dlqId: fc.integer({ min: 0, max: 12 }).map(String),
    policy: fc.constantFrom('p', 'q'),
    account: fc.constantFrom('a', 'b'),
    items: fc.integer({ min: 1, max: 3 }),
    wait: fc.integer({ min: 0, max: 600_000 }),
    /** A page of a prune, and its number of deletions. */
    prunes: fc.option(fc.integer({ min: 0, max: 3 })),
    outcome: fc.option(fc.constantFrom(...ACTION_OUTCOMES)),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const ledger = await open();
      const run = await ledger.beginRun(planOf(), 0);
      let now = 1_000;
      let targets = 0;
      const taken: { at: number; proposal: Proposal; items: number }[] = [];
      for (const { dlqId, policy, account, items, wait, prunes, outcome } of steps) {
        now += wait;
        const wanted =
          prunes === null
            ? resumeOf(dlqId, { policy, account, items })
            : pageOf(`prune/${targets++}`, { policy, account, items });
        const reservation = await ledger.reserve(run, wanted, now, caps);
        const held = taken.some(
          (other) => other.proposal.target === wanted.target && other.proposal.account === account,
        );
        if (held) expect(reservation).toMatchObject({ ok: false, guard: 'claim' });
        if (!reservation.ok) continue;
        const withoutEffect = outcome === 'rejected' || outcome === 'confirmed_not_applied';
        const done = prunes === null ? {} : { done: prunes };
        if (outcome !== null)
          await ledger.recordOutcome(reservation.intent.id, 'production', { at: now, outcome, ...done });
        // A verified action was accepted first.
        if (outcome === 'accepted')
          await ledger.recordOutcome(reservation.intent.id, 'production', { at: now, outcome: 'verified' });
        const told = outcome === 'accepted' && prunes !== null ? Math.min(prunes, items) : items;
        if (!withoutEffect && told > 0) taken.push({ at: now, proposal: wanted, items: told });
        for (const cap of caps) {
          const inWindow = taken.filter(
            (other) =>
              other.at > now - cap.windowMs &&
              (cap.scope !== 'policy' || other.proposal.policy === policy) &&
              (cap.scope !== 'account' || other.proposal.account === account),
          );
          const itemsInWindow = inWindow.reduce((sum, other) => sum + other.items, 0);
          expect(itemsInWindow).toBeLessThanOrEqual(cap.limit);
          const scope = { ...(cap.scope === 'policy' && { policy }), ...(cap.scope === 'account' && { account }) };
          const since = now - cap.windowMs;
          expect(await ledger.used([{ scope, since }])).toEqual([itemsInWindow]);
          expect(await ledger.oldestAt(scope, since)).toBe(inWindow[0]?.at);
        }
      }
    }),
    { numRuns: name === 'SQLite' ? 40 : 4 },
  );
});

test('a pause keeps its first reason, across openings, until an operator lifts it', async () => {
  const path = join(tempDir(), 'opsd.db');
  const before = openStore(path);
  const first = await openLedger(before, memoryAudit());
  await first.pause({ scope: 'engine', reason: 'exceeded_request', at: 1_000, by: 'engine' });
  await first.pause({ scope: 'engine', reason: 'again', at: 2_000, by: 'engine' });
  await first.pause({ scope: 'policy/p', reason: 'outcome_mismatch', at: 3_000, by: 'engine' });
  await first.pause({ scope: 'group/p/https://a', reason: 'looks odd', at: 3_500, by: 'anna' });
  before[Symbol.dispose]();

  const ledger = await ledgerIn(path);
  expect(await ledger.pauses()).toEqual([
    { scope: 'engine', reason: 'exceeded_request', at: 1_000, by: 'engine' },
    { scope: 'policy/p', reason: 'outcome_mismatch', at: 3_000, by: 'engine' },
    { scope: 'group/p/https://a', reason: 'looks odd', at: 3_500, by: 'anna' },
  ]);
  const lifted = { at: 4_000, reason: 'looked', by: 'anna' };
  expect(await ledger.unpause({ scope: 'policy/p', ...lifted })).toBe(1);
  expect(await ledger.unpause({ scope: 'policy/p', ...lifted })).toBe(0);
  expect((await ledger.pauses()).map(({ scope }) => scope)).toEqual(['engine', 'group/p/https://a']);
  expect(await ledger.unpause(lifted)).toBe(2);
  expect(await ledger.pauses()).toEqual([]);
  await ledger.pause({ scope: 'engine', reason: 'once more', at: 5_000, by: 'engine' });
  expect(await ledger.pauses()).toEqual([{ scope: 'engine', reason: 'once more', at: 5_000, by: 'engine' }]);
});

ledgerTest('a budget is raised under its own caps, and uses no other', async (ledger) => {
  const caps: CapLimit[] = [
    { scope: 'policy', windowMs: HOUR, limit: 1, actions: ['budget.raise'] },
    { scope: 'engine', windowMs: HOUR, limit: 2 },
  ];
  const run = await ledger.beginRun(planOf(), 0);
  expect((await ledger.reserve(run, raiseTo(120), 1_000, caps)).ok).toBe(true);
  expect(await ledger.reserve(run, raiseTo(150), 2_000, caps)).toMatchObject({
    guard: 'caps',
    reason: 'policy: 1 in 1 h reached',
  });
  expect((await ledger.reserve(run, resumeOf('a', { items: 2 }), 2_000, caps)).ok).toBe(true);
  expect((await ledger.used([{ scope: {}, since: 0 }]))[0]).toBe(2);
  expect((await ledger.used([{ scope: { actions: ['budget.raise', 'workflow-dlq.resume'] }, since: 0 }]))[0]).toBe(3);
  expect(
    (await ledger.used([{ scope: { account: 'production', actions: ['workflow-dlq.delete'] }, since: 0 }]))[0],
  ).toBe(0);
});

ledgerTest('an action of several items reserves all of them or nothing', async (ledger) => {
  const caps: CapLimit[] = [{ scope: 'account', windowMs: 24 * HOUR, limit: 100 }];
  const run = await ledger.beginRun(planOf(), 0);
  expect((await ledger.reserve(run, resumeOf('a', { items: 60 }), 1_000, caps)).ok).toBe(true);
  expect(await ledger.reserve(run, resumeOf('b', { items: 41 }), 1_000, caps)).toMatchObject({
    guard: 'caps',
    reason: 'account: 60 of 100 in 24 h used, 41 more do not fit',
  });
  expect((await ledger.reserve(run, resumeOf('b', { items: 40 }), 1_000, caps)).ok).toBe(true);
  expect((await ledger.used([{ scope: {}, since: 0 }]))[0]).toBe(100);
});

test('raises that may have happened are listed from the oldest', async () => {
  const ledger = await ledgerIn();
  const run = await ledger.beginRun(planOf(), 0);
  const ids: number[] = [];
  for (const [index, usd] of [120, 150, 180].entries()) {
    const reservation = await ledger.reserve(run, raiseTo(usd), 1_000 + index, NO_CAPS);
    if (reservation.ok) ids.push(reservation.intent.id);
  }
  await ledger.recordOutcome(ids[0]!, 'production', { at: 2_000, outcome: 'accepted', done: 1 });
  await ledger.recordOutcome(ids[1]!, 'production', { at: 2_000, outcome: 'rejected' });
  expect(await ledger.raises('production', 0)).toEqual([
    { at: 1_000, fromUsd: 100, toUsd: 120, outcome: 'accepted' },
    { at: 1_002, fromUsd: 100, toUsd: 180 },
  ]);
  expect(await ledger.raises('production', 1_000)).toHaveLength(1);
  expect(await ledger.raises('staging', 0)).toEqual([]);
  expect(await ledger.lastIntentAt('raise-budget')).toBe(1_002);
  expect(await ledger.lastIntentAt('another')).toBeUndefined();
  expect(await ledger.action(ids[0]!)).toMatchObject({ outcome: 'accepted', done: 1, epoch: 1 });
  expect(await ledger.action(99)).toBeUndefined();
});

ledgerTest('actions are found by entry, by the failed run and by the run of a resume', async (ledger) => {
  const first = await intentFor(ledger, 'a', { campaign: { id: 'p/1', step: 1 } });
  await ledger.recordOutcome(first, 'production', { at: 1_100, outcome: 'accepted', newRunId: 'wfr_new' });
  const elsewhere = await intentFor(ledger, 'a', { account: 'staging', campaign: { id: 'p/1', step: 2 } });
  const ids = async (account: string | undefined, id: string): Promise<number[]> =>
    (await ledger.actionsOn(account, [id])).map((act) => act.id);
  expect(await ids(undefined, 'a')).toEqual([elsewhere, first]);
  expect(await ids('production', 'a')).toEqual([first]);
  expect(await ids('production', 'wfr_a')).toEqual([first]);
  expect(await ids('production', 'wfr_new')).toEqual([first]);
  expect(await ids('production', 'b')).toEqual([]);
  const acts = async (step: number) => (await ledger.stepActs([{ id: 'p/1', step }])).get('p/1')?.map((act) => act.id);
  expect(await acts(1)).toEqual([first]);
  expect(await acts(2)).toEqual([elsewhere]);
  expect(await acts(3)).toBeUndefined();
  expect((await ledger.resumedFrom('production', ['wfr_new'])).get('wfr_new')).toBe('wfr_a');
});

ledgerTest(
  'steps of campaigns have their first time, their size, and their final outcomes by minute',
  async (ledger) => {
    const ids = [];
    for (const step of [1, 2, 2, 2])
      ids.push(await intentFor(ledger, `a${ids.length}`, { campaign: { id: 'p/1', step } }));
    await intentFor(ledger, 'a', { account: 'staging', campaign: { id: 'p/1', step: 2 } });
    await intentFor(ledger, 'b', { campaign: { id: 'p/2', step: 1 } });
    const outcomes = [
      [0, 'accepted', 1_000],
      [0, 'verified', 61_000],
      [1, 'verified', 121_000],
      [2, 'verified', 179_999],
      [3, 'failed_again', 180_000],
    ] as const;
    for (const [index, outcome, at] of outcomes) await ledger.recordOutcome(ids[index]!, 'production', { at, outcome });
    const [first, second] = [(await ledger.action(ids[0]!))!.at, (await ledger.action(ids[1]!))!.at];
    expect(await ledger.stepsOf('production', ['p/1', 'p/9'])).toEqual([
      { campaign: 'p/1', step: 1, at: first, sent: 1, outcomes: [{ at: 60_000, outcome: 'verified', count: 1 }] },
      {
        campaign: 'p/1',
        step: 2,
        at: second,
        sent: 3,
        outcomes: [
          { at: 120_000, outcome: 'verified', count: 2 },
          { at: 180_000, outcome: 'failed_again', count: 1 },
        ],
      },
    ]);
    expect(await ledger.stepsOf('production', [])).toEqual([]);
  },
);

test('a long campaign has its newest steps, each of them whole', async () => {
  const ledger = await ledgerIn();
  const run = await ledger.beginRun(planOf(), 1_000);
  for (let index = 0; index < 5_200; index++) {
    const campaign = { id: 'p/1', step: 1 + Math.floor(index / 500) };
    await ledger.reserve(run, resumeOf(`a${index}`, { campaign }), 1_000 + index, NO_CAPS);
  }
  const steps = await ledger.stepsOf('production', ['p/1']);
  // 200 of the last step, 500 of each of 9, and 300 of the first one, which is left out.
  const whole = [2, 3, 4, 5, 6, 7, 8, 9, 10].map((step) => [step, 500]);
  expect(steps.map(({ step, sent }) => [step, sent])).toEqual([...whole, [11, 200]]);
});

test('runs are listed newest first, of one policy or of all, with their triggers', async () => {
  const ledger = await ledgerIn();
  const trigger = { kind: 'alert', name: 'Down', key: 'r/f/1' } as const;
  const first = await ledger.beginRun(planOf({ trigger }), 1_000);
  const second = await ledger.beginRun(planOf({ policy: 'another' }), 2_000);
  expect((await ledger.runs({ limit: 5 })).map(({ id }) => id)).toEqual([second, first]);
  expect((await ledger.runs({ limit: 1 })).map(({ id }) => id)).toEqual([second]);
  expect(await ledger.runs({ policy: 'resume-billing', limit: 5 })).toMatchObject([
    { id: first, trigger, planId: '9f3c2a' },
  ]);
});

ledgerTest('an outcome without an intent is rejected', async (ledger) => {
  await expect(ledger.recordOutcome(7, 'production', { at: 1, outcome: 'accepted' })).rejects.toThrow(
    'intent 7 is not in the ledger',
  );
});

test('each opening has its own number, and a process with an outdated number must not act', async () => {
  const path = join(tempDir(), 'opsd.db');
  openStore(path)[Symbol.dispose]();
  const store = openStore(path);
  onTestFinished(() => store[Symbol.dispose]());
  const ledger = await openLedger(store, memoryAudit());
  expect(ledger.epoch).toBe(2);
  const run = await ledger.beginRun(planOf(), 0);
  expect(await ledger.reserve(run, resumeOf('a'), 1_000, NO_CAPS)).toMatchObject({ ok: true, intent: { epoch: 2 } });
  expect(await ledger.leaseLost('production')).toBeUndefined();
  await store.database.transaction(nextEpoch());
  expect(await ledger.leaseLost('production')).toBe("opening 3 of the store is newer than this process's 2");
  expect(await ledger.reserve(run, resumeOf('b'), 1_000, NO_CAPS)).toMatchObject({ ok: false, guard: 'lease' });
  expect((await ledger.claims('production', ['b'])).has('b')).toBe(false);
});

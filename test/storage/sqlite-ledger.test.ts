import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { Plan, Proposal } from '../../src/domain/plan.ts';
import { ACTION_OUTCOMES, type CapLimit, type Ledger } from '../../src/ledger/ledger.ts';
import { createLedger } from '../../src/storage/sqlite-ledger.ts';
import { openStore } from '../../src/storage/sqlite.ts';
import { tempDir } from '../support/temp-dir.ts';

const HOUR = 3_600_000;
const NO_CAPS: readonly CapLimit[] = [];

function openLedger(path = join(tempDir(), 'opsd.db')): Ledger {
  const store = openStore(path);
  onTestFinished(() => {
    if (store.db.isOpen) store[Symbol.dispose]();
  });
  return createLedger(store);
}

function proposal(change: Partial<Proposal> = {}): Proposal {
  return {
    policy: 'resume-billing',
    account: 'production',
    action: 'workflow-dlq.resume',
    dlqId: 'dlq-1',
    workflowRunId: 'wfr_1',
    workflowUrl: 'https://app.example.com/invoice',
    lineage: 'lin-1',
    attempt: 1,
    failedAt: 1_000,
    labels: ['billing'],
    cause: 'transient',
    status: 503,
    ...change,
  };
}

function plan(change: Partial<Plan> = {}): Plan {
  return {
    id: '9f3c2a',
    policy: 'resume-billing',
    account: 'production',
    source: 'policies/billing.yaml:3',
    at: 1,
    state: 'changes',
    mode: 'enforce',
    effectiveMode: 'enforce',
    read: { pages: 1, entries: 1, complete: true, echoChecked: 1 },
    chosen: [],
    backlog: 0,
    skipped: [],
    evaluationErrors: 0,
    caps: [],
    ...change,
  };
}

function intentFor(ledger: Ledger, change: Partial<Proposal>, at = 1_000): number {
  const reservation = ledger.reserve(ledger.beginRun(plan(), at), proposal(change), at, NO_CAPS);
  if (!reservation.ok) throw new Error(`${reservation.guard}: ${reservation.reason}`);
  return reservation.intent.id;
}

test('an id that was sent is not reserved again, unless that was proven to have done nothing', () => {
  const ledger = openLedger();
  for (const outcome of ACTION_OUTCOMES) {
    const dlqId = `dlq-${outcome}`;
    const id = intentFor(ledger, { dlqId });
    expect(ledger.reserve(1, proposal({ dlqId }), 2_000, NO_CAPS)).toMatchObject({ ok: false, guard: 'claim' });
    ledger.recordOutcome(id, { at: 2_000, outcome });
    const withoutEffect = outcome === 'rejected' || outcome === 'resolved_not_done';
    expect(ledger.isClaimed('production', dlqId), outcome).toBe(!withoutEffect);
    const action = withoutEffect ? undefined : 'workflow-dlq.resume';
    expect(ledger.actionOn('production', dlqId), outcome).toBe(action);
    expect(ledger.reserve(1, proposal({ dlqId }), 3_000, NO_CAPS).ok, outcome).toBe(withoutEffect);
  }
  expect(ledger.reserve(1, proposal({ account: 'staging', dlqId: 'dlq-acked' }), 3_000, NO_CAPS).ok).toBe(true);
});

test('caps slide, count each scope apart, and are given back by an act without effect', () => {
  const ledger = openLedger();
  const caps: CapLimit[] = [
    { scope: 'policy', windowMs: HOUR, limit: 2 },
    { scope: 'engine', windowMs: 24 * HOUR, limit: 3 },
  ];
  const run = ledger.beginRun(plan(), 0);
  const reserve = (dlqId: string, at: number, policy = 'resume-billing') =>
    ledger.reserve(run, proposal({ dlqId, policy }), at, caps);
  expect(reserve('a', 1_000).ok).toBe(true);
  const second = reserve('b', 2_000);
  expect(reserve('c', 3_000)).toMatchObject({ ok: false, guard: 'caps', reason: 'policy: 2 in 1 h reached' });
  if (second.ok) ledger.recordOutcome(second.intent.id, { at: 2_500, outcome: 'rejected', detail: '404' });
  expect(reserve('c', 3_000).ok).toBe(true);
  expect(reserve('d', 3_500)).toMatchObject({ ok: false, guard: 'caps' });
  expect(reserve('d', 1_000 + HOUR).ok).toBe(true);
  expect(reserve('e', 3_000 + 2 * HOUR, 'another')).toMatchObject({ reason: 'engine: 3 in 24 h reached' });
  expect(ledger.used({ policy: 'resume-billing' }, 0)).toBe(3);
  expect(ledger.used({ policy: 'another' }, 0)).toBe(0);
  expect(ledger.used({ account: 'production' }, 0)).toBe(3);
});

test('what a crash left is found after opening again, and settles through its outcomes', () => {
  const path = join(tempDir(), 'opsd.db');
  const before = openStore(path);
  const crashed = intentFor(createLedger(before), { dlqId: 'dlq-7', lineage: 'lin-7' });
  before[Symbol.dispose]();

  const ledger = openLedger(path);
  expect(ledger.intentsWithoutOutcome()).toMatchObject([
    { id: crashed, proposal: { dlqId: 'dlq-7', lineage: 'lin-7' } },
  ]);
  expect(ledger.isClaimed('production', 'dlq-7')).toBe(true);
  ledger.recordOutcome(crashed, { at: 5_000, outcome: 'unknown', detail: 'the process ended before an answer' });
  expect(ledger.intentsWithoutOutcome()).toEqual([]);
  expect(ledger.unsettled('production')).toMatchObject([{ id: crashed, outcome: 'unknown', outcomeAt: 5_000 }]);
  expect(ledger.unsettled('staging')).toEqual([]);
  expect(ledger.unknownOutcomes()).toBe(1);
  ledger.recordOutcome(crashed, { at: 9_000, outcome: 'resolved_done' });
  expect(ledger.unsettled('production')).toEqual([]);
  expect(ledger.unknownOutcomes()).toBe(0);
  expect(ledger.recentActions(5)).toMatchObject([{ id: crashed, outcome: 'resolved_done' }]);
});

test('a lineage is known by the run a resume made, and counts only acts that may have happened', () => {
  const ledger = openLedger();
  const first = intentFor(ledger, { dlqId: 'a', lineage: 'lin-9' }, 1_000);
  ledger.recordOutcome(first, { at: 1_100, outcome: 'acked', newRunId: 'wfr_new' });
  ledger.recordOutcome(first, { at: 2_000, outcome: 'came_back' });
  expect(ledger.lineageOfRun('production', 'wfr_new')).toEqual({ lineage: 'lin-9', attempts: 1, lastAttemptAt: 1_000 });
  expect(ledger.lineageOfRun('staging', 'wfr_new')).toBeUndefined();
  expect(ledger.lineageOfRun('production', 'wfr_other')).toBeUndefined();
  const second = intentFor(ledger, { dlqId: 'b', lineage: 'lin-9' }, 5_000);
  expect(ledger.historyOf('production', 'lin-9')).toMatchObject({ attempts: 2, lastAttemptAt: 5_000 });
  ledger.recordOutcome(second, { at: 5_100, outcome: 'rejected' });
  expect(ledger.historyOf('production', 'lin-9')).toMatchObject({ attempts: 1, lastAttemptAt: 1_000 });
  expect(ledger.historyOf('production', 'lin-none')).toEqual({ lineage: 'lin-none', attempts: 0 });
  expect(ledger.recentActions(2)).toMatchObject([
    { id: second },
    { id: first, newRunId: 'wfr_new', outcome: 'came_back' },
  ]);
});

test('the last run of each policy tells what it did', () => {
  const ledger = openLedger();
  const old = ledger.beginRun(plan(), 1_000);
  ledger.finishRun(old, { at: 1_500, outcome: 'nothing', matched: 0, acted: 0, backlog: 0 });
  const run = ledger.beginRun(plan(), 2_000);
  ledger.reserve(run, proposal(), 2_001, NO_CAPS);
  ledger.finishRun(run, { at: 2_500, outcome: 'acted', matched: 4, acted: 1, backlog: 3, detail: 'caps' });
  const other = ledger.beginRun(plan({ policy: 'another' }), 3_000);
  expect(ledger.lastRuns()).toEqual([
    { id: other, policy: 'another', account: 'production', at: 3_000, matched: 0, acted: 0, backlog: 0 },
    {
      id: run,
      policy: 'resume-billing',
      account: 'production',
      at: 2_000,
      finishedAt: 2_500,
      outcome: 'acted',
      matched: 4,
      acted: 1,
      backlog: 3,
      detail: 'caps',
    },
  ]);
});

test('whatever is tried, no cap is exceeded in any window and no id stands twice', () => {
  const caps: CapLimit[] = [
    { scope: 'policy', windowMs: 100, limit: 3 },
    { scope: 'account', windowMs: 300, limit: 5 },
    { scope: 'engine', windowMs: 500, limit: 8 },
  ];
  const step = fc.record({
    dlqId: fc.integer({ min: 0, max: 12 }).map(String),
    policy: fc.constantFrom('p', 'q'),
    account: fc.constantFrom('a', 'b'),
    wait: fc.integer({ min: 0, max: 60 }),
    outcome: fc.option(fc.constantFrom(...ACTION_OUTCOMES)),
  });
  const dir = tempDir();
  let files = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      using store = openStore(join(dir, `${files++}.db`));
      const ledger = createLedger(store);
      const run = ledger.beginRun(plan(), 0);
      let now = 1_000;
      const taken: { at: number; proposal: Proposal }[] = [];
      for (const { dlqId, policy, account, wait, outcome } of steps) {
        now += wait;
        const wanted = proposal({ dlqId, policy, account });
        const reservation = ledger.reserve(run, wanted, now, caps);
        const held = taken.some((other) => other.proposal.dlqId === dlqId && other.proposal.account === account);
        if (held) expect(reservation).toMatchObject({ ok: false, guard: 'claim' });
        if (!reservation.ok) continue;
        const withoutEffect = outcome === 'rejected' || outcome === 'resolved_not_done';
        if (outcome !== null) ledger.recordOutcome(reservation.intent.id, { at: now, outcome });
        if (!withoutEffect) taken.push({ at: now, proposal: wanted });
        for (const cap of caps) {
          const inWindow = taken.filter(
            (other) =>
              other.at > now - cap.windowMs &&
              (cap.scope !== 'policy' || other.proposal.policy === policy) &&
              (cap.scope !== 'account' || other.proposal.account === account),
          );
          expect(inWindow.length).toBeLessThanOrEqual(cap.limit);
        }
      }
    }),
    { numRuns: 40 },
  );
});

test('a pause stands with its first reason, across openings, until a person lifts it', () => {
  const path = join(tempDir(), 'opsd.db');
  const before = openStore(path);
  const first = createLedger(before);
  first.pause({ scope: 'engine', reason: 'more_than_asked', at: 1_000 });
  first.pause({ scope: 'engine', reason: 'again', at: 2_000 });
  first.pause({ scope: 'policy/p', reason: 'books', at: 3_000 });
  before[Symbol.dispose]();

  const ledger = openLedger(path);
  expect(ledger.pauses()).toEqual([
    { scope: 'engine', reason: 'more_than_asked', at: 1_000 },
    { scope: 'policy/p', reason: 'books', at: 3_000 },
  ]);
  expect(ledger.unpause({ at: 4_000, reason: 'looked' })).toBe(2);
  expect(ledger.pauses()).toEqual([]);
  ledger.pause({ scope: 'engine', reason: 'once more', at: 5_000 });
  expect(ledger.pauses()).toEqual([{ scope: 'engine', reason: 'once more', at: 5_000 }]);
});

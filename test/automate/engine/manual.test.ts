/** Manual plans: an operator's selection goes through the engine like a policy's run. */
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { AuditEntry } from '#automate/ledger/audit-log.ts';
import type { ManualRequest } from '#automate/ledger/commands.ts';
import { manualPolicyName } from '#foundation/domain/manual-plan.ts';
import type { IdentifiedPlan } from '#foundation/domain/plan.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { tempDir } from '../../support/temp-dir.ts';
import {
  deadLetter,
  HOUR,
  MINUTE,
  NEVER,
  policyOf,
  sentIds,
  START,
  world,
  type World,
  type WorldOptions,
  storedPlan,
} from './world.ts';
import { settleAndRun } from './random-steps.ts';

const ME = { by: 'tom', reason: 'go' };
const RESUME = { action: 'resume', label: ['billing'] } as const;
const PRUNE = { action: 'prune', label: ['newsletter'], toDate: START - HOUR } as const;

type RequestChange = Partial<ManualRequest>;

const request = async (w: World, asked: RequestChange) =>
  w.engine.planManually({ by: 'ann', reason: 'outage over', selection: RESUME, ...asked }, NEVER);

async function make(w: World, asked: RequestChange = {}): Promise<IdentifiedPlan> {
  const made = await request(w, asked);
  if (!made.ok) throw new Error(`${made.code}: ${made.message}`);
  return made.plan as IdentifiedPlan;
}

async function refusal(w: World, asked: RequestChange): Promise<string> {
  const made = await request(w, asked);
  return made.ok ? `plan ${made.plan.id}` : `${made.code}: ${made.message}`;
}

/** No policy acts, so everything that happens comes from the manual plan. */
function quiet(options: WorldOptions = {}): World {
  return world({ guards: GUARDS, policies: [], ...options, deps: { archiveDir: tempDir(), ...options.deps } });
}

async function applied(options?: WorldOptions, asked?: RequestChange) {
  const w = quiet(options);
  const plan = await make(w, asked);
  return { w, plan, result: await w.engine.apply(plan.id, ME, NEVER) };
}

/** Performs the runs that the engine requests, as the daemon does. */
async function follow(w: World, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    await w.clock.advance(MINUTE);
    await settleAndRun(w);
  }
}

const stateOf = async (w: World, { id }: IdentifiedPlan) => (await storedPlan(w, id))?.state;

describe('a selection becomes a plan', () => {
  test('with origin, operator, reason and selection, saved and not applied', async () => {
    const w = quiet({ entries: [{}, { labels: ['other'] }] });
    const plan = await make(w);
    expect(plan).toMatchObject({
      policy: `manual:${plan.id}`,
      account: 'production',
      action: 'workflow-dlq.resume',
      trigger: { kind: 'hand' },
      mode: 'approve',
      state: 'changes',
      matched: 1,
      manual: { by: 'ann', reason: 'outage over', selection: { ...RESUME, account: 'production' } },
    });
    expect(plan.hash.startsWith(plan.id)).toBe(true);
    expect(w.dlq.listings.at(-1)).toMatchObject({ label: ['billing'] });
    expect(await w.ledger.storedPlan(plan.id, START)).toMatchObject({
      state: 'draft',
      by: 'ann',
      reason: 'outage over',
    });
    expect(w.dlq.sent).toEqual([]);
  });

  test.each([
    ['no id and no filter', {}, 'no id and no filter'],
    ['only a time', { fromDate: START - HOUR, toDate: START }, 'no id and no filter'],
    ['an empty list of ids', { ids: [] }, 'ids is empty'],
    ['an empty list of a filter', { label: [] }, 'label is empty'],
    ['an empty value', { label: [' '] }, 'a value of label has no visible text'],
    ['an invisible value', { label: ['\u200B'] }, 'a value of label has no visible text'],
    ['a comma in a value', { label: ['a,b'] }, 'a value of label contains a comma'],
    ['a filter of another call', { queueName: ['q'] }, 'resume has no filter queueName'],
    ['an unknown state', { failureFunctionState: ['X'] }, 'failureFunctionState must be one of'],
    ['times in the wrong order', { label: ['a'], fromDate: 2, toDate: 1 }, 'fromDate is after toDate'],
    ['another account', { label: ['a'], account: 'x' }, 'there is no account x; accounts: production'],
  ])('but not with %s', async (_what, selection, why) => {
    const w = quiet({ entries: 1 });
    const said = await refusal(w, { selection: { action: 'resume', ...selection } });
    expect(said.toLowerCase()).toContain(`bad_selection: ${why}`.toLowerCase().slice(0, 14));
    expect(said.toLowerCase()).toContain(why.toLowerCase());
    expect(w.dlq.listings).toEqual([]);
  });

  test.each([
    ['no toDate', { url: ['https://a.example.com'] }, 'a prune needs todate'],
    ['only times', { fromDate: 1, toDate: START }, 'no id and no filter'],
    ['ids', { ids: ['a'], toDate: START }, 'not by ids'],
    ['a time in the last hour', { label: ['a'], toDate: START - HOUR + 1 }, 'at least an hour ago'],
  ])('and not a prune with %s', async (_what, selection, why) => {
    const w = quiet();
    w.dlq.messages = 10;
    const said = await refusal(w, { selection: { action: 'prune', ...selection } });
    expect(said.toLowerCase()).toContain(why);
  });

  test('of ids, and tells which are not there', async () => {
    const w = quiet();
    const [one, two] = [w.dlq.add(), w.dlq.add()];
    w.dlq.add();
    const plan = await make(w, { selection: { action: 'resume', ids: [two.dlqId, 'dlq-nowhere', one.dlqId] } });
    expect((await w.ledger.storedPlan(plan.id, START))?.targets.toSorted()).toEqual([one.dlqId, two.dlqId]);
    expect(plan.skipped).toContainEqual({ guard: 'select', reason: 'not among the selected ids', count: 1 });
    expect(plan.notes).toContain(
      '1 selected id is not in the workflow DLQ of production under these filters: dlq-nowhere.',
    );
    const said = await refusal(w, { selection: { action: 'resume', ids: ['dlq-nowhere'] } });
    expect(said).toBe('unknown_id: The id dlq-nowhere is not in the DLQ of production, or the filters exclude it.');
  });

  test('and says which policies select the same entries, which it does not hide from them', async () => {
    const w = world({ guards: GUARDS, deps: { archiveDir: tempDir() } });
    const entry = w.dlq.add();
    const plan = await make(w);
    expect(plan.chosen.map(({ target }) => target)).toEqual([entry.dlqId]);
    expect(plan.notes).toContain('Policy resume-billing also selects 1 of these entries; each entry is acted on once.');
  });

  test('unless a filter was ignored by the service', async () => {
    const w = quiet({ entries: [{ labels: ['other'] }] });
    w.dlq.ignoreFilters = true;
    expect(await make(w)).toMatchObject({ state: 'aborted', stopped: { guard: 'filter_mismatch' } });
    const runs = { action: 'resume', workflowRunId: ['wfr-9'] } as const;
    expect(await make(w, { selection: runs })).toMatchObject({
      state: 'aborted',
      stopped: { guard: 'filter_mismatch' },
    });
  });

  test('with overruled limits, as for a policy', async () => {
    const w = quiet({ entries: 5 });
    const plan = await make(w, { overrule: { 'ramp.start': '4' } });
    expect(plan.chosen).toHaveLength(4);
    expect(plan.overruled).toEqual({ settings: { 'ramp.start': '4' }, reason: 'outage over' });
    expect(await refusal(w, { overrule: { 'action.retries': '9' } })).toContain('bad_override: action.retries cannot');
  });
});

describe('an applied plan of resumes', () => {
  test('continues step by step until nothing is left, without another approval', async () => {
    const { w, plan, result } = await applied({ entries: 6 });
    expect(result).toMatchObject({ ok: true, result: { outcome: 'acted', acted: 1 } });
    expect(await stateOf(w, plan)).toBe('approved');
    await follow(w, 30);
    expect(sentIds(w)).toHaveLength(6);
    const steps = [1, 2, 2, 2, 3, 3].map((step) => ({ proposal: { campaign: { step } } }));
    expect(await w.ledger.actionsOf(plan.policy)).toMatchObject(steps);
    expect(await stateOf(w, plan)).toBe('applied');
    expect(await w.ledger.campaigns()).toEqual([]);
    expect(w.engine.has(plan.policy)).toBe(false);
  });

  test('has the result of its first run, whatever was overruled', async () => {
    const { w, result } = await applied({ entries: 3 }, { overrule: { 'ramp.settle': '30s' } });
    expect(result).toMatchObject({ result: { outcome: 'acted', acted: 1 } });
    expect(w.soon).toEqual([]);
    await follow(w, 2);
    expect(sentIds(w)).toHaveLength(3);
  });

  test('continues after a restart, and for longer than a plan is shown', async () => {
    const { w, plan } = await applied({ entries: 6 });
    await w.clock.advance(3 * HOUR);
    w.restart();
    await w.engine.recover(NEVER);
    await follow(w, 30);
    expect(new Set(sentIds(w)).size).toBe(6);
    expect(sentIds(w)).toHaveLength(6);
    expect(await stateOf(w, plan)).toBe('applied');
  });

  test('never acts on entries that came after it, nor on runs that failed again', async () => {
    const w = quiet({ entries: 4 });
    const plan = await make(w);
    const { targets } = (await w.ledger.storedPlan(plan.id, START))!;
    await w.engine.apply(plan.id, ME, NEVER);
    w.dlq.add();
    await follow(w, 10);
    w.dlq.failAgain(1);
    await follow(w, 12 * 60);
    expect(sentIds(w).every((id) => targets.includes(id))).toBe(true);
    expect(new Set(sentIds(w)).size).toBe(sentIds(w).length);
    expect(await stateOf(w, plan)).toBe('applied');
  });

  test('halts as a policy does, names plan and operator, and ends its conditions', async () => {
    const { w, plan } = await applied({ entries: 3 });
    w.dlq.failAgain(0);
    await follow(w, 10);
    expect(sentIds(w)).toHaveLength(1);
    expect(w.engine.conditions()).toContainEqual(
      expect.objectContaining({
        key: `halted/${plan.policy}/https://app.example.com/invoice`,
        summary: `Manual plan ${plan.id} by ann has halted https://app.example.com/invoice`,
      }),
    );
    await follow(w, 60);
    expect(sentIds(w).length).toBeGreaterThan(1);
    await w.engine.cancel(plan.id, ME);
    await follow(w, 10);
    expect(w.engine.conditions()).toEqual([]);
    expect(await w.ledger.campaigns()).toEqual([]);
  });

  test('is held by the kill switch and pauses, and continues afterwards', async () => {
    const { w, plan } = await applied({ entries: 3 });
    await w.engine.pause({ policy: plan.policy, reason: 'odd', by: 'tom' });
    await follow(w, 20);
    expect(sentIds(w)).toHaveLength(1);
    expect(await w.engine.unpause({ policy: plan.policy, reason: 'fine', by: 'tom' })).toBe(1);
    await follow(w, 20);
    expect(sentIds(w)).toHaveLength(3);
  });

  test('is not finished while an entry waits for another request', async () => {
    const { w, plan } = await applied({ entries: 1, answers: ['refused'] });
    await follow(w, 8);
    expect(await stateOf(w, plan)).toBe('approved');
    await follow(w, 20);
    expect(w.dlq.effects).toHaveLength(1);
    expect(await stateOf(w, plan)).toBe('applied');
  });

  test('is not finished while an outcome is unknown, and sends a lost request again after proof', async () => {
    const { w, plan } = await applied({ entries: 1, answers: ['never_arrived'] });
    await w.engine.run(plan.policy, NEVER).catch(() => undefined);
    await follow(w, 30);
    expect(w.dlq.effects).toHaveLength(1);
    expect(await stateOf(w, plan)).toBe('applied');
  });

  test('is recorded in the audit log with its origin, operator and reason', async () => {
    const records: AuditEntry[] = [];
    const audit = memoryAudit();
    const append = (entry: AuditEntry) => (records.push(entry), audit.append(entry));
    const { w, plan } = await applied({ ledger: memoryLedger('here', { ...audit, append }), entries: 1 });
    await w.engine.cancel(plan.id, { by: 'eve', reason: 'wrong' });
    const made = { policy: plan.policy, origin: 'manual', by: 'ann', reason: 'outage over' };
    const of = (type: string) => records.filter((record) => record.type === type);
    expect(of('plan.saved')).toEqual([expect.objectContaining(made)]);
    expect(of('run.begun')).toEqual([expect.objectContaining(made)]);
    expect(of('plan.decided')).toEqual([
      expect.objectContaining({ state: 'approved', by: 'tom', reason: 'go', origin: 'manual' }),
      expect.objectContaining({ state: 'cancelled', by: 'eve', reason: 'wrong', origin: 'manual' }),
    ]);
  });

  test('that is approved while its destination fails starts by itself', async () => {
    const w = quiet({ entries: 1 });
    w.facts.deliveries = () => ({ delivered: 0, all: 100 });
    const plan = await make(w);
    expect(plan.state).toBe('held');
    expect(await w.engine.apply(plan.id, ME, NEVER)).toMatchObject({ result: { outcome: 'held' } });
    expect(await w.engine.approve(plan.id, ME)).toMatchObject({ ok: true });
    await follow(w, 10);
    expect(sentIds(w)).toEqual([]);
    w.facts.deliveries = () => ({ delivered: 100, all: 100 });
    await follow(w, 10);
    expect(sentIds(w)).toHaveLength(1);
  });

  test.each([
    ['engine', { engine: { mode: 'audit' } }, 'engine.mode is audit'],
    ['OPSD_MODE', { deps: { ceiling: 'audit' as const } }, 'OPSD_MODE is audit'],
    ['account', { deps: { accounts: new Map([['production', { mode: 'audit' as const }]]) } }, 'the mode of account'],
  ])('obeys the ceiling of %s', async (_what, options, why) => {
    const w = quiet({ ...options, entries: 1 });
    const plan = await make(w);
    expect(await w.engine.apply(plan.id, ME, NEVER)).toMatchObject({
      ok: false,
      code: 'mode',
      message: expect.stringContaining(why) as string,
    });
    expect(sentIds(w)).toEqual([]);
  });

  test('and a policy act on an entry once', async () => {
    const w = world({ guards: GUARDS, deps: { archiveDir: tempDir() }, entries: 5 });
    const plan = await make(w, { overrule: { 'ramp.start': '3' } });
    await Promise.all([w.engine.apply(plan.id, ME, NEVER), w.engine.run('resume-billing', NEVER)]);
    await follow(w, 60);
    expect(sentIds(w).toSorted()).toEqual([...new Set(sentIds(w))].toSorted());
    expect(sentIds(w)).toHaveLength(5);
  });

  test('leaves protected labels and runs whose failure function ran', async () => {
    const w = quiet({ entries: [{ labels: ['billing', 'no-auto'] }, { failureFunctionState: 'CALLBACK_SUCCESS' }] });
    const plan = await make(w);
    expect(plan).toMatchObject({ matched: 2, chosen: [], backlog: 0 });
    expect(plan.skipped.map(({ guard }) => guard).toSorted()).toEqual(['failure_function', 'protected']);
  });
});

describe('cancel', () => {
  test('sends nothing after the request in flight, and is audited', async () => {
    const w = quiet({ entries: 5 });
    const plan = await make(w, { overrule: { 'ramp.start': '5' } });
    w.dlq.onResume = async () => {
      if (w.dlq.sent.length === 1) expect(await w.engine.cancel(plan.id, ME)).toMatchObject({ ok: true });
    };
    const applied = await w.engine.apply(plan.id, ME, NEVER);
    expect(sentIds(w)).toHaveLength(2);
    expect(applied).toMatchObject({ result: { outcome: 'halted', stopped: { measured: 'cancelled by tom: go' } } });
    expect(await stateOf(w, plan)).toBe('cancelled');
    expect(await w.engine.run(plan.policy, NEVER)).toMatchObject({ outcome: 'skipped' });
    await follow(w, 30);
    w.restart();
    await w.engine.recover(NEVER);
    await follow(w, 30);
    expect(sentIds(w)).toHaveLength(2);
    expect((await w.ledger.actionsOf(plan.policy)).map(({ outcome }) => outcome)).toEqual(['verified', 'verified']);
    expect(await w.engine.cancel(plan.id, ME)).toMatchObject({ ok: false, code: 'decided' });
    expect(await w.engine.run(plan.policy, NEVER)).toMatchObject({ outcome: 'skipped' });
  });

  test('ends a draft, and refuses the plan of a policy', async () => {
    const w = world({ guards: GUARDS, entries: 1 });
    const draft = await make(w);
    expect(await w.engine.cancel(draft.id, ME)).toMatchObject({ ok: true, plan: { state: 'cancelled' } });
    expect(await w.engine.apply(draft.id, ME, NEVER)).toMatchObject({ ok: false, code: 'decided' });
    const own = await w.engine.plan('resume-billing', { by: 'tom', keep: true }, NEVER);
    expect(own.ok && (await w.engine.cancel(own.plan.id!, ME))).toMatchObject({ ok: false, code: 'decided' });
    expect(await w.engine.cancel('nothing', ME)).toMatchObject({ ok: false, code: 'unknown_plan' });
  });

  test('lifts the pause of the plan, and no other', async () => {
    const { w, plan } = await applied({ entries: 3 });
    await w.engine.pause({ policy: plan.policy, reason: 'odd', by: 'tom' });
    await w.engine.pause({ policy: 'resume-billing', reason: 'odd', by: 'tom' });
    await w.engine.cancel(plan.id, ME);
    await follow(w, 10);
    expect((await w.ledger.pauses()).map(({ scope }) => scope)).toEqual(['policy/resume-billing']);
  });
});

describe('deletes and prunes', () => {
  test('of runs go to the archive, and finish in later runs within the caps', async () => {
    const archiveDir = tempDir();
    const w = quiet();
    Object.assign(w.dlq, { pageSize: 200, showsWhole: true });
    w.restart({ archiveDir });
    for (let i = 0; i < 130; i++) w.dlq.add();
    const plan = await make(w, { selection: { action: 'delete', label: ['billing'] } });
    expect(plan).toMatchObject({ matched: 130, backlog: 30 });
    await w.engine.apply(plan.id, ME, NEVER);
    expect(w.dlq.deleted).toHaveLength(100);
    expect(readdirSync(archiveDir)).not.toEqual([]);
    await follow(w, 55);
    expect(w.dlq.deleted).toHaveLength(100);
    await follow(w, 25);
    expect(w.dlq.deleted).toHaveLength(130);
    expect(await stateOf(w, plan)).toBe('applied');
  });

  test('of runs need a folder for the archive', async () => {
    const w = world({ policies: [] });
    expect(await refusal(w, { selection: { action: 'delete', label: ['billing'] } })).toContain(
      'without a folder for the archive',
    );
  });

  test('of unusually many entries show the tripwire, and applying them answers it', async () => {
    const w = quiet();
    w.dlq.showsWhole = true;
    w.restart();
    for (let i = 0; i < 30; i++) w.dlq.add();
    w.observe();
    const plan = await make(w, { selection: { action: 'delete', label: ['billing'] } });
    expect(plan.needsApproval).toMatchObject({ guard: 'tripwire', measured: '30 of 30 entries to act on' });
    await w.engine.apply(plan.id, ME, NEVER);
    expect(w.dlq.deleted).toHaveLength(30);
  });

  test('of messages go by the ids of failure callbacks', async () => {
    const w = quiet();
    const dead = { learnedAt: START - HOUR, labels: ['billing'] };
    await deadLetter(w, 'd-1', { ...dead, url: 'https://a.example.com' });
    await deadLetter(w, 'd-2', dead);
    const plan = await make(w, { selection: { action: 'delete-messages', ids: ['d-1', 'd-9'] } });
    expect(plan.notes.join()).toContain('d-9');
    await w.engine.apply(plan.id, ME, NEVER);
    expect(w.dlq.pruned).toEqual([['d-1']]);
    await follow(w, 10);
    expect(await stateOf(w, plan)).toBe('applied');
    expect(await refusal(w, { selection: { action: 'resume', ids: ['d-2'] } })).toBe(
      'other_queue: The id d-2 is that of a message: the action republish publishes it again.',
    );
    expect(await refusal(w, { selection: { action: 'delete', ids: ['d-2'] } })).toContain('delete-messages deletes it');
  });

  test('of old messages are applied once', async () => {
    const w = quiet();
    w.dlq.messages = 500;
    const plan = await make(w, { selection: PRUNE, overrule: { 'limits.maxPerRun': '50' } });
    await w.engine.apply(plan.id, ME, NEVER);
    expect(await w.engine.apply(plan.id, ME, NEVER)).toMatchObject({ ok: false, code: 'decided' });
    await follow(w, 30);
    w.restart();
    await w.engine.recover(NEVER);
    await follow(w, 30);
    expect(w.dlq.pruned).toEqual([1, 49]);
    const filter = { label: ['newsletter'], toDate: START - HOUR };
    const actions = (await w.ledger.actionsOf(plan.policy)).map(
      ({ proposal }) => 'filter' in proposal && proposal.filter,
    );
    expect(actions).toEqual([filter, filter]);
  });

  test('of old messages are applied once, also by two commands at the same time', async () => {
    const w = quiet();
    w.dlq.messages = 500;
    const { id, policy } = await make(w, { selection: PRUNE, overrule: { 'limits.maxPerRun': '5' } });
    await Promise.all([w.engine.apply(id, ME, NEVER), w.engine.apply(id, ME, NEVER), w.engine.run(policy, NEVER)]);
    expect(w.dlq.pruned).toEqual([1, 4]);
  });

  test('of a prune in progress can be cancelled', async () => {
    const w = quiet();
    w.dlq.messages = 500;
    const plan = await make(w, { selection: PRUNE });
    w.dlq.onDelete = async () => {
      expect(await w.engine.cancel(plan.id, ME)).toMatchObject({ ok: w.dlq.pruned.length === 0 });
    };
    await w.engine.apply(plan.id, ME, NEVER);
    expect(w.dlq.pruned).toEqual([1]);
    expect(await stateOf(w, plan)).toBe('cancelled');
  });
});

test('a policy of the configuration cannot have the name of a manual plan', () => {
  expect(() => policyOf({ name: manualPolicyName('9f3c2a') })).toThrow('lower-case letters');
});

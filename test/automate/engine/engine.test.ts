import { describe, expect, test } from 'vitest';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';
import type { PreconditionFacts } from '#automate/policies/facts.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { heldBack } from '../../support/held-back.ts';
import { policyOf as anyPolicy } from '../../support/policies.ts';
import {
  changed,
  ASKED,
  failing,
  HOUR,
  MINUTE,
  NEVER,
  outcomes,
  planOf,
  policyOf,
  run,
  sentIds,
  SETTLE,
  START,
  world,
  type World,
  type WorldOptions,
  settleAfter,
  storedPlan,
  ran,
} from './world.ts';

describe('a run in enforce', () => {
  test('resumes each chosen entry with one id a request, oldest first, its own labels beside the stamp', async () => {
    const w = world({ policy: { action: { type: 'workflow-dlq.resume', retries: 1 } } });
    for (let i = 0; i < 7; i++) w.dlq.add({ createdAt: START - i * MINUTE, labels: ['billing', `tenant:${i}`] });
    w.dlq.add({ labels: ['other'] });
    await run(w);
    expect(w.dlq.sent.map((sent) => sent.dlqIds)).toEqual(
      ['dlq-007', 'dlq-006', 'dlq-005', 'dlq-004', 'dlq-003', 'dlq-002', 'dlq-001'].map((id) => [id]),
    );
    expect(w.dlq.sent[0]!.overrides).toEqual({
      // The first entries of a campaign are sent without retries.
      retries: 0,
      labels: [expect.stringMatching(/^opsd:here:[0-9a-f]{16}:1$/), 'billing', 'tenant:6'],
      flowControl: expect.objectContaining({ key: 'opsd-resume-billing' }),
    });
    expect([...w.dlq.entries.values()].map((entry) => entry.labels)).toEqual([['other']]);
    expect(w.lastRun()).toMatchObject({ outcome: 'acted', matched: 7, acted: 7, backlog: 0, denials: [] });
    expect(await w.ledger.lastRuns()).toMatchObject([{ outcome: 'acted', acted: 7, detail: '7 acted' }]);
    expect((await w.ledger.recentActions(10)).map((action) => action.outcome)).toEqual(Array(7).fill('accepted'));
  });

  test('resumes one run once, though two of its entries are listed', async () => {
    const w = await ran({ entries: 1 });
    await w.clock.advance(HOUR);
    w.dlq.failAgain(0);
    w.dlq.failAgain(0);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
    expect(w.lastRun().denials).toEqual([{ guard: 'claim', count: 1 }]);
  });

  test('stays within the limit of a run, and reports the rest', async () => {
    const w = await ran({ policy: { limits: { maxPerRun: 2 } }, entries: 5 });
    expect(w.lastRun()).toMatchObject({ outcome: 'acted', matched: 5, acted: 2, backlog: 3 });
    await run(w);
    await run(w);
    expect(sentIds(w)).toHaveLength(5);
    expect(new Set(sentIds(w)).size).toBe(5);
  });
});

describe('modes', () => {
  test.each([
    ['off', undefined, 'skipped', 0],
    ['audit', undefined, 'would_act', 1],
    ['approve', 'approval', 'pending_approval', 1],
  ] as const)('%s sends nothing', async (mode, guard, outcome, listings) => {
    const w = await ran({ policy: { mode }, entries: 1 });
    expect(w.dlq.sent).toEqual([]);
    expect(w.dlq.listings).toHaveLength(listings);
    expect(w.lastRun()).toMatchObject({ outcome, acted: 0 });
    expect(w.lastRun().stopped?.guard).toBe(guard);
    expect(await w.ledger.recentActions(1)).toEqual([]);
  });

  test('the lowest mode of policy, engine and environment applies, and the run names its source', async () => {
    const byEngine = world({ engine: { mode: 'audit' }, entries: 1 });
    await run(byEngine);
    expect(byEngine.dlq.sent).toEqual([]);
    expect(byEngine.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'mode' } });
    expect(await byEngine.engine.statuses()).toEqual([
      {
        name: 'resume-billing',
        account: 'production',
        action: 'workflow-dlq.resume',
        campaigns: [],
        held: {
          guard: 'mode',
          reason:
            'the mode is audit (engine.mode is audit); requests are sent in mode approve or enforce; change what lowers the mode',
          measured: 'the mode is audit (engine.mode is audit)',
          needed: 'requests are sent in mode approve or enforce',
          remedy: 'change what lowers the mode',
          since: START,
        },
        source: 'opsd.yaml:7',
        schedule: 'every 5m',
        mode: 'enforce',
        effectiveMode: 'audit',
        reducedBy: 'engine.mode is audit',
      },
    ]);
    const byEnvironment = world({ deps: { ceiling: 'approve' }, policy: { schedule: '*/10 * * * *' } });
    expect(await byEnvironment.engine.statuses()).toMatchObject([
      { effectiveMode: 'approve', reducedBy: 'OPSD_MODE is approve', schedule: '*/10 * * * * UTC' },
    ]);
    const lowered = (await world({ deps: { ceiling: 'enforce' }, policy: { mode: 'audit' } }).engine.statuses())[0]!;
    expect(lowered).not.toHaveProperty('reducedBy', expect.anything());
  });
});

describe('a plan', () => {
  test('is the run without its actions: same choice, nothing sent, nothing written', async () => {
    const w = world({ policy: { limits: { maxPerRun: 2 } } });
    w.dlq.add({ labels: ['billing', 'legal-hold'] });
    w.dlq.add({ responseStatus: 422 });
    w.dlq.add({ failureFunctionState: 'CALLBACK_INPROGRESS' });
    for (let i = 0; i < 3; i++) w.dlq.add({ flowControlKey: 'k' });
    const plan = await planOf(w);
    expect(plan).toMatchObject({
      policy: 'resume-billing',
      account: 'production',
      source: 'opsd.yaml:7',
      at: START,
      state: 'changes',
      mode: 'enforce',
      effectiveMode: 'enforce',
      read: { pages: 2, entries: 6, complete: true, filterChecked: 6, clockSkewMs: 0 },
      backlog: 1,
      evaluationErrors: 0,
      caps: [
        { scope: 'policy', window: 'hour', used: 0, limit: 4_000 },
        { scope: 'policy', window: 'day', used: 0, limit: 10_000 },
        { scope: 'account', window: 'hour', used: 0, limit: 5_000 },
        { scope: 'account', window: 'day', used: 0, limit: 20_000 },
        { scope: 'engine', window: 'hour', used: 0, limit: 5_000 },
        { scope: 'engine', window: 'day', used: 0, limit: 20_000 },
      ],
    });
    expect(plan.id).toBeUndefined();
    expect(plan.skipped).toEqual(
      expect.arrayContaining([
        { guard: 'where', reason: 'permanent 422', count: 1 },
        { guard: 'protected', reason: 'legal-hold', count: 1 },
        { guard: 'failure_function', reason: 'CALLBACK_INPROGRESS', count: 1 },
      ]),
    );
    expect(plan.chosen[0]).toMatchObject({ dlqId: 'dlq-004', attempt: 1, cause: 'transient', status: 503 });
    expect(w.dlq.sent).toEqual([]);
    expect(w.events).toEqual([]);
    expect(await w.ledger.lastRuns()).toEqual([]);
    expect(await w.ledger.campaigns()).toEqual([]);
    expect((await planOf(w)).hash).toBe(plan.hash);
    expect(await storedPlan(w, plan.hash)).toBeUndefined();
    await run(w);
    expect(sentIds(w)).toEqual(plan.chosen.map((proposal) => proposal.target));
  });

  test('of an unknown policy is undefined, and an aborted one rejects with the reason', async () => {
    const w = world();
    expect(await w.engine.plan('nobody', ASKED, NEVER)).toEqual({
      ok: false,
      code: 'unknown_policy',
      message: 'There is no policy named nobody. Policies: resume-billing.',
    });
    const reason = new Error('the client left');
    await expect(w.engine.plan('resume-billing', ASKED, AbortSignal.abort(reason))).rejects.toBe(reason);
    await expect(w.engine.run('nobody', NEVER)).rejects.toThrow('policy nobody does not exist');
  });

  test('while paused shows what the run would do, and that it is held', async () => {
    const w = world({ entries: 1 });
    w.pause = 'file PAUSE';
    expect(await planOf(w)).toMatchObject({
      state: 'held',
      effectiveMode: 'off',
      stopped: { guard: 'kill_switch', measured: 'file PAUSE' },
      chosen: [{ dlqId: 'dlq-001' }],
    });
  });

  test('during a run affects neither', async () => {
    const w = world({ entries: 4 });
    const plans: Promise<unknown>[] = [];
    w.dlq.onResume = () => void plans.push(planOf(w));
    await run(w);
    await Promise.all(plans);
    expect(sentIds(w)).toHaveLength(4);
    expect(w.runs()).toEqual(['acted']);
  });
});

test('nothing is sent where an expression fails on more than a twentieth of the entries', async () => {
  const where = 'has(entry.callerIp) && timestamp(entry.callerIp) < entry.failedAt';
  const w = world({ policy: { where: `${where} || entry.cause == "transient"` } });
  for (let i = 0; i < 19; i++) w.dlq.add({ callerIp: '2025-01-01T00:00:00Z' });
  w.dlq.add({ callerIp: 'no time', responseStatus: 400 });
  await run(w);
  expect(w.lastRun()).toMatchObject({ outcome: 'acted', acted: 19, evaluationErrors: 1 });
  w.dlq.add({ callerIp: 'no time', responseStatus: 400 });
  w.dlq.add({ callerIp: '2025-01-01T00:00:00Z' });
  await run(w);
  expect(w.lastRun()).toMatchObject({ outcome: 'aborted', stopped: { guard: 'where' }, evaluationErrors: 2 });
  expect(sentIds(w)).toHaveLength(19);
});

describe('attempts', () => {
  test('are counted by run id and by stamp, across new names, with growing waits, up to the limit', async () => {
    const w = world({ entries: 1 });
    const waits = [10 * MINUTE, HOUR];
    await run(w);
    for (const [index, wait] of waits.entries()) {
      // In one case only the ledger knows the new run, in the other only the stamp.
      w.dlq.failAgain(index, index === 1 ? { workflowRunId: 'wfr-renamed' } : { labels: ['billing'] });
      await w.clock.advance(wait - MINUTE);
      await run(w);
      expect(w.lastRun().denials).toEqual([{ guard: 'attempts', count: 1 }]);
      await w.clock.advance(MINUTE);
      await run(w);
      expect(w.dlq.sent).toHaveLength(index + 2);
    }
    const stamps = w.dlq.sent.map((sent) => sent.overrides.labels?.[0]);
    expect(stamps.map((stamp) => stamp?.split(':').at(-1))).toEqual(['1', '2', '3']);
    expect(new Set(stamps.map((stamp) => stamp?.split(':')[2])).size).toBe(1);
    expect(w.dlq.sent[2]!.overrides.labels).toHaveLength(2);
    w.dlq.failAgain(2);
    await w.clock.advance(100 * HOUR);
    const plan = await planOf(w);
    expect(plan.skipped).toEqual([{ guard: 'attempts', reason: '3 of 3', count: 1 }]);
  });

  test('are read from the newest stamp where the service adds labels, and awaited without a ledger', async () => {
    const w = world();
    w.dlq.add({ labels: ['billing', 'opsd:here:abc:1', 'opsd:here:abc:2'], createdAt: START - 30 * MINUTE });
    const plan = await planOf(w);
    expect(plan.skipped).toEqual([{ guard: 'attempts', reason: 'backing off, next 2025-11-20T12:30Z', count: 1 }]);
    await w.clock.advance(31 * MINUTE);
    await run(w);
    expect(w.dlq.sent[0]!.overrides.labels).toEqual(['opsd:here:abc:3', 'billing']);
  });

  test('are not counted for rejections, but rejected entries wait and others pass', async () => {
    const w = await ran({ policy: { limits: { maxPerRun: 1 } }, entries: 2, answers: ['refused'] });
    expect((await w.ledger.used([{ scope: {}, since: 0 }]))[0]).toBe(0);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
    await w.clock.advance(10 * MINUTE);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002', 'dlq-001']);
    expect(w.dlq.sent[2]!.overrides.labels?.[0]).toMatch(/:1$/);
  });

  describe('are limited by run, whatever else differs between its entries', () => {
    const policy = { limits: { attempts: { max: 1 } } };

    test.each<[string, (n: number) => Partial<WorkflowDlqEntry>]>([
      ['the time of its creation', (n) => ({ workflowCreatedAt: START - HOUR + n })],
      ['its presence', (n) => (n % 2 === 0 ? {} : { workflowCreatedAt: START - HOUR })],
      ['its URL', (n) => ({ workflowUrl: `https://app.example.com/invoice?n=${n}` })],
      ['a stamp on one of them', (n) => (n === 2 ? { labels: ['billing', 'opsd:here:abc:0'] } : {})],
    ])('%s', async (_what, varied) => {
      const w = world({ policy });
      for (let n = 0; n < 4; n++) w.dlq.add({ workflowRunId: 'wfr-one', ...varied(n) });
      for (let n = 0; n < 4; n++) {
        await run(w);
        await w.clock.advance(HOUR);
      }
      expect(sentIds(w)).toEqual(['dlq-001']);
      expect((await planOf(w)).skipped).toEqual([{ guard: 'attempts', reason: '1 of 1', count: 3 }]);
    });

    test('though the entry that carried the stamp has left', async () => {
      const w = world({ policy: { limits: { attempts: { max: 2 } } } });
      w.dlq.add({ workflowRunId: 'wfr-one', labels: ['billing', 'opsd:here:abc:1'], createdAt: START - 2 * HOUR });
      await run(w);
      expect(w.dlq.sent[0]!.overrides.labels?.[0]).toBe('opsd:here:abc:2');
      await w.clock.advance(2 * HOUR);
      w.dlq.add({ workflowRunId: 'wfr-one', createdAt: w.clock.now() });
      await run(w);
      expect(sentIds(w)).toEqual(['dlq-001']);
      expect((await planOf(w)).skipped).toEqual([{ guard: 'attempts', reason: '2 of 2', count: 1 }]);
    });
  });

  test('all entries of a run with the stamp of another instance are left to it', async () => {
    const w = world();
    w.dlq.add({ workflowRunId: 'wfr-one' });
    w.dlq.add({ workflowRunId: 'wfr-one', labels: ['billing', 'opsd:elsewhere:abc:1'] });
    await run(w);
    expect(w.dlq.sent).toEqual([]);
    expect(w.lastRun().denials).toEqual([{ guard: 'other_instance', count: 2 }]);
  });
});

test('failures still arrive, though the daemon has resumed some of them since', async () => {
  const w = world();
  for (let i = 0; i < 26; i++) w.dlq.add({ labels: ['other'], createdAt: START - MINUTE });
  w.observe();
  w.board.depart('production', new Set(w.dlq.entries.keys()));
  w.dlq.entries.clear();
  w.dlq.add();
  expect(await planOf(w)).toMatchObject({ state: 'held', stopped: { guard: 'arrivals' } });
});

describe('caps', () => {
  test('of a store that must be adopted all count as used, and run and plan name this reason', async () => {
    const ledger = changed(memoryLedger(), { mustBeAdopted: 'the store is an old copy' });
    const w = await ran({ policies: [policyOf()], ledger, entries: 1 });
    const reason = 'all caps count as used: the store is an old copy';
    expect(w.lastRun()).toMatchObject({ outcome: 'held', acted: 0, stopped: { guard: 'caps', measured: reason } });
    const planned = await w.engine.plan('resume-billing', ASKED, NEVER);
    if (!planned.ok) throw new Error(planned.message);
    const { caps } = planned.plan;
    expect(caps).not.toEqual([]);
    expect(caps.every(({ used, limit, why }) => used === limit && why === reason)).toBe(true);
  });

  test('hold over sliding windows, the smallest of policy and engine, across policies', async () => {
    const other = policyOf({ name: 'other', select: { resource: 'workflow-dlq', anyLabel: ['other'] } });
    const policy = policyOf({ limits: { maxPerHour: 3 } });
    const w = world({ policies: [policy, other], engine: { caps: { perHour: 4 } }, entries: 5 });
    for (let i = 0; i < 5; i++) w.dlq.add({ labels: ['other'] });
    await run(w);
    expect(w.lastRun()).toMatchObject({ outcome: 'acted', acted: 3, backlog: 2 });
    await run(w, NEVER, 'other');
    expect(w.lastRun()).toMatchObject({ outcome: 'acted', acted: 1, backlog: 4 });
    await run(w);
    // The oldest action leaves the window then. All are in the newer half.
    const stopped = { guard: 'caps', trend: 'worsening', until: START + HOUR };
    expect(w.lastRun()).toMatchObject({ outcome: 'held', backlog: 2, stopped });
    await w.clock.advance(HOUR - 1);
    await run(w);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { ...stopped, trend: 'improving' } });
    await w.clock.advance(1);
    await run(w);
    expect(w.lastRun()).toMatchObject({ outcome: 'acted', acted: 2 });
  });

  test('are reserved in the intent: one that another run uses in the meantime ends the run', async () => {
    const other = policyOf({ name: 'other', select: { resource: 'workflow-dlq', anyLabel: ['other'] } });
    const w = world({ policies: [policyOf(), other], engine: { caps: { perHour: 3 } }, entries: 3 });
    for (let i = 0; i < 2; i++) w.dlq.add({ labels: ['other'] });
    let beside: Promise<unknown> | undefined;
    w.dlq.onResume = async () => {
      beside ??= w.engine.run('other', NEVER);
      await new Promise((resolve) => setImmediate(resolve));
    };
    await run(w);
    await beside;
    expect(w.dlq.sent).toHaveLength(3);
    expect(w.runs()).toContain('halted');
  });

  test('are returned by a rejection and kept by an unknown outcome', async () => {
    const w = await ran({ entries: 3, answers: ['refused', 'never_arrived', 'good'] });
    expect((await w.ledger.used([{ scope: { policy: 'resume-billing' }, since: 0 }]))[0]).toBe(2);
    expect(w.lastRun()).toMatchObject({ outcome: 'acted', acted: 1 });
  });
});

describe('conditions that end a run', () => {
  test.each([
    ['the first 429 to a write', ['rate_limited'], 1, 'quota', 'rejected'],
    ['a token without write permission', ['forbidden'], 1, 'service', 'rejected'],
    ['a lease that ends too soon for a request', ['lease'], 1, 'lease', 'rejected'],
    ['three error responses in a row', ['refused', 'never_arrived', 'refused'], 3, 'service', 'rejected'],
  ] as const)('%s', async (_what, answers, sent, guard, outcome) => {
    const w = await ran({ entries: 6, answers: ['good', ...answers] });
    expect(w.dlq.sent).toHaveLength(1 + sent);
    expect(w.lastRun()).toMatchObject({ outcome: 'halted', acted: 1, backlog: 5 - sent, stopped: { guard } });
    expect((await w.ledger.recentActions(1))[0]!.outcome).toBe(outcome);
  });

  test('an unreadable store is a pause, not a crash', async () => {
    const w = world({ entries: 1 });
    const broken = () => {
      throw new Error('disk I/O error');
    };
    w.restart({ ledger: changed(w.ledger, { pauses: broken }) });
    await run(w);
    expect(w.dlq.sent).toEqual([]);
    expect((await w.engine.statuses())[0]).toMatchObject({
      effectiveMode: 'off',
      reducedBy: 'paused: the store cannot be read: disk I/O error; check the store',
    });
  });

  test('a run that does nothing lists the denied entries, by guard', async () => {
    const w = world();
    w.dlq.add({ labels: ['billing', 'no-auto'] });
    w.dlq.add({ labels: ['billing', 'opsd:elsewhere:lin:1'] });
    w.dlq.add({ labels: ['billing', 'legal-hold'] });
    await run(w);
    expect(await w.ledger.lastRuns()).toMatchObject([
      { outcome: 'denied', matched: 3, acted: 0, backlog: 0, detail: 'denied: 2 protected, 1 other_instance' },
    ]);
  });

  test('a service that resumes more than requested pauses the whole engine', async () => {
    const other = policyOf({ name: 'other', select: { resource: 'workflow-dlq', anyLabel: ['other'] } });
    const w = world({ policies: [policyOf(), other], entries: [{}, {}, {}, { labels: ['other'] }] });
    w.dlq.answers = ['two_runs'];
    await run(w);
    await run(w, NEVER, 'other');
    expect(w.dlq.sent).toHaveLength(1);
    expect(w.runs()).toEqual(['halted', 'held']);
    expect(w.lastRun().stopped).toMatchObject({
      guard: 'kill_switch',
      measured:
        'exceeded_request (dlq-001): the service acted on 2 entries; the request allowed 1; compare the action with the service',
      remedy: '`opsd unpause --reason TEXT` lifts it',
    });
    expect((await w.engine.statuses()).map((status) => status.effectiveMode)).toEqual(['off', 'off']);
    expect((await w.engine.statuses())[0]!.reducedBy).toMatch(/^paused: exceeded_request/);

    // A restart does not restore trust in the service. An operator does.
    w.restart();
    await run(w);
    expect(w.dlq.sent).toHaveLength(1);
    expect(w.lastRun()).toMatchObject({ outcome: 'held' });
    expect(await w.engine.unpause({ reason: 'spoke to the service', by: 'test' })).toBe(1);
    expect(await w.engine.unpause({ reason: 'again', by: 'test' })).toBe(0);
    await run(w);
    expect(w.dlq.sent.length).toBeGreaterThan(1);
  });

  test('the kill switch, before anything is read and before the next request', async () => {
    const w = world({ entries: 4 });
    w.pause = 'file PAUSE';
    await run(w);
    expect(w.dlq.listings).toEqual([]);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'kill_switch', measured: 'file PAUSE' } });
    w.pause = undefined;
    w.dlq.onResume = (dlqId) => void (dlqId === 'dlq-002' && (w.pause = 'file PAUSE'));
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
    expect(w.lastRun()).toMatchObject({ outcome: 'halted', acted: 2, backlog: 2, stopped: { guard: 'kill_switch' } });
  });

  test('a precondition, before anything is read and before the next request', async () => {
    const preconditions = [{ name: 'no incident', expr: '!alertFiring("BillingDown")' }];
    const w = world({ policy: { preconditions }, entries: 4 });
    let isFiring = false;
    w.facts = { preconditions: () => ({ alertFiring: () => isFiring }) as unknown as PreconditionFacts };
    w.dlq.onResume = (dlqId) => void (isFiring = dlqId === 'dlq-002');
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
    expect(w.lastRun()).toMatchObject({ outcome: 'halted', stopped: { guard: 'precondition' } });
    await run(w);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'precondition' } });
  });

  test('a kill switch that cannot be read', async () => {
    const w = world({ entries: 1 });
    w.pause = () => {
      throw new Error('EACCES');
    };
    await run(w);
    expect(w.dlq.sent).toEqual([]);
    expect(w.lastRun().stopped?.measured).toBe('the kill switch cannot be read: EACCES');
  });

  test('a stop: the request in progress is finished and its outcome written, the rest is skipped', async () => {
    const w = world({ entries: 4 });
    const stop = new AbortController();
    w.dlq.onResume = (dlqId) => void (dlqId === 'dlq-002' && stop.abort(new Error('SIGTERM')));
    await run(w, stop.signal);
    expect(sentIds(w)).toEqual(['dlq-001', 'dlq-002']);
    expect(await outcomes(w)).toEqual(['accepted', 'accepted']);
    expect(w.lastRun()).toMatchObject({
      outcome: 'halted',
      acted: 2,
      backlog: 2,
      stopped: { guard: 'interrupted', measured: 'SIGTERM', remedy: expect.any(String) as string },
    });
  });

  test('a stop before a run acts is not a hold, and ends none', async () => {
    const stop = new AbortController();
    const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'pauses');
    const w = world({ ledger, entries: 1 });
    const running = run(w, stop.signal);
    await expect.poll(() => waiting.length).toBe(1);
    stop.abort(new Error('SIGTERM'));
    release();
    await running;
    expect(w.engine.conditions()).toEqual([]);
    w.dlq.failOnPage = 0;
    await run(w);
    await run(w, AbortSignal.abort(new Error('SIGTERM')));
    expect(w.engine.conditions()).toMatchObject([{ key: 'held/resume-billing', guard: 'incomplete_read' }]);
  });

  test('a listing that exceeds its time is a hold', async () => {
    const w = world({ entries: 1 });
    await run(w, AbortSignal.abort(new TimeoutError('no result within 10m')));
    expect(w.lastRun()).toMatchObject({ outcome: 'incomplete', stopped: { guard: 'incomplete_read' } });
    expect(w.engine.conditions()).toMatchObject([{ key: 'held/resume-billing' }]);
  });

  test('an unwritable ledger: nothing is sent without an intent', async () => {
    const w = world({ entries: 1 });
    w.restart({ ledger: failing(w.ledger, 'reserve') });
    await run(w);
    expect(w.dlq.sent).toEqual([]);
    expect(w.lastRun()).toMatchObject({ outcome: 'failed', error: 'disk full' });
    expect(w.events).toContainEqual({ type: 'store.failed', operation: 'reserve', message: 'disk full' });
    w.restart({ ledger: failing(w.ledger, 'beginRun') });
    await run(w);
    expect(w.dlq.sent).toEqual([]);
    expect(w.lastRun()).toMatchObject({ outcome: 'failed', error: 'disk full' });
  });

  test.each([
    ['changeCampaign', 2],
    ['finishRun', 1],
  ] as const)('requests count although the store fails after them, at %s', async (method, failing) => {
    const w = world({ entries: 1 });
    const { ledger } = w;
    let calls = 0;
    const sometimes = (...given: unknown[]): unknown => {
      calls += 1;
      const work = ledger[method] as (...args: unknown[]) => unknown;
      return calls === failing ? Promise.reject(new Error('disk full')) : work.apply(ledger, given);
    };
    w.restart({ ledger: Object.create(ledger, { [method]: { value: sometimes } }) as typeof ledger });
    await run(w);
    expect(w.dlq.sent).toHaveLength(1);
    expect(w.lastRun()).toMatchObject({ outcome: 'failed', acted: 1, error: 'disk full' });
    expect(await ledger.lastRuns()).toMatchObject([{ outcome: 'failed', acted: 1 }]);
  });
});

describe('unknown outcomes', () => {
  test('a lost response is never sent again, and resolved by reading once the request must have arrived', async () => {
    const w = await ran({ entries: 2, answers: ['lost', 'never_arrived'] });
    await w.clock.advance(HOUR);
    await run(w);
    expect(w.dlq.sent).toHaveLength(2);
    expect(w.lastRun().denials).toEqual([{ guard: 'claim', count: 1 }]);
    await w.engine.settle(NEVER);
    const outcomes = (await w.ledger.recentActions(2)).map((action) => [action.proposal.target, action.outcome]);
    expect(outcomes).toEqual([
      ['dlq-002', 'confirmed_not_applied'],
      ['dlq-001', 'confirmed_applied'],
    ]);
    await run(w);
    expect(w.dlq.effects).toEqual(['dlq-001', 'dlq-002']);
    expect(w.dlq.sent[2]!.overrides.labels?.[0]).toBe(w.dlq.sent[1]!.overrides.labels?.[0]);
  });

  test('are not judged before the settle time, nor by an incomplete listing', async () => {
    const w = await ran({ entries: 4, answers: ['never_arrived'] });
    await settleAfter(w, SETTLE - 1);
    expect((await w.ledger.openActions()).filter((action) => action.outcome === 'unknown')).toHaveLength(1);
    await w.clock.advance(1);
    w.dlq.failOnPage = 0;
    await w.engine.settle(NEVER);
    w.dlq.failOnPage = undefined;
    w.dlq.droppedRows = 1;
    await settleAfter(w, SETTLE);
    expect((await w.ledger.openActions()).filter((action) => action.outcome === 'unknown')).toHaveLength(1);
    w.dlq.droppedRows = 0;
    await w.clock.advance(SETTLE);
    await Promise.all([w.engine.settle(NEVER), w.engine.settle(NEVER)]);
    expect(w.events.filter((e) => e.type === 'action.outcome' && e.outcome === 'confirmed_not_applied')).toHaveLength(
      1,
    );
  });

  test('an action that failed again by the log is recorded at once, before any listing', async () => {
    const w = await ran({ entries: 1 });
    const { proposal } = (await w.ledger.recentActions(1))[0]!;
    const listings = w.dlq.listings.length;
    w.facts = {
      resumeEnded: (account, { instance, lineage, attempt, url }, end) =>
        end === 'failed' &&
        proposal.action === 'workflow-dlq.resume' &&
        [account, instance, lineage, attempt, url].join(' ') ===
          ['production', w.ledger.instance, proposal.lineage, 1, proposal.workflowUrl].join(' '),
    };
    await w.engine.settle(NEVER);
    expect((await w.ledger.recentActions(1))[0]!.outcome).toBe('failed_again');
    expect(w.dlq.listings).toHaveLength(listings);
  });

  test('an action whose run returned under its stamp was applied, even while its old entry is listed', async () => {
    const w = world();
    w.dlq.lagMs = HOUR;
    w.dlq.add();
    w.dlq.answers = ['lost'];
    await run(w);
    w.dlq.failAgain(0);
    await settleAfter(w, SETTLE);
    expect((await w.ledger.recentActions(1))[0]!.outcome).toBe('failed_again');
  });

  test('a changed clock does not end the wait for a lost response', async () => {
    const w = await ran({ entries: 1, answers: ['never_arrived'] });
    await w.clock.advance(SETTLE);
    w.facts = { clockSkewMs: () => SETTLE };
    await w.engine.settle(NEVER);
    expect(await w.ledger.recentActions(1)).toMatchObject([{ outcome: 'unknown' }]);
    w.facts = {};
    await w.engine.settle(NEVER);
    expect(await w.ledger.recentActions(1)).toMatchObject([{ outcome: 'confirmed_not_applied' }]);
  });

  test('a response that names no run is unknown', async () => {
    const w = await ran({ entries: 1, answers: ['no_run'] });
    expect((await w.ledger.recentActions(1))[0]).toMatchObject({
      outcome: 'unknown',
      detail: 'the response names no resumed run',
    });
  });

  test('a crash between intent and outcome: recovery sends nothing, and the entry waits for proof', async () => {
    const w = world({ entries: 2 });
    const crash = new Promise<never>(() => undefined);
    w.dlq.onResume = () => crash;
    void run(w);
    while ((await w.ledger.openActions()).length === 0) await w.clock.advance(0);
    w.dlq.onResume = () => undefined;
    w.restart();
    await w.engine.recover(NEVER);
    expect(w.events).toContainEqual({ type: 'engine.recovered', unknown: 1 });
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-002']);
    await settleAfter(w, SETTLE);
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-002', 'dlq-001']);
  });

  test('an unwritten outcome becomes unknown, and is not sent again', async () => {
    const w = world({ entries: 2 });
    w.restart({ ledger: failing(w.ledger, 'recordOutcome') });
    await run(w);
    expect(sentIds(w)).toEqual(['dlq-001']);
    expect(w.lastRun()).toMatchObject({ outcome: 'failed', backlog: 1, stopped: { guard: 'ledger' } });
    w.restart();
    await w.engine.settle(NEVER);
    await settleAfter(w, SETTLE);
    expect((await w.ledger.recentActions(1))[0]!.outcome).toBe('confirmed_applied');
  });
});

describe('settling', () => {
  test('an action is verified when its entry is gone and not back, by a listing that is late enough', async () => {
    const w = await ran({ entries: 2 });
    await settleAfter(w, SETTLE - 1);
    expect(w.dlq.listings).toHaveLength(1);
    expect(await outcomes(w)).toEqual(['accepted', 'accepted']);
    await settleAfter(w, 1);
    expect(await outcomes(w)).toEqual(['verified', 'verified']);
    expect(w.dlq.listings).toHaveLength(2);
    await w.engine.settle(NEVER);
    expect(w.dlq.listings).toHaveLength(2);
  });

  test('a reading of the board before an action proves nothing', async () => {
    const w = world({ entries: 1 });
    w.observe();
    await run(w);
    await w.clock.advance(SETTLE);
    w.board.publish({ ...w.board.latest('production', 'workflowDlq')!, at: w.clock.now() }, 10);
    await w.engine.settle(NEVER);
    expect((await w.ledger.recentActions(1))[0]!.outcome).toBe('verified');
  });

  test('an account is listed at most once per interval to learn the outcomes of actions', async () => {
    const w = world({ policy: { limits: { maxPerRun: 1 } }, deps: { listEveryMs: SETTLE }, entries: 3 });
    for (let i = 0; i < 3; i++) {
      await run(w);
      await w.clock.advance(MINUTE);
    }
    const before = w.dlq.listings.length;
    for (let i = 0; i < 4; i++) {
      await settleAfter(w, MINUTE);
    }
    expect(w.dlq.listings).toHaveLength(before + 1);
  });

  test('an action failed again when its run is listed again, by run id or by stamp', async () => {
    const w = await ran({ entries: 2 });
    await settleAfter(w, MINUTE);
    expect(await outcomes(w)).toEqual(['accepted', 'accepted']);
    w.dlq.failAgain(0, { labels: [] });
    w.dlq.failAgain(1, { workflowRunId: 'wfr-renamed' });
    w.observe();
    await w.engine.settle(NEVER);
    expect(await outcomes(w)).toEqual(['failed_again', 'failed_again']);
    expect(w.dlq.listings).toHaveLength(1);
  });

  test('where runs keep their ids, an older entry of the same run on the board is not a repeated failure', async () => {
    const w = world();
    const first = w.dlq.add({ workflowRunId: 'wfr-again-0' });
    w.observe();
    w.dlq.entries.delete(first.dlqId);
    w.dlq.add({ workflowRunId: 'wfr-again-0', createdAt: first.createdAt + MINUTE });
    await run(w);
    await w.engine.settle(NEVER);
    expect((await w.ledger.recentActions(1))[0]!.outcome).toBe('accepted');
  });

  test('an action failed again when its run is in the listing, though the board has not seen it', async () => {
    const w = await ran({ entries: 1 });
    w.dlq.failAgain(0);
    await settleAfter(w, SETTLE);
    expect((await w.ledger.recentActions(1))[0]!.outcome).toBe('failed_again');
  });

  test('an action failed again when its run has been resumed again since', async () => {
    const w = await ran({ entries: 1 });
    await w.clock.advance(10 * MINUTE);
    w.dlq.failAgain(0);
    await run(w);
    await w.clock.advance(SETTLE);
    w.observe();
    await w.engine.settle(NEVER);
    expect(await outcomes(w)).toEqual(['failed_again', 'verified']);
  });

  test('an accepted entry that stays listed is neither verified nor sent again', async () => {
    const w = world();
    const entry = w.dlq.add();
    await run(w);
    w.dlq.entries.set(entry.dlqId, entry);
    await w.clock.advance(HOUR);
    w.observe();
    await w.engine.settle(NEVER);
    await run(w);
    expect(await outcomes(w)).toEqual(['accepted']);
    expect(w.dlq.sent).toHaveLength(1);
  });
});

describe('a delete that needs an archive', () => {
  const archiving = (dir: string): WorldOptions => ({
    policies: [
      anyPolicy('workflow-dlq.delete', {
        name: 'delete-hopeless',
        account: 'production',
        mode: 'enforce',
        action: { archive: { dir, require: true }, grace: '1h' },
        limits: { probation: { runs: 1 } },
      }),
    ],
  });
  /** Past its grace and its probation. */
  async function ready(w: World): Promise<void> {
    for (let i = 0; i < 2; i++) w.dlq.add({ responseStatus: 404 });
    for (let i = 0; i < 2; i++) {
      await run(w, NEVER, 'delete-hopeless');
      await w.clock.advance(2 * HOUR);
    }
  }

  test('is held where nothing can be archived, and reports the reason', async () => {
    const w = world(archiving('/nonexistent'));
    await ready(w);
    await run(w, NEVER, 'delete-hopeless');
    expect(w.dlq.deleted).toEqual([]);
    const stopped = { guard: 'archive', reason: expect.stringContaining('cannot be archived') };
    expect(w.lastRun()).toMatchObject({ outcome: 'halted', acted: 0, stopped });
    expect(w.engine.conditions()).toMatchObject([{ key: 'held/delete-hopeless', guard: 'archive' }]);
  });

  test('is not sent when a pause began while its entry was archived', async () => {
    const w = world(archiving('/nonexistent'));
    await ready(w);
    const actions = actionsOver(w.dlq.client(), { clock: w.clock });
    w.restart({
      actions: {
        ...actions,
        prepare: async () => {
          w.pause = 'an incident';
          return undefined;
        },
      },
    });
    await run(w, NEVER, 'delete-hopeless');
    expect(w.dlq.deleted).toEqual([]);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'kill_switch' } });
    w.pause = undefined;
    w.restart({ actions: { ...actions, prepare: async () => undefined } });
    await run(w, NEVER, 'delete-hopeless');
    expect(w.dlq.deleted).toHaveLength(2);
  });
});

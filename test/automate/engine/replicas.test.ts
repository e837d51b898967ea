/** Engines of several replicas over one ledger: each one acts for its accounts, and times of others are less exact. */
import { describe, expect, test } from 'vitest';
import { CLOCK_MARGIN_MS } from '#foundation/domain/clock-skew.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { NO_CAPS, planOf as storedPlanOf, resumeOf } from '../../support/ledger-facts.ts';
import { tempDir } from '../../support/temp-dir.ts';
import {
  changed,
  HOUR,
  MINUTE,
  NEVER,
  policyOf,
  run,
  sentIds,
  SETTLE,
  START,
  world,
  type World,
  type WorldOptions,
  settleAfter,
} from './world.ts';

const POLICY = 'resume-billing';
const ELSEWHERE = { account: 'staging', policy: 'repair-staging' };
const LOST = 'another replica owns account production';

const shared = (isLeader = false, hasLost = (_account?: string) => false) => ({
  name: 'opsd-0',
  isLeader,
  allPolicies: new Set([POLICY, ELSEWHERE.policy]),
  hasLost,
});

/** Engine that owns only the account `production`. */
function replica({
  deps,
  ledger = memoryLedger(),
  isLeader = false,
  ...options
}: WorldOptions & { readonly isLeader?: boolean } = {}): World {
  const own = ledger.within(['production']);
  return world({ ...options, ledger: own, deps: { shared: shared(isLeader), ...deps } });
}

async function intentOn(
  ledger: Ledger,
  of: { account: string; policy: string },
  at: number,
  items = 1,
): Promise<number> {
  const id = await ledger.beginRun(storedPlanOf(of), at);
  const proposal = resumeOf(`dlq-${of.account}`, { ...of, items });
  const reserved = await ledger.reserve(id, proposal, at, NO_CAPS);
  if (!reserved.ok) throw new Error(reserved.reason);
  return reserved.intent.id;
}

const outcomeOf = async (ledger: Ledger, id: number): Promise<string | undefined> => (await ledger.action(id))?.outcome;
const activeKeys = (w: World): readonly string[] => w.engine.conditions().map(({ key }) => key);
const told = (w: World): readonly string[] =>
  w.events.flatMap((event) => (event.type === 'store.failed' || event.type === 'notification' ? [event.type] : []));

describe('other accounts', () => {
  test('their requests in flight, campaigns, manual plans and pauses stay as they are', async () => {
    const ledger = memoryLedger();
    const manual = 'manual:1234567890';
    const hash = '1234567890'.padEnd(64, '0');
    const foreign = await intentOn(ledger, ELSEWHERE, START);
    const mine = await intentOn(ledger, { account: 'production', policy: POLICY }, START);
    const plan = storedPlanOf({ ...ELSEWHERE, policy: manual, id: '1234567890', hash });
    await ledger.savePlan({ plan, targets: ['x'], savedAt: START, expiresAt: START + HOUR, state: 'approved' });
    const campaign = { ...ELSEWHERE, policy: 'manual:0987654321', group: 'g' };
    const rest = {
      state: 'ready',
      step: 1,
      size: 1,
      begunAt: 1,
      halts: 0,
      recent: [],
      judged: 0,
      verified: 0,
    } as const;
    await ledger.changeCampaign(campaign, () => ({ ...campaign, ...rest, id: '' }));
    await ledger.pause({ scope: `policy/${manual}`, reason: 'stop', at: START, by: 'ann' });
    const w = replica({ ledger, guards: GUARDS });
    await w.engine.recover(NEVER);
    expect(await outcomeOf(ledger, mine)).toBe('unknown');
    expect(await outcomeOf(ledger, foreign)).toBeUndefined();
    expect(await ledger.storedPlans(['approved'], START)).toHaveLength(1);
    expect(await ledger.campaigns()).toMatchObject([{ state: 'ready' }]);
    expect(await ledger.pauses()).toHaveLength(1);
    expect(activeKeys(w)).toEqual([`unknown/${POLICY}`]);
    expect(await w.engine.readings(ledger)).toMatchObject({ unknownOutcomes: 1, oldestIntentAt: START });
    // The only engine of a store settles everything, also for accounts that are not configured any more.
    const alone = world({ ledger });
    await alone.engine.recover(NEVER);
    expect(await outcomeOf(ledger, foreign)).toBe('unknown');
    expect(await ledger.campaigns()).toEqual([]);
  });

  test('a trigger that another replica received is run by the owner of its account, once', async () => {
    const ledger = memoryLedger();
    const on = { on: { failureCallback: true } };
    const w = replica({ ledger, policy: on });
    const key = (n: number) => ({ kind: 'callback', key: `production/dlq-${n}` }) as const;
    for (const [policy, account] of [
      [POLICY, 'production'],
      [ELSEWHERE.policy, ELSEWHERE.account],
    ] as const) {
      expect(await ledger.recordTrigger({ policy, account, trigger: key(1), at: START })).toBe(true);
      // The service sends a callback again, to any replica.
      expect(await ledger.recordTrigger({ policy, account, trigger: key(1), at: START })).toBe(false);
    }
    w.dlq.add();
    for (let turn = 0; turn < 3; turn += 1) {
      await settleAfter(w, MINUTE);
      for (const policy of w.soon.splice(0)) await w.engine.run(policy, NEVER, w.soonFor.shift());
    }
    expect(w.runs()).toEqual(['acted']);
    expect(sentIds(w)).toHaveLength(1);
    const waiting = [{ name: ELSEWHERE.policy, account: ELSEWHERE.account }];
    expect((await ledger.pendingTriggers(waiting, START)).get(ELSEWHERE.policy)).toHaveLength(1);
  });
});

describe('pauses', () => {
  const SCOPES = ['engine', `policy/${POLICY}`, `policy/${ELSEWHERE.policy}`, 'policy/removed', 'policy/manual:12'];

  test.each([
    ['the owner of a policy reports its pause', false, [`paused/policy/${POLICY}`]],
    [
      'the leader also reports those of no policy',
      true,
      ['paused/engine', `paused/policy/${POLICY}`, 'paused/policy/removed'],
    ],
  ])('%s', async (_what, isLeader, keys) => {
    const w = replica({ isLeader });
    for (const scope of SCOPES) await w.ledger.pause({ scope, reason: 'stop', at: START, by: 'ann' });
    await w.engine.settle(NEVER);
    expect(activeKeys(w)).toEqual(keys);
  });

  test.each([
    ['an account', 'production', 'paused/engine'],
    ['the lease of the leader', undefined, `paused/policy/${POLICY}`],
  ])('after the loss of %s, its conditions are neither raised nor resolved here', async (_what, account, kept) => {
    let lost: (account?: string) => boolean = () => false;
    const w = replica({ deps: { shared: shared(true, (one) => lost(one)) } });
    for (const scope of ['engine', `policy/${POLICY}`])
      await w.ledger.pause({ scope, reason: 'stop', at: START, by: 'ann' });
    await w.engine.settle(NEVER);
    const both = ['paused/engine', `paused/policy/${POLICY}`];
    expect(activeKeys(w)).toEqual(both);
    lost = (one) => one === account;
    await w.ledger.unpause({ at: START, reason: 'go', by: 'ann' });
    await w.engine.settle(NEVER);
    expect(activeKeys(w)).toEqual(both.filter((key) => key !== kept));
    expect(told(w)).toHaveLength(3);
  });

  test('one that could not be stored holds here, and everywhere as soon as the store can be written', async () => {
    const ledger = memoryLedger();
    let isFull = true;
    const pause: Ledger['pause'] = async (given) => {
      if (isFull) throw new Error('disk full');
      await ledger.pause(given);
    };
    const w = replica({ ledger: { ...ledger, within: () => ({ ...ledger, pause }) }, entries: 1 });
    await w.engine.pause({ reason: 'stop', by: 'ann' });
    await w.engine.settle(NEVER);
    await run(w);
    expect(w.runs()).toEqual(['held']);
    expect(await ledger.pauses()).toEqual([]);
    isFull = false;
    await w.engine.settle(NEVER);
    expect(await ledger.pauses()).toEqual([{ scope: 'engine', reason: 'stop', at: START, by: 'ann' }]);
    expect(w.engine.unwrittenPauses().size).toBe(0);
    // Lifted by another replica.
    await ledger.unpause({ at: START, reason: 'go', by: 'ann' });
    await run(w);
    expect(w.runs()).toEqual(['held', 'acted']);
  });

  test('by the kill switch is recorded by each replica for its own file', async () => {
    const audit = memoryAudit();
    const ledger = memoryLedger('here', audit);
    const stopped = replica({ ledger });
    const other = replica({ ledger, deps: { shared: { ...shared(), name: 'opsd-1' } } });
    stopped.pause = 'PAUSE exists';
    for (const w of [stopped, other, stopped]) await w.engine.settle(NEVER);
    expect([activeKeys(stopped), activeKeys(other)]).toEqual([['paused'], []]);
    stopped.pause = undefined;
    await stopped.engine.settle(NEVER);
    expect(audit.entries).toMatchObject([
      { type: 'pause', scope: 'kill_switch/opsd-0' },
      { type: 'unpause', scopes: ['kill_switch/opsd-0'] },
    ]);
  });
});

describe('a lease that is lost', () => {
  test('before a run: nothing is sent, and no one is notified of the other owner’s work', async () => {
    const ledger = memoryLedger();
    const fenced = () => Promise.reject(new Error('fenced'));
    const lost = { leaseLost: async () => LOST, beginRun: fenced, recordRun: fenced };
    const w = replica({ ledger: { ...ledger, within: () => changed(ledger, lost) }, entries: 1 });
    await run(w);
    expect(w.runs()).toEqual(['skipped']);
    expect(sentIds(w)).toEqual([]);
    expect(told(w)).toEqual([]);
    // On a store of its own, it is a failure that someone must see.
    w.restart({ shared: undefined as never });
    await run(w);
    expect(w.runs()).toEqual(['skipped', 'failed']);
    expect(told(w)).toContain('store.failed');
  });

  test('between the checks and the intent: the run ends, and reports the lease', async () => {
    const ledger = memoryLedger();
    let isLost = false;
    const fenced = {
      leaseLost: async () => (isLost ? LOST : undefined),
      reserve: async () => {
        isLost = true;
        throw new Error('fenced');
      },
    };
    const w = replica({ ledger: { ...ledger, within: () => changed(ledger, fenced) }, entries: 1 });
    await run(w);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'lease', measured: LOST } });
    expect(w.events.some(({ type }) => type === 'store.failed')).toBe(false);
  });
});

test('a manual plan that another replica cancels sends nothing more', async () => {
  const ledger = memoryLedger();
  const w = replica({ ledger, policies: [], deps: { archiveDir: tempDir() }, entries: 3 });
  const selection = { action: 'resume', label: ['billing'] } as const;
  const made = await w.engine.planManually({ by: 'ann', reason: 'go', selection }, NEVER);
  if (!made.ok) throw new Error(made.message);
  const id = made.plan.id!;
  w.dlq.onResume = async () => {
    await ledger.decidePlan(id, { state: 'cancelled', at: START, by: 'bob', reason: 'wrong run' });
  };
  const applied = await w.engine.apply(id, { by: 'tom', reason: 'go' }, NEVER);
  expect(applied).toMatchObject({
    result: { acted: 1, stopped: { guard: 'interrupted', measured: 'cancelled by bob: wrong run' } },
  });
  expect(sentIds(w)).toHaveLength(1);
});

describe('times of another replica', () => {
  const acts = async (w: World): Promise<boolean> => {
    w.dlq.add();
    await run(w);
    return w.lastRun().acted > 0;
  };

  test.each([
    ['within the margin', HOUR + CLOCK_MARGIN_MS - MINUTE, false],
    ['beyond it', HOUR + CLOCK_MARGIN_MS + MINUTE, true],
  ])('an action on another account counts against the caps of the engine: %s', async (_what, ago, may) => {
    const [ledger, alone] = [memoryLedger(), memoryLedger()];
    for (const one of [ledger, alone]) await intentOn(one, ELSEWHERE, START - ago, 5);
    expect(await acts(replica({ ledger, engine: { caps: { perHour: 5 } } }))).toBe(may);
    // One process dates all actions.
    expect(await acts(world({ ledger: alone, engine: { caps: { perHour: 5 } } }))).toBe(true);
  });

  test.each([
    ['within the margin', HOUR + CLOCK_MARGIN_MS - MINUTE, false],
    ['beyond it', HOUR + CLOCK_MARGIN_MS + MINUTE, true],
  ])('the interval after the action of an earlier owner: %s', async (_what, ago, may) => {
    const ledger = memoryLedger();
    await intentOn(ledger, { account: 'production', policy: POLICY }, START - ago);
    const policy = { limits: { minInterval: '1h' } };
    const w = replica({ ledger, policy });
    w.facts.steadySince = () => START;
    expect(await acts(w)).toBe(may);
    w.facts.steadySince = () => START - 2 * HOUR;
    expect(await acts(w)).toBe(!may);
  });

  test.each([
    ['an earlier owner', START, SETTLE + CLOCK_MARGIN_MS],
    ['this engine', START - HOUR, SETTLE],
  ])('a lost response that %s recorded is resolved after its time', async (_what, steadySince, after) => {
    const ledger = memoryLedger();
    const w = replica({ ledger });
    w.facts.steadySince = () => steadySince;
    const entry = w.dlq.add();
    const policy = policyOf();
    const id = await ledger.beginRun(storedPlanOf({ policy: policy.name }), START - MINUTE);
    const reserved = await ledger.reserve(id, resumeOf(entry.dlqId, { retries: 0 }), START - MINUTE, NO_CAPS);
    if (!reserved.ok) throw new Error(reserved.reason);
    await ledger.recordOutcome(reserved.intent.id, 'production', { at: START - MINUTE + 1, outcome: 'unknown' });
    const settleAt = async (ms: number): Promise<string | undefined> => {
      await settleAfter(w, START - MINUTE + 1 + ms - w.clock.now());
      return outcomeOf(ledger, reserved.intent.id);
    };
    expect(await settleAt(after - 1)).toBe('unknown');
    // The entry is still listed, so the request had no effect.
    expect(await settleAt(after)).toBe('confirmed_not_applied');
  });
});

/** Alerts and callbacks that trigger policies: none is lost in a hold, a restart or a crash, and none runs twice. */
import type { PreconditionFacts } from '#automate/policies/facts.ts';
import { describe, expect, test } from 'vitest';
import type { EventTrigger } from '#foundation/domain/plan.ts';
import { HOUR, MINUTE, NEVER, START, sentIds, world, type World, type WorldOptions, settleAfter } from './world.ts';

const POLICY = 'resume-billing';
const KEY = 'opsd/f00/2025-11-20T11:59:00.000Z';
const ALERT: EventTrigger = { kind: 'alert', name: 'BillingDown', key: KEY };
const firing = { receiver: 'opsd', name: 'BillingDown', key: KEY, accounts: ['production'], isFiring: true };

/** Effect of the hook when the alert begins to fire. */
async function fire(w: World, trigger = ALERT): Promise<void> {
  const at = w.clock.now();
  await w.ledger.noteAlert({ ...firing, key: trigger.key, at });
  if (!(await w.ledger.recordTrigger({ policy: POLICY, account: 'production', trigger, at }))) return;
  await w.engine.run(POLICY, NEVER, trigger);
}

async function resolve(w: World): Promise<void> {
  await w.ledger.noteAlert({ ...firing, isFiring: false, at: w.clock.now() });
}

/** Time passes, the engine settles, and the requested runs start. */
async function pass(w: World, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += 15_000) {
    await settleAfter(w, 15_000);
    const [soon, triggers] = [w.soon.splice(0), w.soonFor.splice(0)];
    for (const [index, policy] of soon.entries()) await w.engine.run(policy, NEVER, triggers[index]);
  }
}

async function pending(w: World) {
  return (await w.engine.statuses())[0]!.pending;
}

async function held(w: World): Promise<string | undefined> {
  return (await w.engine.statuses())[0]!.held?.guard;
}

/** Outcomes of the runs that the alert triggered, in order. */
function alertRuns(w: World): readonly string[] {
  return w.events.flatMap((event) => (event.type === 'policy.run' && event.trigger === 'alert' ? [event.outcome] : []));
}

function triggered(options: WorldOptions = {}): World {
  const made = world({ ...options, policy: { on: { alert: 'BillingDown' }, ...options.policy } });
  made.dlq.add({ labels: ['billing'] });
  return made;
}

test('an alert triggers one run, and is no longer pending', async () => {
  const w = triggered();
  await fire(w);
  await pass(w, HOUR);
  expect(sentIds(w)).toHaveLength(1);
  expect(alertRuns(w)).toEqual(['acted']);
  expect(await pending(w)).toBeUndefined();
});

/** Ways to hold a run, each with its release. */
const HOLDS: readonly {
  readonly what: string;
  readonly guard?: string;
  readonly options?: WorldOptions;
  readonly hold: (w: World) => unknown;
  readonly release: (w: World) => unknown;
}[] = [
  {
    what: 'the pause of the engine',
    guard: 'kill_switch',
    hold: (w) => w.engine.pause({ reason: 'r', by: 'kim' }),
    release: (w) => w.engine.unpause({ reason: 'r', by: 'kim' }),
  },
  {
    what: 'the pause of the policy',
    guard: 'kill_switch',
    hold: (w) => w.engine.pause({ policy: POLICY, reason: 'r', by: 'kim' }),
    release: (w) => w.engine.unpause({ policy: POLICY, reason: 'r', by: 'kim' }),
  },
  {
    what: 'the kill switch file',
    guard: 'kill_switch',
    hold: (w) => void (w.pause = 'PAUSE exists'),
    release: (w) => void (w.pause = undefined),
  },
  {
    what: 'OPSD_MODE=audit until a restart',
    guard: 'mode',
    hold: (w) => w.restart({ ceiling: 'audit' }),
    release: (w) => w.restart(),
  },
  {
    what: 'OPSD_MODE=off until a restart',
    guard: 'mode',
    hold: (w) => w.restart({ ceiling: 'off' }),
    release: (w) => w.restart(),
  },
  {
    what: 'a configuration that is not used',
    guard: 'mode',
    hold: (w) => w.restart({ auditOnly: () => 'the last reload failed' }),
    release: (w) => w.restart(),
  },
  {
    what: 'a precondition',
    guard: 'precondition',
    options: { policy: { preconditions: [{ name: 'calm', expr: 'dlqMessages() < 10' }] } },
    hold: (w) => knowMessages(w, 11),
    release: (w) => knowMessages(w, 9),
  },
  {
    what: 'a destination that fails',
    guard: 'destination',
    hold: (w) => void (w.facts = { deliveries: () => ({ delivered: 1, all: 100 }) }),
    release: (w) => void (w.facts = {}),
  },
  {
    what: 'a quota that ran out',
    guard: 'quota',
    hold: (w) => void (w.facts = { refusedAt: () => w.clock.now() }),
    release: (w) => void (w.facts = {}),
  },
  {
    what: 'a listing that fails',
    guard: 'incomplete_read',
    hold: (w) => void (w.dlq.failOnPage = 0),
    release: (w) => void (w.dlq.failOnPage = undefined),
  },
];

function knowMessages(w: World, count: number): void {
  w.facts = {
    preconditions: () => ({ dlqMessages: () => count }) as unknown as PreconditionFacts,
  };
}

describe.each(HOLDS)('a trigger that is held by $what', ({ guard, options, hold, release }) => {
  test('is pending, is shown, and runs once when the hold ends', async () => {
    const w = triggered(options);
    await hold(w);
    await fire(w);
    await pass(w, 20 * MINUTE);
    expect(sentIds(w)).toEqual([]);
    expect(await pending(w)).toEqual({ trigger: 'alert', alert: 'BillingDown', count: 1, since: START });
    expect(await held(w)).toBe(guard);
    await release(w);
    await pass(w, 6 * MINUTE);
    expect(sentIds(w)).toHaveLength(1);
    expect([await pending(w), await held(w)]).toEqual([undefined, undefined]);
    await pass(w, HOUR);
    expect(w.runs().filter((outcome) => outcome === 'acted')).toHaveLength(1);
  });

  test('ends with its alert, and so does the hold', async () => {
    const w = triggered(options);
    await hold(w);
    await fire(w);
    await pass(w, MINUTE);
    await resolve(w);
    await pass(w, MINUTE);
    expect([await pending(w), await held(w)]).toEqual([undefined, undefined]);
    await release(w);
    await pass(w, 20 * MINUTE);
    expect(sentIds(w)).toEqual([]);
  });
});

test.each([
  ['window', { windows: [{ from: '13:00', to: '14:00' }] }, HOUR],
  ['min_interval', { limits: { minInterval: '2h' } }, 2 * HOUR],
])('a trigger outside of its %s waits for it, without a notification of a hold', async (guard, policy, wait) => {
  const w = triggered({ policy });
  if (guard === 'min_interval') {
    await fire(w, { ...ALERT, key: 'opsd/earlier/1' });
    w.dlq.add({ labels: ['billing'] });
  }
  const before = sentIds(w).length;
  await fire(w);
  await pass(w, wait - 5 * MINUTE);
  expect(sentIds(w)).toHaveLength(before);
  expect(await pending(w)).toMatchObject({ count: 1 });
  expect(await held(w)).toBeUndefined();
  await pass(w, 10 * MINUTE);
  expect(sentIds(w)).toHaveLength(before + 1);
  expect(await pending(w)).toBeUndefined();
});

test('while paused, a pending trigger writes no further runs', async () => {
  const w = triggered();
  w.pause = 'PAUSE exists';
  await fire(w);
  await pass(w, HOUR);
  expect(alertRuns(w)).toEqual(['held']);
  w.pause = undefined;
  await pass(w, 15_000);
  expect(alertRuns(w)).toEqual(['held', 'acted']);
});

test('repeats of the alert add nothing', async () => {
  const w = triggered();
  w.pause = 'PAUSE exists';
  for (let n = 0; n < 5; n++) await fire(w);
  expect(await pending(w)).toMatchObject({ count: 1 });
  w.pause = undefined;
  for (let n = 0; n < 5; n++) await fire(w);
  await pass(w, 20 * MINUTE);
  expect(alertRuns(w)).toEqual(['held', 'acted']);
});

test('a run that a stop interrupts leaves its trigger pending', async () => {
  const w = triggered();
  const at = w.clock.now();
  await w.ledger.noteAlert({ ...firing, at });
  await w.ledger.recordTrigger({ policy: POLICY, account: 'production', trigger: ALERT, at });
  await w.engine.run(POLICY, AbortSignal.abort(new Error('the daemon stops')), ALERT);
  expect(await pending(w)).toMatchObject({ count: 1 });
  w.restart();
  await pass(w, MINUTE);
  expect(sentIds(w)).toHaveLength(1);
});

test('one run handles all pending triggers', async () => {
  const w = triggered();
  w.pause = 'PAUSE exists';
  for (const n of [1, 2, 3]) await fire(w, { ...ALERT, key: `opsd/f${n}/1` });
  expect(await pending(w)).toMatchObject({ count: 3, since: START });
  w.pause = undefined;
  await pass(w, 10 * MINUTE);
  expect(alertRuns(w)).toEqual(['held', 'held', 'held', 'acted']);
  expect(await pending(w)).toBeUndefined();
});

test('a scheduled run leaves the trigger to a run that gets it', async () => {
  const w = triggered({
    policy: { every: '1m', where: 'trigger.kind == "alert" && entry.cause == "transient"' },
  });
  w.pause = 'PAUSE exists';
  await fire(w);
  w.pause = undefined;
  await w.engine.run(POLICY, NEVER);
  expect(sentIds(w)).toEqual([]);
  await pass(w, MINUTE);
  expect(sentIds(w)).toHaveLength(1);
});

test('the probation of a delete is one run for each trigger', async () => {
  const w = triggered({
    policy: {
      where: 'entry.cause == "transient"',
      action: { type: 'workflow-dlq.delete', archive: { dir: '/nowhere' }, grace: '1h' },
    },
  });
  await w.ledger.noteMatches({ name: POLICY, account: 'production' }, ['dlq-001'], START - 2 * HOUR);
  await fire(w);
  await pass(w, HOUR);
  expect(w.lastRun()).toMatchObject({ stopped: { guard: 'probation' } });
  expect(alertRuns(w)).toHaveLength(1);
  expect(await pending(w)).toBeUndefined();
});

test('a plan that waits for approval has handled its trigger', async () => {
  const w = triggered({ policy: { mode: 'approve' } });
  await fire(w);
  await pass(w, 20 * MINUTE);
  expect(alertRuns(w)).toEqual(['pending_approval']);
  expect(await pending(w)).toBeUndefined();
});

test.each([
  ['another alert', { on: { alert: 'Other' } }],
  ['another account', { account: 'staging' }],
  ['nothing', { mode: 'off' }],
  ['failure callbacks', { on: { failureCallback: true } }],
])('a trigger is dropped when the policy waits for %s since', async (_what, policy) => {
  const w = triggered();
  w.pause = 'PAUSE exists';
  await fire(w);
  const changed = triggered({ policy, ledger: w.ledger });
  await pass(changed, 10 * MINUTE);
  expect(await pending(changed)).toBeUndefined();
  expect(changed.runs()).toEqual([]);
});

test('failure callbacks are pending as alerts are', async () => {
  const w = triggered({ policy: { on: { failureCallback: true } } });
  const trigger: EventTrigger = { kind: 'callback', key: 'production/dlq-1' };
  w.pause = 'PAUSE exists';
  await fire(w, trigger);
  await pass(w, MINUTE);
  expect(await pending(w)).toEqual({ trigger: 'callback', count: 1, since: START });
  expect(await pending(triggered({ ledger: w.ledger }))).toBeUndefined();
  w.pause = undefined;
  await pass(w, MINUTE);
  expect(w.runs()).toEqual(['held', 'acted']);
  expect(await pending(w)).toBeUndefined();
});

describe('a hold ends with its reason', () => {
  test.each(HOLDS.filter(({ guard }) => guard !== 'incomplete_read'))(
    'of a policy without a next run: $what',
    async ({ guard, options, hold, release }) => {
      const w = triggered({ ...options, policy: { ...options?.policy, on: { hand: true } } });
      await hold(w);
      await w.engine.run(POLICY, NEVER, { kind: 'hand' });
      await release(w);
      await pass(w, 15_000);
      expect(await held(w)).toBeUndefined();
      expect(w.engine.conditions().filter(({ key }) => key.startsWith('held/'))).toEqual([]);
      expect(guard).toBeDefined();
    },
  );

  test('of a policy with a schedule, before its next run', async () => {
    const w = world({ policy: { every: '1d' } });
    w.pause = 'PAUSE exists';
    await w.engine.run(POLICY, NEVER);
    await pass(w, MINUTE);
    expect(await held(w)).toBe('kill_switch');
    w.pause = undefined;
    await pass(w, 15_000);
    expect(await held(w)).toBeUndefined();
  });

  test('and a lower mode replaces it only with the next run', async () => {
    const w = world({ policy: { every: '1d' }, deps: { ceiling: 'audit' } });
    w.pause = 'PAUSE exists';
    await w.engine.run(POLICY, NEVER);
    w.pause = undefined;
    await pass(w, 15_000);
    expect(await held(w)).toBeUndefined();
  });
});

test('a held group keeps the trigger pending, though another group was repaired', async () => {
  const w = triggered();
  w.dlq.add({ labels: ['billing'], workflowUrl: 'https://other.example.com/ship' });
  const failing = 'other.example.com';
  w.facts = { deliveries: (_account, host) => ({ delivered: host === failing ? 1 : 100, all: 100 }) };
  await fire(w);
  expect(sentIds(w)).toHaveLength(1);
  expect(await pending(w)).toMatchObject({ count: 1 });
  w.facts = {};
  await pass(w, 10 * MINUTE);
  expect(sentIds(w)).toHaveLength(2);
  expect(await pending(w)).toBeUndefined();
});

/** Deletes, prunes and budgets: the effects of their runs, and the handling of lost responses. */
import { describe, expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import { policyOf } from '../../support/policies.ts';
import { deadLetter, HOUR, MINUTE, NEVER, outcomes, type World, world, settleAfter, pendingPlans } from './world.ts';

const DAY = 24 * HOUR;

describe('a prune', () => {
  const prune = (over: object = {}) =>
    policyOf('message-dlq.prune', {
      name: 'prune',
      account: 'production',
      mode: 'enforce',
      limits: { maxPerRun: 200, maxPerHour: 1_000, probation: { runs: 1 } },
      ...over,
    });

  async function proven(messages: number): Promise<World> {
    const w = world({ policies: [prune()], guards: GUARDS });
    w.dlq.messages = messages;
    await w.engine.run('prune', NEVER);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'probation' } });
    expect(w.dlq.pruned).toEqual([]);
    return w;
  }

  test('begins with one message, continues by pages of at most a hundred, and ends when nothing is left', async () => {
    const w = await proven(150);
    await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toEqual([1, 100, 49]);
    expect(w.lastRun()).toMatchObject({ outcome: 'acted', matched: 150, acted: 150, backlog: 0 });
    await w.engine.settle(NEVER);
    expect(await outcomes(w)).toEqual(['verified', 'verified', 'verified']);
    expect((await w.ledger.recentActions(1))[0]).toMatchObject({
      done: 49,
      proposal: { target: 'prune/2/3', items: 99 },
    });
  });

  test('that finds nothing does nothing, and uses no cap', async () => {
    const w = await proven(1);
    await w.engine.run('prune', NEVER);
    expect((await w.ledger.used([{ scope: { policy: 'prune' }, since: 0 }]))[0]).toBe(1);
    await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toEqual([1, 0, 0]);
    expect(w.lastRun()).toMatchObject({ outcome: 'nothing_to_do', matched: 0, acted: 0, backlog: 0 });
    expect((await w.ledger.used([{ scope: { policy: 'prune' }, since: 0 }]))[0]).toBe(1);
  });

  test('reports that it sees no protected label', async () => {
    const planned = await world({ policies: [prune()] }).engine.plan('prune', { by: 'test', keep: false }, NEVER);
    const note = 'Protected labels have no effect: messages with no-auto, legal-hold are deleted as well.';
    expect(planned.ok && planned.plan.notes).toContain(note);
  });

  test('stays within the maximum of a run', async () => {
    const w = await proven(1_000);
    await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toEqual([1, 100, 99]);
  });

  test('makes its pages as small as the caps require, and continues when there is room again', async () => {
    const w = world({ policies: [prune({ limits: { probation: { runs: 1 } } })], guards: GUARDS });
    w.dlq.messages = 1_000;
    await w.engine.run('prune', NEVER);
    await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toEqual([1, 99]);
    await w.engine.run('prune', NEVER);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'caps' } });
    await w.clock.advance(HOUR + MINUTE);
    await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toEqual([1, 99, 1, 99]);
  });

  test('with a lost response ends, is never sent again, and has an unknown outcome', async () => {
    const w = await proven(1_000);
    w.dlq.answers = ['good', 'lost'];
    await w.engine.run('prune', NEVER);
    expect(w.lastRun()).toMatchObject({ outcome: 'halted', stopped: { guard: 'cool_down' } });
    await settleAfter(w, HOUR);
    expect(await outcomes(w)).toEqual(['verified', 'unresolvable']);
    expect(w.dlq.pruned).toEqual([1, 100]);
  });

  test('ends when the DLQ empties much faster than its pages say', async () => {
    const w = await proven(1_000);
    let counted = 1_000;
    w.facts = { dlqMessages: () => counted };
    w.dlq.onDelete = () => void (counted -= 300);
    await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toEqual([1]);
    expect(w.lastRun()).toMatchObject({
      outcome: 'halted',
      stopped: { guard: 'dlq_count', measured: 'the DLQ fell from 1000 to 700 messages; this run deleted only 1' },
    });
  });

  test('that deletes more than a page holds pauses the whole engine', async () => {
    const w = await proven(10);
    w.dlq.surplus = 1;
    await w.engine.run('prune', NEVER);
    expect(w.dlq.pruned).toHaveLength(1);
    const reason = expect.stringContaining('exceeded_request') as string;
    expect(await w.ledger.pauses()).toMatchObject([{ scope: 'engine', reason }]);
  });
});

function deleting(over: object = {}): World {
  const limits = { probation: { runs: 1 } };
  const common = { name: 'delete-dead', account: 'production', mode: 'enforce', limits };
  return world({ policies: [policyOf('message-dlq.delete', { ...common, ...over })], guards: GUARDS });
}

describe('a delete of messages', () => {
  test('uses the ids from failure callbacks, one a request, and forgets none with an unknown outcome', async () => {
    const w = deleting({ where: 'has(entry.status) && entry.status == 404' });
    for (const [dlqId, status, labels] of [
      ['m-1', 404, []],
      ['m-2', 503, []],
      ['m-3', 404, ['legal-hold']],
      ['m-4', 404, []],
    ] as const) {
      await deadLetter(w, dlqId, { status, labels });
    }
    await w.engine.run('delete-dead', NEVER);
    expect(w.dlq.pruned).toEqual([]);
    w.dlq.answers = ['lost'];
    await w.engine.run('delete-dead', NEVER);
    expect(w.dlq.pruned).toEqual([['m-1'], ['m-4']]);
    expect(w.lastRun().denials).toEqual(
      expect.arrayContaining([
        { guard: 'where', count: 1 },
        { guard: 'protected', count: 1 },
      ]),
    );
    expect(await outcomes(w)).toEqual(['unknown', 'accepted']);
    await w.engine.run('delete-dead', NEVER);
    expect(w.dlq.pruned).toHaveLength(2);
    // Repeating the delete of the same id has no further effect.
    await settleAfter(w, 6 * MINUTE);
    expect(w.dlq.pruned).toEqual([['m-1'], ['m-4'], ['m-1']]);
    expect(await outcomes(w)).toEqual(['confirmed_applied', 'verified']);
    // Deleted entries are not read again. A repeated callback deletes nothing twice.
    expect((await w.ledger.deadLetters('production', 10)).map(({ dlqId }) => dlqId)).toEqual(['m-2', 'm-3']);
    await deadLetter(w, 'm-1');
    await w.engine.run('delete-dead', NEVER);
    expect(w.dlq.pruned).toHaveLength(3);
  });

  test('selects the newest, however many old ones remain', async () => {
    const w = deleting();
    for (let i = 0; i <= 10_000; i++) {
      await deadLetter(w, `m-${i}`, { learnedAt: w.clock.now() + i, status: i === 10_000 ? 404 : 503 });
    }
    const planned = await w.engine.plan('delete-dead', { by: 'test', keep: false }, NEVER);
    expect(planned).toMatchObject({
      plan: {
        chosen: [{ target: 'm-10000' }],
        notes: expect.arrayContaining(['Only the newest 10000 are checked.']) as string[],
      },
    });
  });
});

test('a delete of a message with a lost response is not sent again after an operator stops the engine', async () => {
  const w = deleting();
  await deadLetter(w, 'm-1');
  await w.engine.run('delete-dead', NEVER);
  w.dlq.answers = ['lost'];
  await w.engine.run('delete-dead', NEVER);
  await w.clock.advance(6 * MINUTE);
  await w.engine.pause({ policy: 'delete-dead', reason: 'odd', by: 'tom' });
  await w.engine.settle(NEVER);
  expect(w.dlq.pruned).toEqual([['m-1']]);
  await w.engine.unpause({ reason: 'looked at it', by: 'tom' });
  w.dlq.surplus = 99;
  await w.engine.settle(NEVER);
  expect(w.dlq.pruned).toEqual([['m-1'], ['m-1']]);
  const surplus = 'exceeded_request (m-1): the service acted on 100 entries; the request allowed 1;';
  const reason = expect.stringContaining(surplus) as string;
  expect(await w.ledger.pauses()).toMatchObject([{ scope: 'engine', reason }]);
});

describe('entries whose delete the service rejects', () => {
  const refuse = (w: World): void => {
    let asked = 0;
    w.dlq.onDelete = () => {
      if (++asked <= 3) throw Object.assign(new Error('refused'), { code: 'client_error', effect: 'none' });
    };
  };
  const common = { name: 'delete', account: 'production', mode: 'enforce', limits: { probation: { runs: 1 } } };

  test('wait, so that others come first: dead messages', async () => {
    const w = world({ policies: [policyOf('message-dlq.delete', common)], guards: GUARDS });
    for (let i = 1; i <= 4; i++) await deadLetter(w, `m-${i}`, { learnedAt: w.clock.now() + i });
    await w.engine.run('delete', NEVER);
    refuse(w);
    for (let i = 0; i < 2; i++) await w.engine.run('delete', NEVER);
    expect(w.dlq.pruned).toEqual([['m-4']]);
    expect(w.lastRun().denials).toContainEqual({ guard: 'attempts', count: 3 });
    await w.clock.advance(10 * MINUTE);
    await w.engine.run('delete', NEVER);
    expect(w.dlq.pruned).toEqual([['m-4'], ['m-1'], ['m-2'], ['m-3']]);
  });

  test('wait, so that others come first: workflow runs', async () => {
    const action = { archive: { dir: '/nonexistent', require: false }, grace: '1h' };
    const w = world({ policies: [policyOf('workflow-dlq.delete', { ...common, action })], guards: GUARDS });
    for (let i = 0; i < 4; i++) w.dlq.add({ responseStatus: 404 });
    await w.engine.run('delete', NEVER);
    await w.clock.advance(HOUR);
    await w.engine.run('delete', NEVER);
    refuse(w);
    for (let i = 0; i < 2; i++) {
      await w.engine.run('delete', NEVER);
      await w.clock.advance(5 * MINUTE);
    }
    expect(w.dlq.deleted).toEqual(['dlq-004']);
  });
});

describe('a delete of runs', () => {
  test('waits out its grace from the first match, and restarts for entries that did not match in between', async () => {
    const policy = policyOf('workflow-dlq.delete', {
      name: 'delete-hopeless',
      account: 'production',
      mode: 'enforce',
      action: { archive: { dir: '/nonexistent', require: false }, grace: '72h' },
      limits: { probation: { runs: 1 } },
    });
    const w = world({ policies: [policy], guards: GUARDS, entries: [{ responseStatus: 404 }] });
    const second = w.dlq.add({ responseStatus: 404 });
    await w.engine.run('delete-hopeless', NEVER);
    await w.clock.advance(DAY);
    w.dlq.entries.set(second.dlqId, { ...second, responseStatus: 503 });
    await w.engine.run('delete-hopeless', NEVER);
    w.dlq.entries.set(second.dlqId, second);
    await w.clock.advance(2 * DAY);
    await w.engine.run('delete-hopeless', NEVER);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'probation' } });
    await w.engine.run('delete-hopeless', NEVER);
    expect(w.dlq.deleted).toEqual(['dlq-001']);
    await settleAfter(w, 6 * MINUTE);
    expect(await outcomes(w)).toEqual(['verified']);
  });
});

test('an entry that a resume selects by its remaining time is not deleted', async () => {
  const common = { account: 'production', mode: 'enforce' };
  const soon = 'entry.cause == "permanent" && has(entry.expiresIn) && entry.expiresIn < duration("24h")';
  const w = world({
    policies: [
      policyOf('workflow-dlq.delete', {
        ...common,
        name: 'delete',
        action: { archive: { dir: '/nonexistent', require: false }, grace: '1h' },
        limits: { probation: { runs: 1 } },
      }),
      policyOf('workflow-dlq.resume', { ...common, name: 'resume', where: soon }),
    ],
    guards: GUARDS,
    deps: { accounts: new Map([['production', { mode: 'enforce', dlqRetentionMs: DAY }]]) },
  });
  w.dlq.add({ responseStatus: 404 });
  for (let i = 0; i < 3; i++) {
    await w.engine.run('delete', NEVER);
    await w.clock.advance(HOUR);
  }
  expect(w.dlq.deleted).toEqual([]);
  expect(w.lastRun().denials).toEqual([{ guard: 'claim', count: 1 }]);
});

describe('a raise of the budget', () => {
  const raise = (over: object = {}) =>
    policyOf('budget.raise', {
      name: 'raise',
      account: 'production',
      mode: 'enforce',
      action: { step: { percent: 20, roundUpTo: 10 }, ceilingUsd: 150 },
      ...over,
    });
  const spend = { monthUsd: 90, last24hUsd: 5, medianDayUsd: 4, hoursLeft: 10, fresh: true };

  function near(w: World, over: object = {}, knownUsd = 100): void {
    const known = { knownUsd, origin: 'configuration' as const, assertedAt: w.clock.now(), maxAgeMs: 45 * DAY };
    w.facts = { budget: () => ({ spend: { ...spend, at: w.clock.now(), ...over }, known }) };
  }

  function raising(over?: object, knownUsd?: number): World {
    const w = world({ policies: [raise()], guards: GUARDS });
    near(w, over, knownUsd);
    return w;
  }

  async function readings(w: World, count: number, apart = 16 * MINUTE): Promise<void> {
    for (let i = 0; i < count; i++) {
      await w.engine.run('raise', NEVER);
      await w.clock.advance(apart);
    }
  }

  /** Sends a raise whose response is lost. */
  async function lost(w: World): Promise<void> {
    w.dlq.answers = ['lost'];
    await readings(w, 2);
  }

  test('needs two readings, a quarter of an hour apart', async () => {
    const w = raising();
    await readings(w, 1, 5 * MINUTE);
    await readings(w, 1, 11 * MINUTE);
    expect(w.dlq.budgets).toEqual([]);
    await readings(w, 1);
    expect(w.dlq.budgets).toEqual([120]);
  });

  test('counts two readings that arrived together as one, however long ago', async () => {
    const w = world({ policies: [raise()], guards: GUARDS });
    const first = w.clock.now();
    near(w, { at: first });
    await readings(w, 1);
    near(w, { at: first + 14 * MINUTE });
    await readings(w, 3);
    expect(w.dlq.budgets).toEqual([]);
    expect(w.lastRun().stopped).toMatchObject({
      guard: 'confirmation',
      measured: 'reading 1 of 2',
      needed: 'they must agree and be 15m apart',
    });
    near(w, { at: first + 15 * MINUTE });
    await readings(w, 1);
    expect(w.dlq.budgets).toEqual([120]);
  });

  test('needs them five minutes apart when fewer than three hours are left', async () => {
    const w = raising({ hoursLeft: 2 });
    await readings(w, 2, 5 * MINUTE);
    expect(w.dlq.budgets).toEqual([120]);
  });

  test('restarts its readings when the condition ends, and when the month turns', async () => {
    const w = raising();
    await readings(w, 1);
    near(w, { hoursLeft: 100 });
    await readings(w, 1);
    near(w);
    await readings(w, 1);
    expect(w.dlq.budgets).toEqual([]);
    await w.clock.advance(Date.UTC(2025, 11, 1) - w.clock.now());
    near(w);
    await readings(w, 1);
    expect(w.dlq.budgets).toEqual([]);
    await readings(w, 1);
    expect(w.dlq.budgets).toEqual([120]);
  });

  test('stops at its ceiling, and reports it', async () => {
    const w = raising({}, 140);
    await readings(w, 2);
    expect(w.dlq.budgets).toEqual([150]);
    near(w, { monthUsd: 140 }, 150);
    await w.clock.advance(DAY);
    near(w, { monthUsd: 140 }, 150);
    await readings(w, 2);
    expect(w.dlq.budgets).toEqual([150]);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'raise_limits' } });
  });

  test('with a lost response is set once more, to the same amount', async () => {
    const w = raising();
    await lost(w);
    expect(await outcomes(w)).toEqual(['unknown']);
    await w.engine.settle(NEVER);
    expect(w.dlq.budgets).toEqual([120, 120]);
    expect(await outcomes(w)).toEqual(['confirmed_applied']);
  });

  test.each<[string, (w: World) => void]>([
    ['a pause', (w) => w.engine.pause({ reason: 'odd', by: 'tom' })],
    ['the kill switch', (w) => void (w.pause = 'the file exists')],
    ['audit', (w) => w.restart({ ceiling: 'audit' })],
    ['a policy that is gone', (w) => w.restart({ policies: [raise({ name: 'another' })] })],
    ['a lower ceiling', (w) => w.restart({ policies: [raise({ action: { ceilingUsd: 110 } })] })],
  ])('with a lost response is not set again in %s, and is abandoned after an hour', async (_what, hold) => {
    const w = raising();
    await lost(w);
    hold(w);
    await w.engine.settle(NEVER);
    await w.engine.settle(AbortSignal.abort(new Error('the daemon stops')));
    expect(w.dlq.budgets).toEqual([120]);
    expect(await outcomes(w)).toEqual(['unknown']);
    await settleAfter(w, HOUR);
    expect(w.dlq.budgets).toEqual([120]);
    expect(await outcomes(w)).toEqual(['unresolvable']);
  });

  test('with a lost response is not set over a later budget of the configuration', async () => {
    const w = raising();
    await lost(w);
    const asserted = { knownUsd: 500, assertedOn: Date.UTC(2025, 10, 20), maxAge: 45 * DAY };
    w.facts = { budget: () => ({ spend: { fresh: false }, asserted }) };
    await w.engine.settle(NEVER);
    expect(w.dlq.budgets).toEqual([120]);
    expect(await outcomes(w)).toEqual(['unresolvable']);
  });

  test('requires approval when the spend is unusual, and shows the remaining hours', async () => {
    const w = raising({ last24hUsd: 20, hoursLeft: 6 });
    await readings(w, 2);
    expect(w.dlq.budgets).toEqual([]);
    expect(w.lastRun()).toMatchObject({ outcome: 'pending_approval' });
    const [pending] = await pendingPlans(w);
    expect(pending!.plan.needsApproval).toMatchObject({
      guard: 'surge',
      reason: expect.stringContaining('6.0 hours left') as string,
    });
    await w.engine.approve(pending!.plan.id, { by: 'tom' });
    await w.engine.run('raise', NEVER);
    expect(w.dlq.budgets).toEqual([120]);
  });

  test('does nothing, and is not a hold, while the condition is not met', async () => {
    const w = raising({ hoursLeft: 100 });
    await readings(w, 2);
    expect(w.runs()).toEqual(['nothing_to_do', 'nothing_to_do']);
    w.facts = { budget: () => ({ spend: { fresh: false } }) };
    await readings(w, 1);
    expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'known_budget' } });
  });
});

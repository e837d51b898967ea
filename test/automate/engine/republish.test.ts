/**
 * Messages are published again: each once, and deleted from the DLQ only after the log shows its delivery. With lost
 * responses, restarts and pauses at each step.
 */
import { describe, expect, test } from 'vitest';
import { formatStamp } from '#foundation/domain/lineage.ts';
import type { Policy } from '#automate/policies/policy.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { MessageState } from '#foundation/domain/log-entry.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { policyOf } from '../../support/policies.ts';
import { HOUR, MINUTE, NEVER, START, world, type World } from './world.ts';

const ACCOUNT = 'production';
const HOOK = 'https://app.example.com/hook';
const NAME = 'republish';
const ACTING = { account: ACCOUNT, mode: 'enforce' };

const republish = (over: object = {}): Policy => policyOf('message-dlq.republish', { name: NAME, ...ACTING, ...over });

/** @param unkept ids of the letters without a body */
function dead(policies: readonly Policy[] = [republish()], unkept: readonly string[] = []): World {
  const w = world({ policies, guards: GUARDS });
  const bodies = {
    states: async (_account: string, ids: readonly string[]) =>
      new Map(
        ids.map((id) => [id, unkept.includes(id) ? { reason: 'no body is kept' } : { size: 4, until: Infinity }]),
      ),
  };
  const read = async (_account: string, dlqId: string) => ({
    kept: { url: HOOK, method: 'POST', headers: {}, body: Buffer.from(dlqId) },
  });
  const restart = w.restart.bind(w);
  w.restart = (over) => {
    const actions = actionsOver(w.dlq.client(), { clock: w.clock, events: w.bus, bodies: read });
    restart({ bodies, actions, ...over });
  };
  w.restart();
  return w;
}

async function letter(w: World, dlqId: string, over: object = {}): Promise<void> {
  const common = { account: ACCOUNT, dlqId, messageId: `msg-${dlqId}`, url: HOOK, status: 503, labels: [] };
  await w.ledger.noteDeadLetter({ ...common, learnedAt: w.clock.now() - HOUR, ...over });
}

/** Publishes the dead letter `a` in a new world, with these responses. */
async function published(answers: World['dlq']['publishAnswers'] = []): Promise<World> {
  const w = dead();
  await letter(w, 'a');
  w.dlq.publishAnswers = answers;
  await run(w);
  return w;
}

/** Adds the state of the newest message to the log. */
function logged(w: World, state: MessageState, index = w.dlq.published.length - 1): void {
  const { messageId, labels } = w.dlq.published[index]!;
  w.dlq.log.push({ time: w.clock.now(), messageId, state, labels, url: HOOK });
}

async function run(w: World, name = NAME) {
  return w.engine.run(name, NEVER);
}

/** Settles once a minute. */
async function pass(w: World, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await w.clock.advance(MINUTE);
    await w.engine.settle(NEVER);
  }
}

const sent = (w: World): string[] => w.dlq.published.map(({ body }) => Buffer.from(body).toString());
const outcomes = async (w: World) => (await w.ledger.recentActions(20)).map(({ outcome }) => outcome).toReversed();
const deleted = (w: World) => w.dlq.pruned.flat();
const known = async (w: World) => (await w.ledger.deadLetters(ACCOUNT, 100)).map(({ dlqId }) => dlqId);
const denials = async (w: World, name = NAME) => {
  const made = await w.engine.plan(name, { by: 'test', keep: false }, NEVER);
  return made.ok ? made.plan.skipped.map(({ guard, reason }) => `${guard}: ${reason}`) : [];
};

describe('published, verified, deleted', () => {
  test('the oldest goes first, without retries; the letter goes after its delivery, and then the others', async () => {
    const w = dead();
    await letter(w, 'b');
    await letter(w, 'a', { learnedAt: START - 2 * HOUR });
    await run(w);
    expect(sent(w)).toEqual(['a']);
    expect(w.dlq.published[0]).toMatchObject({ url: HOOK, retries: 0 });
    logged(w, 'ACTIVE');
    await pass(w, 10);
    expect(deleted(w)).toEqual([]);
    logged(w, 'DELIVERED');
    await pass(w, 1);
    expect(deleted(w)).toEqual(['a']);
    expect(await known(w)).toEqual(['b']);
    expect(await outcomes(w)).toEqual(['verified']);
    await run(w);
    expect(sent(w)).toEqual(['a', 'b']);
  });

  test('the collector’s log suffices, without a read', async () => {
    const w = await published();
    w.dlq.failsLog = true;
    const { instance } = w.ledger;
    w.facts = {
      resumeEnded: (_account, { lineage, attempt, url }, end) =>
        end === 'delivered' &&
        url === HOOK &&
        formatStamp({ instance, lineage, attempt }) === w.dlq.published[0]!.labels[0],
    };
    await pass(w, 1);
    expect(deleted(w)).toEqual(['a']);
  });

  test('a message without an end in the log is left after a day, with its letter', async () => {
    const w = await published();
    logged(w, 'ACTIVE');
    await pass(w, 25 * 60);
    expect(await outcomes(w)).toEqual(['unverified']);
    await run(w);
    expect([sent(w), deleted(w), await known(w)]).toEqual([['a'], [], ['a']]);
  });

  test('a delete with a lost response is repeated, and the message is not', async () => {
    const w = await published();
    logged(w, 'DELIVERED');
    w.dlq.answers = ['lost'];
    await pass(w, 1);
    expect(await outcomes(w)).toEqual(['delivered']);
    await run(w);
    await pass(w, 1);
    expect([sent(w), deleted(w), await outcomes(w)]).toEqual([['a'], ['a', 'a'], ['verified']]);
  });

  test('nothing is deleted during a pause, and everything after it', async () => {
    const w = await published();
    logged(w, 'DELIVERED');
    w.pause = 'file PAUSE';
    await pass(w, 90);
    expect([deleted(w), await outcomes(w)]).toEqual([[], ['delivered']]);
    w.pause = undefined;
    await pass(w, 1);
    expect([deleted(w), await outcomes(w)]).toEqual([['a'], ['verified']]);
    // The destination delivered: a delete that waits does not halt it.
    await letter(w, 'b');
    await run(w);
    expect(sent(w)).toEqual(['a', 'b']);
  });

  test('a restart at each step continues, and repeats nothing', async () => {
    const w = dead();
    const again = async (): Promise<void> => {
      w.restart();
      await w.engine.recover(NEVER);
      await run(w);
    };
    await letter(w, 'a');
    await run(w);
    await again();
    logged(w, 'DELIVERED');
    w.dlq.answers = ['lost'];
    await pass(w, 1);
    await again();
    await pass(w, 1);
    await again();
    expect([w.dlq.publishes, sent(w), await outcomes(w), await known(w)]).toEqual([1, ['a'], ['verified'], []]);
  });
});

describe('a publish with a lost response', () => {
  test('is repeated under its id, so it acts once', async () => {
    const w = await published(['lost', 'lost', 'never_arrived']);
    expect(await outcomes(w)).toEqual(['unknown']);
    await pass(w, 3);
    expect([w.dlq.publishes, sent(w), await outcomes(w)]).toEqual([4, ['a'], ['accepted']]);
    logged(w, 'DELIVERED');
    await pass(w, 1);
    expect(deleted(w)).toEqual(['a']);
  });

  test('is not repeated once the service has forgotten the id: the log has the message', async () => {
    const w = await published(['lost', ...Array.from({ length: 20 }, () => 'never_arrived' as const)]);
    await pass(w, 7);
    const asked = w.dlq.publishes;
    logged(w, 'DELIVERED');
    await pass(w, 3);
    expect([w.dlq.publishes, sent(w), deleted(w), await outcomes(w)]).toEqual([asked, ['a'], ['a'], ['verified']]);
  });

  test('that never arrived is sent again half an hour later, as the log has no message', async () => {
    const w = await published(Array.from({ length: 8 }, () => 'never_arrived' as const));
    await pass(w, 29);
    await run(w);
    expect([sent(w), await outcomes(w)]).toEqual([[], ['unknown']]);
    await pass(w, 2);
    expect(await outcomes(w)).toEqual(['confirmed_not_applied']);
    await run(w);
    expect(sent(w)).toEqual(['a']);
  });

  test('stays unknown while the log cannot be read, or may have more pages', async () => {
    for (const fault of ['failsLog', 'hasMoreLog'] as const) {
      const w = dead();
      await letter(w, 'a');
      w.dlq.publishAnswers = ['lost', ...Array.from({ length: 8 }, () => 'never_arrived' as const)];
      w.dlq[fault] = true;
      await run(w);
      await pass(w, 25 * 60);
      await run(w);
      expect([sent(w), deleted(w), await outcomes(w)]).toEqual([['a'], [], ['unresolvable']]);
    }
  });

  test('is not repeated during a pause', async () => {
    const w = await published(['never_arrived']);
    w.pause = 'file PAUSE';
    await pass(w, 5);
    expect(w.dlq.publishes).toBe(1);
  });
});

describe('a message that fails again', () => {
  test('keeps its letter; its new letter has its attempts, and a delivery ends both', async () => {
    const w = await published();
    logged(w, 'FAILED');
    await pass(w, 1);
    expect([deleted(w), await outcomes(w)]).toEqual([[], ['failed_again']]);
    const { messageId, labels } = w.dlq.published[0]!;
    await letter(w, 'a-2', { messageId, labels, learnedAt: w.clock.now() });
    expect(await denials(w)).toEqual(['claim: sent before', expect.stringMatching(/^attempts: backing off/)]);
    await pass(w, 60);
    await run(w);
    expect(sent(w)).toEqual(['a', 'a-2']);
    expect(w.dlq.published[1]!.labels[0]).toMatch(/:2$/);
    logged(w, 'DELIVERED');
    await pass(w, 1);
    expect([deleted(w), await known(w)]).toEqual([['a', 'a-2'], []]);
  });

  test('is left after the last attempt', async () => {
    const w = dead([republish({ limits: { attempts: { max: 1, backoff: ['1s'] } } })]);
    await letter(w, 'a');
    await run(w);
    logged(w, 'FAILED');
    await pass(w, 1);
    const { messageId, labels } = w.dlq.published[0]!;
    await letter(w, 'a-2', { messageId, labels, learnedAt: w.clock.now() });
    await pass(w, 600);
    await run(w);
    expect(sent(w)).toEqual(['a']);
    expect(await denials(w)).toEqual(['claim: sent before', 'attempts: 1 of 1']);
  });

  test('halts its destination, and no other', async () => {
    const w = dead();
    for (const id of ['a', 'b']) await letter(w, id);
    await letter(w, 'c', { url: 'https://app.example.com/other' });
    await run(w);
    expect(sent(w).toSorted()).toEqual(['a', 'c']);
    for (const [index, body] of sent(w).entries()) logged(w, body === 'a' ? 'FAILED' : 'DELIVERED', index);
    await pass(w, 10);
    await letter(w, 'd', { url: 'https://app.example.com/other' });
    await run(w);
    expect(sent(w).slice(2)).toEqual(['d']);
  });
});

test('the verdict of a policy on a message is explained', async () => {
  const w = dead();
  await letter(w, 'a', { labels: ['no-auto'] });
  const denial = { guard: 'protected', reason: 'no-auto' };
  const policies = [{ policy: NAME, verdict: 'left_out', denial }];
  expect(await w.engine.explain('a', NEVER)).toMatchObject({ ok: true, policies });
});

describe('refused', () => {
  test.each([
    ['without a body', {}, { dlqId: 'bodiless' }, 'body: no body is kept'],
    ['without a destination', {}, { url: undefined }, 'body: its destination is unknown'],
    [
      'created too early',
      { action: { notBefore: '2025-11-20T11:30:00Z' } },
      { createdAt: START - HOUR },
      'body: created before action.notBefore',
    ],
    ['protected', {}, { labels: ['no-auto'] }, 'protected: no-auto'],
    ['of another instance', {}, { labels: ['opsd:else:where:1'] }, 'other_instance: stamped by instance else'],
  ])('a message %s', async (_what, policy, over, why) => {
    const w = dead([republish(policy)], ['bodiless']);
    await letter(w, 'a', over);
    await run(w);
    expect(w.dlq.publishes).toBe(0);
    expect(await denials(w)).toEqual([why]);
  });

  test('a message of a schedule that has delivered a later one, unless the policy says otherwise', async () => {
    for (const evenIfRepeated of [false, true]) {
      const w = dead([republish({ action: { evenIfRepeated } })]);
      await letter(w, 'a', { scheduleId: 'scd-1' });
      await letter(w, 'b', { scheduleId: 'scd-2', learnedAt: START - HOUR + 1 });
      const entry = { messageId: 'msg-later', scheduleId: 'scd-1', labels: [], state: 'DELIVERED' as const };
      w.dlq.log.push(
        { ...entry, time: START - 30 * MINUTE },
        { ...entry, scheduleId: 'scd-2', time: START - 2 * HOUR },
      );
      await run(w);
      expect(sent(w)).toEqual([evenIfRepeated ? 'a' : 'b']);
      const why = 'body: its schedule has delivered a later message';
      expect((await denials(w)).includes(why)).toBe(!evenIfRepeated);
    }
  });

  test('a message of a schedule in a manual plan, unless the operator overrules it', async () => {
    for (const overrule of [undefined, { 'action.evenIfRepeated': 'true' }]) {
      const w = dead([]);
      await letter(w, 'a', { scheduleId: 'scd-1' });
      w.dlq.log.push({ time: START, messageId: 'm', scheduleId: 'scd-1', labels: [], state: 'DELIVERED' });
      const selection = { action: 'republish', account: ACCOUNT, ids: ['a'] } as const;
      const made = await w.engine.planManually({ by: 'anna', reason: 'again', selection, overrule }, NEVER);
      expect(made.ok && made.plan.chosen.map(({ target }) => target)).toEqual(overrule === undefined ? [] : ['a']);
    }
  });

  test('a message of a schedule whose log cannot be read', async () => {
    const w = dead();
    await letter(w, 'a', { scheduleId: 'scd-1' });
    w.dlq.failsLog = true;
    await run(w);
    expect([w.dlq.publishes, await denials(w)]).toEqual([0, ['body: the log of its schedule cannot be read']]);
  });

  test('nothing, but with a warning, if the destination has left its URL Group', async () => {
    const w = dead();
    const about = { account: ACCOUNT, collector: 'urlGroups', dropped: 0 } as const;
    w.board.register({ ...about, schedule: 'every 1m', intervalMs: MINUTE, maxStalenessMs: HOUR });
    for (const id of ['a', 'b'])
      await letter(w, id, { topicName: 'hooks', ...(id === 'b' && { url: `${HOOK}/left` }) });
    const notes = async () => {
      const made = await w.engine.plan(NAME, { by: 'test', keep: false }, NEVER);
      return made.ok ? made.plan.notes.filter((note) => note.startsWith('Warning')) : [];
    };
    expect(await notes()).toEqual([]);
    w.board.publish({ ...about, at: START, rows: [{ name: 'hooks', endpoints: [{ url: `${HOOK}?key=1` }] }] }, 10);
    expect(await notes()).toEqual([
      'Warning: 1 of these messages go to a destination that is no longer in its URL Group.',
    ]);
    await run(w);
    expect(sent(w).toSorted()).toEqual(['a', 'b']);
  });

  test('no message that only a policy about runs selects', async () => {
    const resume = policyOf('workflow-dlq.resume', { name: 'resume', ...ACTING, where: 'entry.dlqId != ""' });
    const w = dead([resume, republish()]);
    await letter(w, 'a');
    await run(w);
    expect(sent(w)).toEqual(['a']);
  });

  test('no delete of a message without attempts left, whatever other deletes and quotas say', async () => {
    const remove = (name: string) =>
      policyOf('message-dlq.delete', {
        name,
        ...ACTING,
        where: 'has(entry.status)',
        limits: { probation: { runs: 1 } },
      });
    const w = dead([remove('first'), remove('second'), republish()]);
    const { instance } = w.ledger;
    await letter(w, 'a', { labels: [formatStamp({ instance, lineage: 'abc', attempt: 3 })] });
    w.facts = { refusedAt: () => w.clock.now() };
    const made = await w.engine.plan('second', { by: 'test', keep: false }, NEVER);
    expect(made).toMatchObject({ ok: true, plan: { skipped: [], stopped: undefined, drain: undefined } });
    for (let turn = 0; turn < 2; turn += 1) await run(w, 'second');
    expect(deleted(w)).toEqual(['a']);
  });

  test('a delete of what another policy publishes again, until that is not possible', async () => {
    const remove = policyOf('message-dlq.delete', {
      name: 'remove',
      ...ACTING,
      where: 'has(entry.status)',
      limits: { probation: { runs: 1 } },
    });
    const w = dead([remove, republish()], ['bodiless']);
    for (const id of ['a', 'bodiless']) await letter(w, id);
    expect(await denials(w, 'remove')).toEqual(['claim: belongs to republish']);
    for (let turn = 0; turn < 2; turn += 1) await run(w, 'remove');
    expect(deleted(w)).toEqual(['bodiless']);
  });
});

/** Output of `opsd explain` for an id. */
import { describe, expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { Explained } from '#automate/ledger/commands.ts';
import { policyOf as anyPolicy } from '../../support/policies.ts';
import {
  deadLetter,
  HOUR,
  MINUTE,
  NEVER,
  policyOf,
  run,
  START,
  world,
  type World,
  pendingPlans,
  ran,
} from './world.ts';

const ME = { by: 'tom', reason: 'looked' };

async function explained(w: World, id: string): Promise<Explained> {
  const said = await w.engine.explain(id, NEVER);
  if (!said.ok) throw new Error(said.message);
  return said;
}

const verdictOn = async (w: World, id: string): Promise<unknown> => (await explained(w, id)).policies[0];

describe('what each policy would do', () => {
  test('with an entry, by its id or that of its run', async () => {
    const w = world({ guards: GUARDS });
    w.dlq.add();
    w.dlq.add({ labels: ['billing', 'legal-hold'] });
    w.dlq.add({ responseStatus: 400 });
    w.dlq.add();
    w.observe();
    const subject = { account: 'production', in: 'workflow-dlq', dlqId: 'dlq-001', workflowRunId: 'wfr-1' };
    const chosen = { subject, policies: [{ policy: 'resume-billing', verdict: 'chosen' }], actions: [] };
    expect(await explained(w, 'dlq-001')).toMatchObject(chosen);
    expect(await explained(w, 'wfr-1')).toMatchObject(chosen);
    const guarded = { verdict: 'left_out', denial: { guard: 'protected', reason: 'legal-hold' } };
    expect(await verdictOn(w, 'wfr-2')).toMatchObject(guarded);
    expect(await verdictOn(w, 'dlq-003')).toMatchObject({ verdict: 'left_out', denial: { guard: 'where' } });
    expect(await verdictOn(w, 'dlq-004')).toMatchObject({ verdict: 'later', denial: { guard: 'ramp' } });
    await run(w);
    const { policies, actions } = await explained(w, 'dlq-001');
    expect(policies).toMatchObject([{ verdict: 'not_listed' }]);
    expect(actions).toMatchObject([{ proposal: { target: 'dlq-001' } }]);
  });

  test('names the group’s own hold, not that of another', async () => {
    const w = world({ guards: GUARDS, entries: [{ workflowUrl: 'https://down.example.com/w' }, {}, {}] });
    const down = (host: string) => (host === 'down.example.com' ? { delivered: 0, all: 40 } : undefined);
    w.facts = { deliveries: (_account, host) => down(host) };
    expect(await verdictOn(w, 'dlq-001')).toMatchObject({ verdict: 'later', denial: { guard: 'destination' } });
    expect(await verdictOn(w, 'dlq-003')).toMatchObject({
      verdict: 'later',
      denial: { guard: 'ramp', measured: 'a later step' },
    });
  });

  test.each([
    [{ anyLabel: ['other', 'more'] }, 'anyLabel: none of other, more'],
    [{ workflowUrl: ['https://x.example/w'] }, 'workflowUrl: none of https://x.example/w'],
    [{ callerIp: ['203.0.113.7'] }, 'callerIp: none of 203.0.113.7'],
    [{ failedWithin: '30m' }, 'failedWithin: it failed at 2025-11-20T11:00:00.001Z'],
    [{ failedBefore: '2h' }, 'failedBefore: it failed at 2025-11-20T11:00:00.001Z'],
  ])('names the filter of select that denies an entry: %j', async (select, reason) => {
    const w = world({ policy: { select: { resource: 'workflow-dlq', ...select } }, entries: 1 });
    expect(await verdictOn(w, 'dlq-001')).toMatchObject({ verdict: 'left_out', denial: { guard: 'select', reason } });
  });

  test.each([
    [{ mode: 'audit' }, { guard: 'mode', measured: 'the mode is audit' }],
    [{ mode: 'off' }, { guard: 'mode', measured: 'the mode is off' }],
    [{ mode: 'approve' }, { guard: 'approval', measured: 'the plan waits for approval by an operator' }],
  ])('does not claim to act where it would send nothing: %j', async (policy, denial) => {
    const w = world({ policy, guards: GUARDS, entries: 2 });
    expect(await verdictOn(w, 'dlq-001')).toMatchObject({ verdict: 'stopped', denial });
    expect(await verdictOn(w, 'dlq-002')).toMatchObject({ verdict: 'stopped', denial });
  });

  test('names the guard that holds the plan before the missing approval, and the mode before both', async () => {
    const w = world({ policy: { mode: 'approve' }, guards: GUARDS, entries: 1 });
    w.facts = { deliveries: () => ({ delivered: 0, all: 40 }) };
    expect(await verdictOn(w, 'dlq-001')).toMatchObject({ denial: { guard: 'destination' } });
    w.restart({ ceiling: 'audit' });
    expect(await verdictOn(w, 'dlq-001')).toMatchObject({ verdict: 'stopped', denial: { guard: 'mode' } });
  });

  test('counts approved actions', async () => {
    const w = await ran({ policy: { mode: 'approve' }, entries: 1 });
    const [pending] = await pendingPlans(w);
    await w.engine.approve(pending!.plan.id, ME);
    expect(await verdictOn(w, 'dlq-001')).toMatchObject({ verdict: 'chosen' });
  });

  test('is stopped while the policy is paused', async () => {
    const w = world({ entries: 1 });
    await w.engine.pause({ ...ME, reason: 'odd' });
    const denial = { guard: 'kill_switch', measured: 'odd', remedy: '`opsd unpause --reason TEXT` lifts it' };
    expect(await verdictOn(w, 'dlq-001')).toMatchObject({ verdict: 'stopped', denial });
  });

  test('is stopped by the guard that keeps the run from reading, whatever the reading shows', async () => {
    const w = world({ guards: GUARDS, entries: [{}, { workflowUrl: '' }] });
    expect(await verdictOn(w, 'dlq-001')).toMatchObject({ denial: { guard: 'implausible_data' } });
    await w.engine.pause({ ...ME, reason: 'odd' });
    expect(await verdictOn(w, 'dlq-001')).toMatchObject({ verdict: 'stopped', denial: { guard: 'kill_switch' } });
  });

  test('evaluates only the policies of its account', async () => {
    const w = world({ policies: [policyOf(), policyOf({ name: 'elsewhere', account: 'staging' })], entries: 1 });
    expect((await explained(w, 'dlq-001')).policies.map(({ policy }) => policy)).toEqual(['resume-billing']);
  });
});

describe('a message', () => {
  const deleting = (select: object = {}) =>
    anyPolicy('message-dlq.delete', {
      name: 'delete-gone',
      account: 'production',
      mode: 'enforce',
      select: { resource: 'message-dlq', ...select },
    });

  async function withDeadLetter(select?: object): Promise<World> {
    const w = world({ policies: [policyOf(), deleting(select)] });
    const dead = { messageId: 'msg-1', learnedAt: START - HOUR, status: 410, labels: ['billing'] };
    await deadLetter(w, 'dlq-m1', { ...dead, url: 'https://a.example/hook' });
    return w;
  }

  test.each(['msg-1', 'dlq-m1'])('that a failure callback named is explained by %s', async (id) => {
    const w = await withDeadLetter({ url: ['https://b.example/hook'] });
    expect(await explained(w, id)).toMatchObject({
      subject: { account: 'production', in: 'message-dlq', dlqId: 'dlq-m1', messageId: 'msg-1' },
      policies: [{ policy: 'delete-gone', verdict: 'left_out', denial: { guard: 'select', reason: 'url' } }],
    });
  });

  test('of a failed run is explained as the run', async () => {
    const w = world({ entries: 1 });
    w.dlq.log.push({ time: START - MINUTE, messageId: 'msg-7', labels: [] });
    w.dlq.log.push({ time: START - MINUTE, messageId: 'msg-8', labels: [], workflowRunId: 'wfr-1' });
    expect(await explained(w, 'msg-8')).toMatchObject({
      subject: { in: 'workflow-dlq', dlqId: 'dlq-001', workflowRunId: 'wfr-1', messageId: 'msg-8' },
      policies: [{ verdict: 'chosen' }],
    });
    expect(await explained(w, 'msg-7')).toMatchObject({
      subject: { account: 'production', in: 'log', messageId: 'msg-7' },
      policies: [{ verdict: 'not_listed' }],
    });
  });
});

describe('an unknown id', () => {
  test('is rejected', async () => {
    const w = world({ entries: 1 });
    const said = await w.engine.explain('nosuch', NEVER);
    expect(said).toMatchObject({ ok: false, code: 'unknown_id' });
    expect(!said.ok && said.message).toMatch(/^The id nosuch is unknown: .* \(accounts: production\)\.$/);
  });

  test.each([
    ['the DLQ', (w: World) => void (w.dlq.failOnPage = 0), 'the workflow DLQ of production'],
    ['the log', (w: World) => void (w.dlq.failsLog = true), 'the message log of production'],
  ])('is not called unknown while %s cannot be read', async (_what, fail, named) => {
    const w = world();
    fail(w);
    const said = await w.engine.explain('nosuch', NEVER);
    expect(said).toMatchObject({ ok: false, code: 'unread' });
    expect(!said.ok && said.message).toContain(named);
  });
});

test('a held plan lists the entries that wait, the first 50', async () => {
  const w = world({ entries: 60 });
  w.facts = { deliveries: () => ({ delivered: 0, all: 40 }) };
  const planned = await w.engine.plan('resume-billing', { by: 'tom', keep: false }, NEVER);
  if (!planned.ok) throw new Error(planned.message);
  const { state, chosen, deferred } = planned.plan;
  expect([state, chosen, deferred?.length, deferred?.[0]?.target]).toEqual(['held', [], 50, 'dlq-001']);
});

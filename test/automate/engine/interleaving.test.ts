/** What else happens while the engine waits for the store. */
import { expect, test } from 'vitest';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { heldBack } from '../../support/held-back.ts';
import { NEVER, policyOf, run, sentIds, world } from './world.ts';

const KIM = { reason: 'release night', by: 'kim' };

test('a pause that cannot be stored, because its engine was replaced meanwhile, holds the next engine', async () => {
  const { port: ledger, waiting } = heldBack(memoryLedger(), 'pause');
  const w = world({ ledger });
  const paused = w.engine.pause(KIM);
  w.restart({ unwrittenPauses: w.engine.unwrittenPauses() });
  waiting[0]!.fail(new Error('disk full'));
  await paused;
  w.dlq.add();
  await run(w);
  expect(sentIds(w)).toEqual([]);
  expect(w.lastRun()).toMatchObject({ outcome: 'held', stopped: { guard: 'kill_switch' } });
});

test('a stop during the reading of the pauses keeps the next request from being sent', async () => {
  const stopping = new AbortController();
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'pauses', () => w.dlq.sent.length === 1);
  const w = world({ ledger });
  w.dlq.add();
  w.dlq.add();
  const ended = run(w, stopping.signal);
  await expect.poll(() => waiting.length).toBe(1);
  stopping.abort(new Error('the daemon stops'));
  release();
  await ended;
  expect(sentIds(w)).toHaveLength(1);
  expect(w.lastRun()).toMatchObject({ outcome: 'halted', stopped: { guard: 'interrupted' } });
});

test('the statuses of all policies read the pauses once', async () => {
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'pauses');
  const w = world({ ledger, policies: ['a', 'b', 'c'].map((name) => policyOf({ name })) });
  const statuses = w.engine.statuses();
  expect(waiting).toHaveLength(1);
  release();
  expect(await statuses).toHaveLength(3);
  expect(waiting).toHaveLength(1);
});

test('a pause of a manual plan that is applied during a review is not lifted by the review', async () => {
  const { port: ledger, waiting, release } = heldBack(memoryLedger(), 'pauses', () => isReviewing);
  let isReviewing = false;
  const w = world({ ledger, policies: [] });
  w.dlq.add();
  const selection = { action: 'resume', label: ['billing'] } as const;
  const made = await w.engine.planManually({ by: 'ann', reason: 'outage over', selection }, NEVER);
  if (!made.ok) throw new Error(made.message);
  isReviewing = true;
  const settled = w.engine.settle(NEVER);
  await expect.poll(() => waiting.length).toBe(1);
  const applied = w.engine.apply(made.plan.id, KIM, NEVER);
  await w.engine.pause({ ...KIM, policy: made.plan.policy });
  release();
  await Promise.all([settled, applied]);
  expect(sentIds(w)).toEqual([]);
  expect(await w.ledger.pauses()).toMatchObject([{ scope: `policy/${made.plan.policy}` }]);
});

/** Steps of campaigns while they are being sent. */
import { expect, test } from 'vitest';
import { GUARDS } from '../../src/guardrails/index.ts';
import { MINUTE, NEVER, run, sentIds, world } from './world.ts';

test('a step is judged when it is whole, though its first entries are known to have failed before', async () => {
  const w = world({ policy: { ramp: { start: 3 } }, guards: GUARDS });
  for (let i = 0; i < 3; i++) w.dlq.add();
  w.facts = { resumeEnded: (_account, _message, end) => end === 'failed' };
  w.dlq.onResume = async (dlqId) => {
    if (dlqId === 'dlq-003') await w.engine.settle(NEVER);
  };
  const changes = () => w.events.filter(({ type }) => type === 'campaign.changed');
  await run(w);
  expect(sentIds(w)).toHaveLength(3);
  expect(changes()).toEqual([]);
  expect(w.ledger.campaigns()).toMatchObject([{ state: 'settling', step: 1, judged: 0 }]);
  await w.engine.settle(NEVER);
  expect(changes()).toMatchObject([{ state: 'halted' }]);
  expect(w.ledger.campaigns()).toMatchObject([{ state: 'halted', halts: 1, judged: 3 }]);
});

test.each([
  ['enforce', [], ['dlq-001']],
  ['approve', ['resume-billing'], ['dlq-001', 'dlq-002', 'dlq-003', 'dlq-004']],
])('a policy by hand in %s goes on by itself as far as a person approved', async (mode, soon, ids) => {
  const w = world({ policy: { mode, on: { hand: true } }, guards: GUARDS });
  for (let i = 0; i < 4; i++) w.dlq.add();
  const planned = await w.engine.plan('resume-billing', { by: 'tom', save: true }, NEVER);
  if (planned.ok) await w.engine.apply(planned.plan.id, { by: 'tom' }, NEVER);
  w.dlq.add();
  await w.clock.advance(6 * MINUTE);
  await w.engine.settle(NEVER);
  expect(w.ledger.campaigns()).toMatchObject([{ state: 'ready', step: 2 }]);
  expect(w.soon).toEqual(soon);
  for (const policy of w.soon) await run(w, NEVER, policy);
  expect(sentIds(w)).toEqual(ids);
});

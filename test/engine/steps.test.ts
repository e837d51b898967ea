/** Steps of campaigns while they are being sent. */
import { expect, test } from 'vitest';
import { GUARDS } from '../../src/guardrails/index.ts';
import { NEVER, run, sentIds, world } from './world.ts';

test('a step is judged when it is whole, though its first entries are known to have failed before', async () => {
  const w = world({ policy: { ramp: { start: 3 } }, guards: GUARDS });
  for (let i = 0; i < 3; i++) w.dlq.add();
  w.facts = { failedAgain: () => true };
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

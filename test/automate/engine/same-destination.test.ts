/** Groups of one destination: where little is known of it, their canaries go one after the other. */
import { expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { Guard } from '#automate/guardrails/guard.ts';
import { MINUTE, NEVER, planOf, run, sentIds, world, type World } from './world.ts';

/** The daemon has not watched for long enough. */
const UNKNOWN = { deliveries: () => undefined };

const workflow = (host: string, number: number) => `https://${host}/api/workflow-${number}`;

function failedRuns(groups: number, host = 'app.example.com', guards: readonly Guard[] = GUARDS): World {
  const w = world({ guards });
  w.facts = UNKNOWN;
  for (let number = 0; number < groups; number++) w.dlq.add({ workflowUrl: workflow(host, number) });
  return w;
}

/** The resumed runs have failed again, and the log shows it. */
async function allFail(w: World): Promise<void> {
  w.facts = { ...UNKNOWN, resumeEnded: (_account, _message, end) => end === 'failed' };
  await w.engine.settle(NEVER);
}

test('one canary goes to a destination, however many groups it has', async () => {
  const w = failedRuns(20);
  await run(w);
  expect(sentIds(w)).toHaveLength(1);
  await run(w);
  expect(sentIds(w)).toHaveLength(1);
  const held = (await planOf(w)).campaigns.flatMap(({ held: reason }) => reason ?? []);
  expect(held).toContainEqual({ guard: 'destination', reason: 'not known; the canary of another group decides' });
});

test('each destination has a canary of its own', async () => {
  const w = failedRuns(20);
  for (let number = 0; number < 20; number++) w.dlq.add({ workflowUrl: workflow('other.example.com', number) });
  await run(w);
  expect(sentIds(w)).toEqual(['dlq-001', 'dlq-021']);
});

test('after three canaries that came back no other group tries until a breaker has run out', async () => {
  const w = failedRuns(20);
  for (let round = 0; round < 10; round++) {
    await run(w);
    await allFail(w);
    await w.clock.advance(MINUTE);
  }
  expect(sentIds(w)).toHaveLength(3);
  const held = (await planOf(w)).campaigns.flatMap(({ held: reason }) => reason ?? []);
  expect(held).toContainEqual({ guard: 'destination', reason: 'not known; canaries of 3 other groups came back' });
  await w.clock.advance(30 * MINUTE);
  await run(w);
  expect(sentIds(w)).toHaveLength(4);
});

test('a verified canary lets the other groups send theirs', async () => {
  const w = failedRuns(20);
  await run(w);
  await w.clock.advance(6 * MINUTE);
  await w.engine.settle(NEVER);
  expect(w.ledger.campaigns()).toMatchObject([{ state: 'ready', verified: 1 }]);
  await run(w);
  expect(sentIds(w)).toHaveLength(20);
});

test('without the guard each group sends a canary', async () => {
  const w = failedRuns(
    20,
    'app.example.com',
    GUARDS.filter(({ name }) => name !== 'destination'),
  );
  await run(w);
  expect(sentIds(w)).toHaveLength(20);
});

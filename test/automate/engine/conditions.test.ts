/**
 * Notifications of lasting conditions: one when the condition starts and one when it is resolved, also across restarts.
 */
import { expect, test } from 'vitest';
import type { Condition } from '#automate/ledger/commands.ts';
import { NEVER, START, world, type World } from './world.ts';

/** Returns key and end of each condition, in order. */
function told(w: World): string[] {
  return w.events.flatMap((event) =>
    event.type === 'notification' ? [`${event.key} ${event.isResolved ? 'ends' : 'begins'}`] : [],
  );
}

function condition(key: string, policy: string): Condition {
  return { key, policy, severity: 'warning', summary: 's', detail: 'd', since: START - 60_000 };
}

test('a condition of an earlier process stays active, is not raised again, and is resolved when it ends', async () => {
  const w = world();
  w.pause = 'PAUSE exists';
  w.engine.restore([{ ...condition('held/resume-billing', 'resume-billing'), severity: 'info', guard: 'kill_switch' }]);
  expect(w.engine.conditions()).toMatchObject([{ key: 'held/resume-billing', since: START - 60_000 }]);
  await w.engine.run('resume-billing', NEVER);
  expect(told(w)).toEqual([]);
  w.pause = undefined;
  await w.engine.run('resume-billing', NEVER);
  expect(told(w)).toEqual(['held/resume-billing ends']);
});

test('a condition of a removed policy is resolved by the first settling', async () => {
  const w = world();
  w.engine.restore([
    condition('held/gone', 'gone'),
    condition('halted/gone/https://x', 'gone'),
    condition('held/resume-billing', 'resume-billing'),
    condition('held/manual:aaaaaaaaaa', 'manual:aaaaaaaaaa'),
  ]);
  await w.engine.settle(NEVER);
  expect(told(w).slice(0, 3)).toEqual(['held/gone ends', 'halted/gone/https://x ends', 'held/manual:aaaaaaaaaa ends']);
});

test('a pause is active until it is lifted', async () => {
  const w = world();
  await w.engine.pause({ policy: 'resume-billing', reason: 'release night', by: 'kim' });
  await w.engine.settle(NEVER);
  await w.engine.settle(NEVER);
  expect(told(w)).toEqual(['paused/policy/resume-billing begins']);
  expect(w.engine.conditions()).toMatchObject([
    {
      policy: 'resume-billing',
      account: 'production',
      severity: 'warning',
      detail: expect.stringContaining('release night'),
    },
  ]);
  await w.engine.unpause({ reason: 'done', by: 'kim' });
  await w.engine.settle(NEVER);
  expect(told(w)).toEqual(['paused/policy/resume-billing begins', 'paused/policy/resume-billing ends']);
});

/**
 * Notifications of lasting conditions: one when the condition starts and one when it is resolved, also across restarts.
 */
import { expect, test } from 'vitest';
import type { Condition } from '#automate/ledger/commands.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
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

test('the kill switch is a condition and in the audit log while its file exists, and no command lifts it', async () => {
  const audit = memoryAudit();
  const w = world({ ledger: memoryLedger('here', audit) });
  w.pause = '/etc/PAUSE exists';
  await w.engine.settle(NEVER);
  await w.engine.settle(NEVER);
  expect(told(w)).toEqual(['paused begins']);
  const still = '/etc/PAUSE exists; remove the file to continue';
  expect(w.engine.conditions()).toMatchObject([{ key: 'paused', guard: 'kill_switch', detail: still }]);
  expect(await w.engine.unpause({ reason: 'odd', by: 'kim' })).toBe(0);
  expect(await w.engine.stillPaused()).toBe(still);
  expect(await w.engine.stillPaused('resume-billing')).toBe(still);
  // The next process finds the same file, and no file.
  w.restart();
  await w.engine.settle(NEVER);
  expect(await w.ledger.pauses()).toEqual([]);
  w.pause = undefined;
  w.restart();
  await w.engine.settle(NEVER);
  expect(await w.engine.stillPaused()).toBeUndefined();
  expect(audit.entries).toEqual([
    {
      type: 'pause',
      scope: 'kill_switch',
      reason: '/etc/PAUSE exists',
      by: 'kill switch',
    },
    { type: 'unpause', scopes: ['kill_switch'], reason: 'the file does not exist', by: 'kill switch' },
  ]);
});

test('a policy that is lifted can still be paused with the whole engine', async () => {
  const w = world();
  await w.engine.pause({ reason: 'a freeze', by: 'kim' });
  expect(await w.engine.unpause({ policy: 'resume-billing', reason: 'odd', by: 'kim' })).toBe(0);
  expect(await w.engine.stillPaused('resume-billing')).toBe('a freeze; `opsd unpause --reason TEXT` lifts it');
});

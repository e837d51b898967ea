/** The settings of kept bodies, and their end by schedule. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bodyBytes, keptBodies, scheduleBodies } from '#app/bodies.ts';
import { parseConfig } from '#config/load.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import type { Task } from '#foundation/scheduler/scheduler.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { tempDir } from '../support/temp-dir.ts';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 18, 10);

function configOf(baseDir: string) {
  const account = (name: string, more: object) => ({
    name,
    url: 'https://api.example.com',
    token: 'canary-token-1',
    ...more,
  });
  const text = JSON.stringify({
    accounts: [
      account('sealed', { deadLetters: { bodies: { keep: '2h', maxTotal: '2MiB', keyFile: 'key' } } }),
      account('short', { deadLetters: { bodies: {} }, limits: { dlqRetention: '1h' } }),
      account('off', {}),
    ],
  });
  const loaded = parseConfig(text, { file: 'opsd.yaml', baseDir, env: {} });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

function world(options: { readonly isVerified?: boolean; readonly isLeader?: boolean; readonly ended?: number } = {}) {
  const folder = tempDir();
  writeFileSync(join(folder, 'key'), randomBytes(32).toString('hex'));
  const config = configOf(folder);
  const events = new EventBus();
  const said: OpsEvent[] = [];
  events.subscribe((event) => void said.push(event));
  const calls: unknown[] = [];
  let task: Task | undefined;
  const state = { isBroken: false, left: options.ended ?? 0 };
  const bodies = keptBodies(config, events, systemClock);
  scheduleBodies({
    config,
    bodies,
    events,
    clock: { now: () => NOW, isVerified: () => options.isVerified ?? true },
    scheduler: { add: (added: Task) => void (task = added) },
    storage: {
      replica: options.isLeader === undefined ? undefined : { isLeader: () => options.isLeader },
      ledger: {
        async bodyBytes() {
          if (state.isBroken) throw new Error('disk full');
          return new Map(['sealed', 'off', 'removed'].map((name) => [name, 10]));
        },
        async retainBodies(account: string, limits: object) {
          calls.push([account, limits]);
          return account === 'sealed' ? 2 : 0;
        },
        async endBodies(now: number) {
          calls.push(['end', now]);
          const isLast = state.left-- <= 0;
          return { ended: new Map([['removed', 3]]), more: !isLast };
        },
      },
    },
  } as never);
  return { config, bodies, said, calls, state, run: () => task!.run(new AbortController().signal), task: () => task! };
}

const RETAINED = [
  ['sealed', { keep: 2 * HOUR, maxTotal: 2_097_152 }],
  // Bodies of an account without the setting end.
  ['off', { keep: 0, maxTotal: Infinity }],
];

test('an account without the setting keeps none; a body ends with its dead letter', () => {
  const { settings } = world().bodies;
  expect([...settings.keys()]).toEqual(['sealed', 'short']);
  expect(settings.get('sealed')).toMatchObject({ keep: 2 * HOUR, maxBytes: 1_048_576, maxTotal: 2_097_152 });
  expect(settings.get('short')).toMatchObject({ keep: HOUR, maxTotal: 1_073_741_824 });
  expect(settings.get('short')!.keys).toBeUndefined();
});

test('the use of a key file is reported, once', () => {
  const { bodies, said } = world();
  for (let use = 0; use < 2; use += 1) bodies.settings.get('sealed')!.keys!.reveal();
  expect(said).toMatchObject([{ type: 'credential.read', account: 'sealed', credential: 'deadLetters.bodies.key' }]);
});

test('bytes are those of the accounts that keep bodies, and 0 before the first', async () => {
  const { config, bodies } = world();
  let reads = 0;
  const ledger = {
    async bodyBytes() {
      reads += 1;
      return new Map([
        ['sealed', 7],
        ['other', 9],
      ]);
    },
  };
  expect(await bodyBytes({ config, bodies }, ledger)).toEqual(
    new Map([
      ['sealed', 7],
      ['short', 0],
    ]),
  );
  const off = { ...config, accounts: config.accounts.slice(2) };
  expect(await bodyBytes({ config: off, bodies }, ledger)).toEqual(new Map());
  expect(reads).toBe(1);
});

test('limits are applied, then what ended is deleted, in batches, and counted', async () => {
  const { run, calls, said, task } = world({ ended: 1 });
  expect(task().schedule).toEqual({ every: 600_000 });
  expect(await run()).toEqual({ againInMs: 1_000 });
  expect(calls).toEqual([...RETAINED, ['end', NOW]]);
  expect(said).toEqual([
    { type: 'bodies.dropped', account: 'sealed', reason: 'total', count: 2 },
    { type: 'bodies.dropped', account: 'removed', reason: 'expired', count: 3 },
  ]);
  expect(await run()).toBeUndefined();
});

test('a clock that no response confirms ends nothing', async () => {
  const { run, calls } = world({ isVerified: false });
  expect(await run()).toEqual({ againInMs: 60_000 });
  expect(calls).toEqual([]);
});

test('only the leader of the replicas deletes, and each applies the limits of its accounts', async () => {
  const other = world({ isLeader: false });
  expect(await other.run()).toBeUndefined();
  expect(other.calls).toEqual(RETAINED);
  const leader = world({ isLeader: true });
  await leader.run();
  expect(leader.calls).toEqual([...RETAINED, ['end', NOW]]);
});

test('a failure of the store is reported, and the next run tries again', async () => {
  const { run, state, said, calls } = world();
  state.isBroken = true;
  expect(await run()).toBeUndefined();
  expect(said).toMatchObject([{ type: 'store.failed', operation: 'end of bodies', message: 'disk full' }]);
  state.isBroken = false;
  await run();
  expect(calls).toHaveLength(3);
});

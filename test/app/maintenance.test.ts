import { describe, expect, test } from 'vitest';
import { scheduleBackups, scheduleUpkeep } from '#app/maintenance.ts';
import type { Replica } from '#app/replica.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import type { Task } from '#foundation/scheduler/scheduler.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const HEAD = { sequence: 7, hash: 'ab'.repeat(32) };
const NONE = { intents: 0, runs: 0, plans: 0 };

function world(
  prune: (now: number) => { more: boolean },
  head: typeof HEAD | null = HEAD,
  mustBeAdopted?: string,
  isVerified = true,
  isLeader?: boolean,
) {
  const tasks = new Map<string, Task>();
  const lines: unknown[] = [];
  const conditions: unknown[] = [];
  const replica = { name: 'opsd-0', hasNamesake: false };
  const storeState: { problem: string | undefined; spans?: { host: string; cause: string } } = { problem: undefined };
  const certificates: { listener: string; file: string; notAfter: number }[] = [];
  const events = new EventBus();
  const told: OpsEvent[] = [];
  events.subscribe((event) => void told.push(event));
  scheduleUpkeep({
    scheduler: { add: (task) => void tasks.set(task.name, task) },
    store: {
      problem: () => storeState.problem,
      auditHead: () => head ?? undefined,
      ...(isLeader !== undefined && { replica: Object.assign(replica, { isLeader: () => isLeader }) as Replica }),
    },
    conditions: {
      raise: ({ key, severity, detail }) => void conditions.push([key, severity, detail]),
      resolve: (key) => {
        const isQuiet = key === 'spans' || key === 'certificate';
        if (!isQuiet || String(conditions).includes(key)) conditions.push([key, 'ended']);
      },
    },
    spans: { problem: () => storeState.spans },
    certificates: () => certificates,
    ledger: { prune: async (now) => ({ ...NONE, ...prune(now) }), mustBeAdopted },
    clock: { now: () => NOW, isVerified: () => isVerified },
    events,
    logger: {
      info: (...line: unknown[]) => void lines.push(line),
      warn: (...line: unknown[]) => void lines.push(['warn', ...line]),
    } as never,
  });
  const run = (name: string) => tasks.get(name)!.run(new AbortController().signal);
  return { tasks, lines, told, run, conditions, storeState, replica, certificates };
}

test('the head of the audit log is logged every hour, in the form that opsd audit verify accepts', async () => {
  const { tasks, lines, run } = world(() => ({ more: false }));
  expect(tasks.get('audit-head')!.schedule).toEqual({ every: 3_600_000 });
  await run('audit-head');
  expect(lines).toEqual([[{ head: `7:${HEAD.hash}` }, 'audit log head']]);
});

test('a store that must be adopted is reported at the start and every hour, because the daemon does nothing until then', async () => {
  const { lines, run } = world(() => ({ more: false }), HEAD, 'the store is an old copy');
  await run('audit-head');
  expect(lines[1]).toEqual(['warn', { because: 'the store is an old copy' }, 'policies do not act']);
});

test('a damaged or missing store is a condition until it is back, and one failure of the store', async () => {
  const { tasks, told, run, conditions, storeState } = world(() => ({ more: false }));
  expect(tasks.get('store-watch')).toMatchObject({ schedule: { every: 10_000 } });
  await run('store-watch');
  storeState.problem = '/data/opsd.db was moved';
  await run('store-watch');
  await run('store-watch');
  storeState.problem = undefined;
  await run('store-watch');
  const stands = ['store', 'critical', '/data/opsd.db was moved; policies do not act, and counters do not advance'];
  expect(conditions).toEqual([['store', 'ended'], stands, stands, ['store', 'ended']]);
  expect(told).toEqual([{ type: 'store.failed', operation: 'watch', message: '/data/opsd.db was moved' }]);
});

test('two replicas of one name are a condition until one of them has another', async () => {
  const { run, conditions, replica } = world(() => ({ more: false }), HEAD, undefined, true, true);
  replica.hasNamesake = true;
  await run('store-watch');
  replica.hasNamesake = false;
  await run('store-watch');
  expect(conditions.filter((condition) => String(condition).startsWith('replica-name'))).toEqual([
    ['replica-name', 'warning', expect.stringContaining('(now opsd-0)')],
    ['replica-name', 'ended'],
  ]);
});

test('a certificate that expires within 14 days is a condition, which is critical from then on until it is replaced', async () => {
  const { run, conditions, certificates } = world(() => ({ more: false }));
  const ends = async (...left: number[]): Promise<unknown> => {
    const listeners = ['server', 'hooks'].slice(0, left.length);
    certificates.splice(
      0,
      2,
      ...listeners.map((listener, at) => ({ listener, file: `/tls/${listener}.crt`, notAfter: NOW + left[at]! })),
    );
    conditions.length = 0;
    await run('store-watch');
    return conditions.find((condition) => String(condition).startsWith('certificate'));
  };
  const days = 86_400_000;
  const after = 'clients reject an expired one. Replace certificate and key: the daemon reads both again';
  expect(await ends(14 * days)).toBeUndefined();
  expect(await ends(14 * days - 1)).toEqual([
    'certificate',
    'warning',
    `server: /tls/server.crt expires at 2026-12-04T11:59:59.999Z; ${after}`,
  ]);
  expect(await ends(1, 0)).toEqual([
    'certificate',
    'critical',
    `server: /tls/server.crt expires at 2026-11-20T12:00:00.001Z; hooks: /tls/hooks.crt expired at 2026-11-20T12:00:00.000Z; ${after}`,
  ]);
});

test('an audit log without a record has no head to log', async () => {
  const { lines, run } = world(() => ({ more: false }), null);
  await run('audit-head');
  expect(lines).toEqual([]);
});

test('the ledger removes old records every day, batch after batch', async () => {
  const asked: number[] = [];
  const { tasks, run } = world((now) => ({ more: asked.push(now) === 1 }));
  expect(tasks.get('ledger-retention')!.schedule).toEqual({ every: 86_400_000 });
  expect(await run('ledger-retention')).toEqual({ againInMs: 5_000 });
  expect(await run('ledger-retention')).toBeUndefined();
  expect(asked).toEqual([NOW, NOW]);
});

test('the ledger forgets nothing by a clock that no response of the service confirms', async () => {
  const asked: number[] = [];
  const { run } = world((now) => ({ more: asked.push(now) === 1 }), HEAD, undefined, false);
  expect(await run('ledger-retention')).toEqual({ againInMs: 60_000 });
  expect(asked).toEqual([]);
});

test('of several replicas, one removes old records', async () => {
  for (const isLeader of [true, false]) {
    const asked: number[] = [];
    const { run } = world((now) => ({ more: asked.push(now) === 1 }), HEAD, undefined, true, isLeader);
    expect(await run('ledger-retention')).toEqual({ againInMs: isLeader ? 5_000 : 600_000 });
    expect(asked).toHaveLength(isLeader ? 1 : 0);
  }
});

test('a ledger that cannot be written is reported, and tried again the next day', async () => {
  const { told, run } = world(() => {
    throw new Error('disk full');
  });
  expect(await run('ledger-retention')).toBeUndefined();
  expect(told).toEqual([{ type: 'store.failed', operation: 'retention', message: 'disk full' }]);
});

describe('scheduled backups', () => {
  const EVERY = 86_400_000;
  const signal = new AbortController().signal;

  function backups(newestAt?: number) {
    const clock = new ManualClock(NOW);
    const state = { newest: newestAt === undefined ? undefined : { file: 'old', at: newestAt, bytes: 1 }, error: '' };
    const made: number[] = [];
    const told: unknown[] = [];
    const events = new EventBus();
    events.subscribe((event) => void told.push(event));
    let task: Task | undefined;
    scheduleBackups({
      scheduler: { add: (added) => void (task = added) },
      folder: {
        get newest() {
          return state.newest;
        },
        look: () => undefined,
        async add() {
          if (state.error !== '') throw new Error(state.error);
          made.push(clock.now());
          return { file: 'new', at: clock.now(), bytes: 5 };
        },
      },
      every: EVERY,
      conditions: {
        raise: ({ key, severity }) => void told.push(['stands', key, severity]),
        resolve: (key) => void told.push(['ended', key]),
      },
      clock,
      events,
      logger: { info: () => undefined, warn: () => undefined } as never,
    });
    const after = async (ms: number): Promise<void> => {
      await clock.advance(ms);
      await task!.run(signal);
    };
    return { after, made, told, state, task: task! };
  }

  test('the first one is due at once without a copy, and the next ones after the interval', async () => {
    const { after, made, task } = backups();
    expect(task).toMatchObject({ schedule: { every: 60_000 } });
    await after(0);
    await after(EVERY - 1);
    await after(1);
    expect(made).toEqual([NOW, NOW + EVERY]);
  });

  test('a restart delays nothing: the newest copy determines the next one', async () => {
    const { after, made } = backups(NOW - EVERY + 3_600_000);
    await after(3_599_999);
    expect(made).toEqual([]);
    await after(1);
    expect(made).toHaveLength(1);
  });

  test('a copy with a future time is no reason to wait', async () => {
    const { after, made } = backups(NOW + 900 * EVERY);
    await after(0);
    expect(made).toHaveLength(1);
  });

  test('a failure is reported and counted, retried soon, and resolved by the next success', async () => {
    const { after, made, told, state } = backups();
    state.error = 'no space left on device';
    await after(0);
    expect(told).toEqual([
      { type: 'backup.failed', message: 'no space left on device' },
      ['stands', 'backup', 'warning'],
    ]);
    await after(599_999);
    expect(told).toHaveLength(2);
    state.error = '';
    await after(1);
    expect(made).toHaveLength(1);
    expect(told.at(-1)).toEqual(['ended', 'backup']);
  });
});

test('a receiver of spans that fails for long is a condition with host and cause, until it accepts them', async () => {
  const { run, conditions, storeState } = world(() => ({ more: false }));
  storeState.spans = { host: 'otlp.example:4318', cause: 'nothing listens there (ECONNREFUSED)' };
  await run('store-watch');
  expect(conditions).toContainEqual(['spans', 'warning', expect.stringMatching(/otlp\.example:4318: nothing listens/)]);
  delete storeState.spans;
  await run('store-watch');
  expect(conditions).toContainEqual(['spans', 'ended']);
});

/** Leases over a real database whose clock the test sets. */
import { join } from 'node:path';
import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { returnToPostgres } from '#storage/copy/return-store.ts';
import { moveToSqlite } from '#storage/copy/store-copy.ts';
import { all, run } from '#storage/database.ts';
import { openLeaseConnection } from '#storage/postgres/connections.ts';
import { connectionName, createLeaseTable } from '#storage/postgres/lease-table.ts';
import { Leases } from '#storage/postgres/leases.ts';
import { replicaFor } from '#storage/postgres/rendezvous.ts';
import { cuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import { LEASE_MS, LeaseWorld, type Line, type Replica } from '../../support/postgres/lease-world.ts';
import { SERVERS, type ServerName } from '../../support/postgres/servers.ts';
import { migratedUrl, opened } from '../../support/postgres/test-databases.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

const ACCOUNTS = ['production', 'staging', 'test'];

async function worldOn(server: ServerName, accounts = ACCOUNTS): Promise<LeaseWorld> {
  const world = await LeaseWorld.create(await migratedUrl(server), accounts);
  onTestFinished(() => world.close());
  return world;
}

/** Returns a world with a replica that has had its first heartbeat. */
async function acting(server: ServerName, accounts = ACCOUNTS) {
  const world = await worldOn(server, accounts);
  const one = await world.replica('one');
  await one.beat();
  return { world, one };
}

/** Leases of one replica whose clock is not that of the database. */
function leasesOn(url: string, clock: ManualClock, leaseMs: number): Leases {
  return new Leases({
    table: createLeaseTable(),
    connect: () => openLeaseConnection({ url: Secret.of(url), name: 'one', timeoutMs: 60_000 }),
    clock,
    name: 'one',
    session: 'session',
    leaseMs,
    accounts: () => ACCOUNTS,
    onReturn: () => undefined,
    onTaken: () => undefined,
    onLost: async () => undefined,
  });
}

/** Returns two replicas: first the one that takes the account once both are there. */
async function replicasOf(world: LeaseWorld, account: string): Promise<readonly [Replica, Replica]> {
  const names = ['a', 'b'];
  const preferred = replicaFor(
    account,
    names.map((name) => ({ id: name, name })),
  )!;
  const other = names.find((name) => name !== preferred)!;
  return [await world.replica(preferred), await world.replica(other)];
}

describe.each(SERVERS.filter((name) => name === 'PostgreSQL'))('%s, with several sessions', (server) => {
  test('the connections of a dead replica end, and its locks with them', async () => {
    const world = await worldOn(server);
    const one = await world.replica('one');
    const other = await world.replica('other');
    await one.beat();
    // A network that swallows everything: the server learns nothing of the end of the process.
    const open = async (session: string): Promise<pg.Client> => {
      const client = new pg.Client({
        connectionString: world.databaseUrl,
        application_name: connectionName(session, 'one'),
      });
      client.on('error', () => undefined);
      await client.connect();
      await client.query(`BEGIN; SELECT 1 FROM leases WHERE account = 'production' FOR SHARE`);
      return client;
    };
    await open(one.session);
    const restarted = await open('restarted');
    one.isPaused = true;
    await world.advance(LEASE_MS);
    await restarted.query('ROLLBACK');
    await until({ what: 'the lease to be taken' }, async () => {
      await other.beat();
      return ownedBy(other).includes('production');
    });
    expect((await restarted.query('SELECT 1')).rowCount).toBe(1);
    await restarted.end();
  });
});

/** Beats until the replica has the account: a heartbeat does not await the release of what it hands over. */
async function untilActing(world: LeaseWorld, replica: Replica): Promise<void> {
  await until({ what: `${replica.name} to have the account` }, async () => {
    await replica.beat();
    return world.actors('production').includes(replica);
  });
  expect(world.actors('production')).toEqual([replica]);
}

const ownedBy = (replica: Replica): readonly string[] =>
  ACCOUNTS.filter((account) => replica.leases.epochOf(account) !== undefined);

describe.each(SERVERS)('%s', (server) => {
  test('the accounts of a dead replica are taken when its lease has ended', async () => {
    const { world, one } = await acting(server);
    expect(ownedBy(one)).toEqual(ACCOUNTS);
    expect(one.taken).toEqual(ACCOUNTS.map((account) => ({ account, epoch: 1, before: 'none' })));
    one.isPaused = true;
    await world.advance(LEASE_MS - 1);
    const other = await world.replica('other');
    await other.beat();
    expect(ownedBy(other)).toEqual([]);
    await world.advance(1);
    await other.beat();
    expect(ownedBy(other)).toEqual(ACCOUNTS);
    expect(other.taken).toEqual(ACCOUNTS.map((account) => ({ account, epoch: 2, before: 'died' })));
    expect(await one.commit('production', 1)).toBe(false);
    expect(await other.commit('production', 2)).toBe(true);
    one.isPaused = false;
    expect(ownedBy(one)).toEqual([]);
    await one.beat();
    expect(one.leases.problem).toBeUndefined();
  });

  test('two processes with one name are noticed once neither can be a dead one', async () => {
    const world = await worldOn(server);
    const [one, other] = [await world.replica('one'), await world.replica('one')];
    const beats = async (): Promise<readonly boolean[]> => {
      await one.beat();
      await other.beat();
      return [one.leases.hasNamesake, other.leases.hasNamesake];
    };
    await beats();
    for (let passed = 0; passed < LEASE_MS; passed += LEASE_MS / 2) {
      expect(await beats()).toEqual([false, false]);
      await world.advance(LEASE_MS / 2);
    }
    await world.advance(LEASE_MS / 4);
    expect(await beats()).toEqual([true, true]);
    await other.leases.stop();
    await one.beat();
    expect(one.leases.hasNamesake).toBe(false);
  });

  test('a stopping replica hands over at once, after its requests', async () => {
    const { world, one } = await acting(server);
    expect(one.request('production', 20_000)).toBe(true);
    const stopped = one.leases.stop();
    await one.leases.beat();
    const other = await world.replica('other');
    await other.beat();
    expect(one.request('production', 1)).toBe(false);
    expect(ownedBy(other)).toEqual(['staging', 'test']);
    expect(await one.commit('production', one.leases.epochOf('production')!)).toBe(true);
    await world.advance(20_000);
    await stopped;
    await other.beat();
    expect(ownedBy(other)).toEqual(ACCOUNTS);
    expect(other.taken.map(({ before }) => before)).toEqual(ACCOUNTS.map(() => 'handed_over'));
  });

  test('a replica that wakes after the store was moved takes nothing, reports the move, and returns with the store', async () => {
    const { world, one } = await acting(server);
    one.isPaused = true;
    const watch = { onProgress: () => undefined, signal: new AbortController().signal };
    const path = join(tempDir(), 'new.db');
    await moveToSqlite(world.database, path, watch);
    one.isPaused = false;
    for (let beats = 0; beats < 2; beats += 1) {
      await one.beat();
      expect(world.actors('production')).toEqual([]);
      expect(one.leases.problem).toBe(
        `storage.postgres: the store was moved to sqlite:${path}, and this one lacks all later actions. Configure that ` +
          'store. To use this one again, stop the daemons on the other one, and run "opsd state copy --undo --from" with this store.',
      );
    }
    expect(await world.database.read(all('SELECT id FROM replicas'))).toEqual([]);
    await returnToPostgres(world.database);
    await one.beat();
    expect(one.leases.problem).toBeUndefined();
    expect(world.actors('production')).toEqual([one]);
  });

  test('a heartbeat that takes no account because all attempts fail is one failure, and the next one takes them', async () => {
    const world = await worldOn(server);
    const one = await world.replica('one');
    Object.assign(one, { line: 'cut before', skip: 2 });
    await one.beat();
    expect(one.leases.problem).toContain('Connection terminated');
    expect(ownedBy(one)).toEqual([]);
    one.line = 'good';
    await one.beat();
    expect(ownedBy(one)).toEqual(ACCOUNTS);
  });

  test('a replica that begins to stop takes no more accounts', async () => {
    const world = await worldOn(server);
    const one = await world.replica('one');
    let stopped: Promise<void> | undefined;
    one.beforeTaking = async () => {
      stopped = one.leases.stop();
    };
    await one.beat();
    await stopped;
    expect(one.taken).toEqual([]);
  });

  test('a replica without its database stops when its lease ends, and begins again', async () => {
    const { world, one } = await acting(server);
    one.line = 'cut before';
    await world.advance(10_000);
    await one.beat();
    expect(one.leases.problem).toContain('Connection terminated');
    expect(one.leases.outlives('production', 19_999)).toBe(true);
    expect(one.leases.outlives('production', 20_000)).toBe(false);
    await world.advance(20_000);
    expect(ownedBy(one)).toEqual([]);
    one.line = 'good';
    expect(one.returns).toEqual([]);
    await one.beat();
    expect(ownedBy(one)).toEqual(ACCOUNTS);
    await one.beat();
    // Before it takes the first account again.
    expect(one.returns).toEqual([3]);
    expect(one.taken.slice(3).map(({ epoch, before }) => [epoch, before])).toEqual(ACCOUNTS.map(() => [2, 'died']));
    expect(one.leases.problem).toBeUndefined();
  });

  test('a machine that was suspended has no lease until the next heartbeat', async () => {
    const clock = new ManualClock(Date.UTC(2026, 10, 20));
    const leases = leasesOn(await migratedUrl(server), clock, LEASE_MS);
    onTestFinished(() => leases.stop());
    await leases.beat();
    // Only the wall clock advances.
    clock.jump(LEASE_MS - 1);
    expect([leases.outlives('production', 0), leases.outlives('production', 1)]).toEqual([true, false]);
    clock.jump(1);
    expect([leases.epochOf('production'), leases.outlives('production', 0)]).toEqual([undefined, false]);
    await leases.beat();
    expect(leases.epochOf('production')).toBe(1);
  });

  test.each([
    ['first', 0.75],
    ['next', 0.5],
  ])('a lease lasts from when its %s heartbeat was sent', async (nth, passed) => {
    const world = await worldOn(server, ['production']);
    const one = await world.replica('one');
    if (nth === 'next') await one.beat();
    one.line = 'slow';
    await one.beat();
    expect(world.time).toBe(passed * LEASE_MS);
    const left = LEASE_MS - world.time;
    expect([left - 1, left].map((ms) => one.leases.outlives('production', ms))).toEqual([true, false]);
  });

  test('a replica that is taken for dead cannot extend its lease', async () => {
    const { world, one } = await acting(server, ['production']);
    expect(world.actors('production')).toEqual([one]);
    await world.jump(LEASE_MS);
    const other = await world.replica('other');
    other.beforeTaking = async () => {
      // Its heartbeat reaches the database, and nothing after it.
      Object.assign(one, { line: 'cut before', skip: 1 });
      await one.leases.beat();
    };
    await other.beat();
    expect(world.actors('production')).toEqual([other]);
  });

  test('of two replicas that find an account without an owner, one takes it', async () => {
    const world = await worldOn(server, ['production']);
    const [other, one] = await replicasOf(world, 'production');
    // It is the only replica when it reads the leases, and no longer when it takes one.
    one.beforeTaking = () => other.beat();
    await one.beat();
    expect(world.actors('production')).toEqual([other]);
  });

  test('a lease that was taken without a response is used', async () => {
    const { world, one } = await acting(server, ['production']);
    const other = await world.replica('other');
    one.isPaused = true;
    await world.advance(LEASE_MS);
    Object.assign(other, { line: 'cut after', skip: 2 });
    await other.beat();
    expect(ownedBy(other)).toEqual([]);
    other.line = 'good';
    await other.beat();
    expect(other.leases.epochOf('production')).toBe(3);
  });

  test('heartbeats continue by themselves, by the clock of the database', async () => {
    const url = await migratedUrl(server);
    const clock = new ManualClock(0);
    const leases = leasesOn(url, clock, 3_600_000);
    await leases.start();
    for (let beats = 0; beats < 8; beats += 1) {
      await clock.advance(600_000);
      // The timers of the next heartbeat and of the end of the lease.
      await until({ what: 'a heartbeat' }, () => leases.outlives('production', 3_600_000 - 1) && clock.timers === 2);
    }
    await leases.stop();
    expect(leases.epochOf('production')).toBeUndefined();
    expect(clock.timers).toBe(0);
    expect(await opened(url).read(all('SELECT id FROM replicas'))).toEqual([]);
  });

  test('an account that is no longer configured is released', async () => {
    const { world, one } = await acting(server);
    world.accounts = ACCOUNTS.slice(1);
    await one.beat();
    await one.beat();
    expect(ownedBy(one)).toEqual(['staging', 'test']);
    await one.beat();
    expect(one.leases.all.get('production')).toMatchObject({ owner: null, epoch: 1 });
  });

  test('an account goes only to a replica that configures it, whichever hashing prefers', async () => {
    const world = await worldOn(server, ['production']);
    const [preferred, other] = await replicasOf(world, 'production');
    preferred.accounts = [];
    await preferred.beat();
    await other.beat();
    expect(world.actors('production')).toEqual([other]);
    // The configuration of the other one adds it, as during an upgrade.
    preferred.accounts = ['production'];
    await preferred.beat();
    await other.beat();
    await untilActing(world, preferred);
    preferred.accounts = [];
    await preferred.beat();
    await untilActing(world, other);
    expect(other.taken.map(({ before }) => before)).toEqual(['none', 'handed_over']);
  });

  test('an account that no replica configures has no owner, and a replica knows what the others configure', async () => {
    const world = await worldOn(server, ['production']);
    const [one, other] = await replicasOf(world, 'production');
    await one.beat();
    one.accounts = [];
    other.accounts = ['staging'];
    for (const replica of [other, one, other, one]) await replica.beat();
    expect(world.actors('production')).toEqual([]);
    expect([...one.leases.configured]).toEqual(['staging']);
  });

  test('an account whose work is stopping is taken again only afterwards', async () => {
    const { world, one } = await acting(server, ['production']);
    expect(one.request('production', 20_000)).toBe(true);
    await world.forget(one);
    await one.beat();
    expect(one.taken).toHaveLength(1);
    await world.advance(20_000);
    await one.beat();
    expect(one.taken.map(({ epoch, before }) => [epoch, before])).toEqual([
      [1, 'none'],
      [2, 'died'],
    ]);
  });

  test('an account whose work is stopping is not released before', async () => {
    const world = await worldOn(server, ['production']);
    const [preferred, other] = await replicasOf(world, 'production');
    await other.beat();
    other.isBusy = true;
    other.line = 'cut before';
    await world.advance(LEASE_MS);
    other.line = 'good';
    // It extends its lease before another replica finds it expired.
    await other.beat();
    await preferred.beat();
    await other.beat();
    await preferred.beat();
    expect([...other.taken, ...preferred.taken]).toHaveLength(1);
    other.isBusy = false;
    other.wake();
    await other.beat();
    await preferred.beat();
    expect(preferred.taken).toEqual([{ account: 'production', epoch: 2, before: 'handed_over' }]);
  });

  test('a release that failed is repeated', async () => {
    const world = await worldOn(server, ['production']);
    const [preferred, other] = await replicasOf(world, 'production');
    await other.beat();
    await preferred.beat();
    Object.assign(other, { line: 'cut before', skip: 2 });
    await other.beat();
    other.line = 'good';
    await preferred.beat();
    expect(preferred.taken).toEqual([]);
    await other.beat();
    await preferred.beat();
    expect(preferred.taken).toEqual([{ account: 'production', epoch: 2, before: 'handed_over' }]);
  });

  test('a lease that the database no longer has is lost', async () => {
    const { world, one } = await acting(server, ['production']);
    await world.database.transaction(run('UPDATE leases SET epoch = 0, owner = NULL'));
    await one.beat();
    expect(world.actors('production')).toEqual([]);
    await one.beat();
    expect(world.actors('production')).toEqual([one]);
  });

  test('after a jump of the clock of the database, no live replica is taken for dead', async () => {
    const world = await worldOn(server);
    const replicas = [await world.replica('one'), await world.replica('other')];
    const beat = async (...beating: Replica[]): Promise<void> => {
      await world.advance(LEASE_MS / 6);
      for (const replica of beating) await replica.beat();
    };
    for (let round = 0; round < 4; round += 1) await beat(...replicas);
    const taken = replicas.map((replica) => replica.taken.length);
    const owned = replicas.map(ownedBy);
    expect(owned.flat()).toHaveLength(ACCOUNTS.length);
    for (const jump of [60_000, -60_000, 60_000]) {
      await world.jump(jump);
      for (let round = 0; round < 8; round += 1) await beat(...replicas);
    }
    expect(replicas.map(ownedBy)).toEqual(owned);
    expect(replicas.map((replica) => replica.taken.length)).toEqual(taken);
    // A replica that dies at the jump is found dead a lease later.
    const [one, other] = replicas as [Replica, Replica];
    one.isPaused = true;
    await world.jump(60_000);
    for (let round = 0; round < 6; round += 1) await beat(other);
    expect(ownedBy(other)).toEqual(owned[1]);
    await beat(other);
    expect(ownedBy(other)).toEqual(ACCOUNTS);
  });

  test('a replica without its database stops its work before it ends', async () => {
    const { world, one } = await acting(server, ['production']);
    expect(one.request('production', 20_000)).toBe(true);
    one.line = 'cut before';
    const stopped = one.leases.stop();
    await one.leases.beat();
    expect(world.actors('production')).toEqual([]);
    await world.advance(20_000);
    await stopped;
  });

  test('after a failed heartbeat, the next one has another connection', async () => {
    const proxy = await cuttingProxy(await migratedUrl(server));
    const leases = leasesOn(proxy.url, new ManualClock(0), LEASE_MS);
    await leases.beat();
    proxy.cut('UPDATE replicas', 'before');
    await leases.beat();
    expect(leases.problem).toContain(new URL(proxy.url).host);
    await leases.beat();
    expect(leases.problem).toBeUndefined();
    await leases.stop();
  });

  test.each([
    ['processes that start again', restart],
    ['jumps of the clock of the database', jump],
  ])(
    'random schedules with %s: one owner by epoch, one replica that acts, an owner at the end',
    async (_what, special) => {
      const url = await migratedUrl(server);
      expect.hasAssertions();
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.oneof({ weight: 22, arbitrary: step }, special), { minLength: 10, maxLength: 40 }),
          async (steps) => {
            const world = await LeaseWorld.create(url, ACCOUNTS);
            try {
              for (const replica of [
                await world.replica('a', 60_000),
                await world.replica('b', -60_000),
                await world.replica('c'),
              ])
                await replica.beat();
              for (const one of steps) {
                await perform(world, one);
                assertOneActor(world);
              }
              await assertHistory(world);
              await assertOwners(world);
            } finally {
              await world.close();
            }
          },
        ),
        // PGlite has one session, so that its statements do not interleave.
        { numRuns: server === 'PGlite' ? 3 : 10 },
      );
    },
  );
});

const who = fc.nat(2);
const account = fc.constantFrom(...ACCOUNTS);

type Step =
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'beat'; readonly who: readonly number[] }
  | { readonly kind: 'line'; readonly who: number; readonly line: Line; readonly skip: number }
  | { readonly kind: 'pause'; readonly who: number; readonly isPaused: boolean }
  | { readonly kind: 'request'; readonly who: number; readonly account: string; readonly ms: number }
  | { readonly kind: 'commit'; readonly who: number; readonly account: string; readonly nth: number }
  | { readonly kind: 'stop'; readonly who: number }
  | { readonly kind: 'jump'; readonly ms: number }
  | { readonly kind: 'configure'; readonly who: number; readonly accounts: readonly string[] };

const restart: fc.WeightedArbitrary<Step> = {
  weight: 1,
  arbitrary: fc.record({ kind: fc.constant('stop' as const), who }),
};

const jump: fc.WeightedArbitrary<Step> = {
  weight: 1,
  arbitrary: fc.record({ kind: fc.constant('jump' as const), ms: fc.constantFrom(60_000, -60_000, LEASE_MS / 3) }),
};

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('beat' as const), who: fc.uniqueArray(who, { minLength: 1 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: LEASE_MS }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('line' as const),
      who,
      line: fc.constantFrom<Line[]>('good', 'cut before', 'cut after', 'slow'),
      skip: fc.nat(4),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pause' as const), who, isPaused: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('request' as const),
      who,
      account,
      ms: fc.integer({ min: 0, max: LEASE_MS }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('commit' as const), who, account, nth: fc.nat(5) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('configure' as const),
      who,
      accounts: fc.subarray(ACCOUNTS),
    }),
  },
);

/** Each act of a replica that the world allows. A stopped replica is replaced by a new process of the same name. */
async function perform(world: LeaseWorld, one: Step): Promise<void> {
  if (one.kind === 'jump') return world.jump(one.ms);
  if (one.kind === 'advance') return world.advance(one.ms);
  if (one.kind === 'beat') return void (await Promise.all(one.who.map((nth) => world.replicas.at(nth - 3)!.beat())));
  const replica = world.replicas.at(one.who - 3)!;
  if (one.kind === 'line') Object.assign(replica, { line: one.line, skip: one.skip });
  if (one.kind === 'pause') {
    replica.isPaused = one.isPaused;
    replica.wake();
  }
  if (one.kind === 'configure') replica.accounts = one.accounts;
  if (one.kind === 'request') replica.request(one.account, one.ms);
  if (one.kind === 'commit') {
    // A commit may be late: it uses any epoch that this process ever had.
    const epochs = replica.taken.filter((taken) => taken.account === one.account).map(({ epoch }) => epoch);
    const epoch = epochs.at(-1 - (one.nth % Math.max(1, epochs.length)));
    if (epoch !== undefined) await replica.commit(one.account, epoch);
  }
  if (one.kind === 'stop') {
    replica.isPaused = true;
    await world.replica(replica.name);
    world.replicas.splice(-4, 0, ...world.replicas.splice(world.replicas.indexOf(replica), 1));
  }
}

/** No other replica is allowed to act while a replica acts, or while one of its requests may still arrive. */
function assertOneActor(world: LeaseWorld): void {
  for (const name of ACCOUNTS) {
    const actors = new Set<Replica>(world.actors(name));
    for (const replica of world.replicas) {
      if (replica.requests.some((request) => request.account === name)) actors.add(replica);
    }
    expect([...actors].map((replica) => replica.label).slice(1)).toEqual([]);
  }
}

async function assertHistory(world: LeaseWorld): Promise<void> {
  for (const [, commits] of Map.groupBy(await world.history(), (commit) => commit.account)) {
    const epochs = commits.map(({ epoch }) => epoch);
    expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
    for (const [, ofEpoch] of Map.groupBy(commits, ({ epoch }) => epoch)) {
      expect(new Set(ofEpoch.map(({ replica }) => replica)).size).toBe(1);
    }
  }
}

/** Once all is well again, hashing selects the owner of each account among the replicas that configure it. */
async function assertOwners(world: LeaseWorld): Promise<void> {
  const live = world.replicas.slice(-3);
  for (const replica of live) Object.assign(replica, { line: 'good', isPaused: false });
  await world.advance(LEASE_MS);
  for (let round = 0; round < 4; round += 1) {
    for (const replica of live) await replica.beat();
    await world.advance(LEASE_MS / 3);
    assertOneActor(world);
  }
  for (const name of ACCOUNTS) {
    const names = live.flatMap((one) => ((one.accounts ?? ACCOUNTS).includes(name) ? [one.name] : []));
    const owner = replicaFor(
      name,
      names.map((one) => ({ id: one, name: one })),
    );
    expect(world.actors(name).map((replica) => replica.name)).toEqual(owner === undefined ? [] : [owner]);
  }
}

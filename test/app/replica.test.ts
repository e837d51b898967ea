/** Accounts that a replica works on, as its leases come and go. */
import { expect, onTestFinished, test } from 'vitest';
import type { Config } from '#config/config.ts';
import { Replica } from '#app/replica.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { until } from '../support/until.ts';
import type { LeaseRow, LeaseTable } from '#storage/postgres/lease-table.ts';

const LEASE_MS = 30_000;
const BEAT_MS = LEASE_MS / 6;
const FOREIGN = 'other/1';

/** Clock of a process that can be stopped: time passes, and its timers are late. */
class StoppableClock extends ManualClock {
  #stoppedMs = 0;

  override monotonic(): number {
    return super.monotonic() + this.#stoppedMs;
  }

  stopFor(ms: number): void {
    this.#stoppedMs += ms;
  }
}

/** Leases in memory. The test takes them as another replica, or makes the database unreachable. */
class World {
  readonly clock = new StoppableClock(1_000);
  readonly leases = new Map<string, { owner: string | null; epoch: number }>();
  /** Names of the live replicas by id. */
  readonly replicas = new Map<string, string>();
  /** Accounts that the other replica configures. It keeps what it has. */
  accountsOfOther: readonly string[] = [];
  isReachable = true;
  isMoved = false;
  onStatement: () => void = () => undefined;
  readonly changes: string[] = [];
  readonly replica: Replica;

  constructor(...accounts: readonly string[]) {
    this.replica = new Replica(
      {
        name: 'one',
        session: 'session',
        leaseMs: LEASE_MS,
        clock: this.clock,
        events: new EventBus(),
        table: this.#table(),
        onReturn: () => undefined,
        connect: async () => ({
          run: async (work) => {
            this.onStatement();
            if (!this.isReachable) throw new Error('Connection terminated');
            const step = work.next();
            if (step.done !== true) throw new Error('the table is in memory');
            return step.value;
          },
          close: async () => undefined,
        }),
      },
      config(accounts),
    );
    this.replica.follow(
      () => void this.changes.push('changed'),
      (account) => void this.changes.push(`withdrawn ${account}`),
    );
    onTestFinished(() => this.replica.stop());
  }

  /** Starts, and works on the accounts that it gets. */
  async begin(): Promise<void> {
    await this.replica.start();
    this.replica.begin();
    this.changes.length = 0;
  }

  /** Takes the lease of an account as another live replica. */
  takeAway(account: string): void {
    const lease = this.leases.get(account)!;
    this.leases.set(account, { owner: FOREIGN, epoch: lease.epoch + 1 });
    this.replicas.set(FOREIGN, 'other');
  }

  #table(): LeaseTable {
    const { leases, replicas } = this;
    const isMoved = (): boolean => this.isMoved;
    let own: readonly string[] = [];
    const accountsOf = (id: string): readonly string[] => (id === FOREIGN ? this.accountsOfOther : own);
    const rows = (): LeaseRow[] =>
      [...leases].map(([account, lease]) => ({
        account,
        ...lease,
        isOwnerAlive: lease.owner !== null && replicas.has(lease.owner),
      }));
    /* eslint-disable require-yield -- the table is in memory */
    return {
      *join({ id, name, accounts }) {
        if (isMoved()) throw new Error('the store was moved');
        replicas.set(id, name);
        own = accounts;
        return 0;
      },
      *configure(_id, accounts) {
        own = accounts;
      },
      *extend(id) {
        return replicas.has(id) ? 0 : undefined;
      },
      *drain() {},
      *leave(id) {
        replicas.delete(id);
      },
      *survey(accounts) {
        for (const account of accounts) if (!leases.has(account)) leases.set(account, { owner: null, epoch: 0 });
        return {
          replicas: [...replicas].map(([id, name]) => ({ id, name, accounts: accountsOf(id) })),
          leases: rows(),
        };
      },
      *take({ account, epoch }, id) {
        if (leases.get(account)?.epoch !== epoch) return undefined;
        leases.set(account, { owner: id, epoch: epoch + 1 });
        return epoch + 1;
      },
      *release({ account, epoch }) {
        if (leases.get(account)?.epoch === epoch) leases.set(account, { owner: null, epoch });
      },
    };
    /* eslint-enable require-yield */
  }
}

/** A replica that works on the accounts that it gets. */
async function begun(...accounts: readonly string[]): Promise<World> {
  const world = new World(...accounts);
  await world.begin();
  return world;
}

function config(accounts: readonly string[]): Config {
  const policies = accounts.map((account) => ({ settings: { account }, source: '' }));
  return { accounts: accounts.map((name) => ({ name })), policies } as unknown as Config;
}

test('a replica works on its accounts after it begins, and not before', async () => {
  const { replica } = new World('a', 'b');
  await replica.start();
  expect(replica.owns('a')).toBe(false);
  expect(replica.outlives('a', 1)).toBe(false);
  expect(replica.partOf(config(['a', 'b'])).accounts).toEqual([]);
  replica.begin();
  expect(replica.isCurrent()).toBe(true);
  expect(replica.epochOf('a')).toBe(1);
  expect(replica.partOf(config(['a', 'c']))).toEqual(config(['a']));
  expect(replica.outlives('a', LEASE_MS - 1)).toBe(true);
  expect(replica.outlives('a', LEASE_MS)).toBe(false);
});

test('after a handover the owner is unknown, and the replica that takes the account is named', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const world = await begun(...names);
  world.replicas.set(FOREIGN, 'other');
  world.accountsOfOther = names;
  await world.clock.advance(BEAT_MS);
  world.replica.begin();
  await until({ what: 'the leases to be released' }, () => [...world.leases.values()].some(({ owner }) => !owner));
  const given = names.filter((name) => world.leases.get(name)?.owner === null);
  expect(given).not.toEqual([]);
  // The other replica takes them before the next heartbeat of this one.
  for (const account of given) world.takeAway(account);
  for (const account of given) {
    const unknown = { epoch: 1, isOwn: false, isUnknown: true, next: 'other' };
    expect(world.replica.owners().get(account)).toEqual(unknown);
  }
  expect(world.replica.readings().unowned).toBeUndefined();
  await world.clock.advance(BEAT_MS);
  for (const account of given) {
    expect(world.replica.owners().get(account)).toEqual({ replica: 'other', epoch: 2, isOwn: false });
  }
  expect(world.replica.readings().unowned).toBe(0);
});

test('an account that another replica took is withdrawn at once, and the generation must change', async () => {
  const world = await begun('a', 'b');
  world.takeAway('a');
  await world.clock.advance(BEAT_MS);
  expect(new Set(world.changes)).toEqual(new Set(['withdrawn a', 'changed']));
  expect(world.replica.owns('a')).toBe(false);
  expect(['a', 'b', undefined].map((account) => world.replica.hasLost(account))).toEqual([true, false, false]);
  expect(world.replica.isCurrent()).toBe(false);
  expect(world.replica.owners().get('a')).toEqual({ replica: 'other', epoch: 2, isOwn: false });
  world.replica.begin();
  expect(world.replica.isCurrent()).toBe(true);
  expect(world.replica.partOf(config(['a', 'b'])).accounts).toEqual([{ name: 'b' }]);
});

test('while the database is unreachable, nothing is withdrawn, and nothing is owned after the lease', async () => {
  const world = await begun('a');
  world.isReachable = false;
  await world.clock.advance(LEASE_MS + BEAT_MS);
  expect(world.changes).toEqual([]);
  expect(world.replica.owns('a')).toBe(false);
  // Nobody else can own it: this replica still reports what is wrong.
  expect(world.replica.hasLost('a')).toBe(false);
  // Another replica may reach the database.
  expect(world.replica.readings()).toMatchObject({ accounts: [{ account: 'a', isOwn: false }] });
  expect(world.replica.readings().unowned).toBeUndefined();
  expect(world.replica.problem).toBe('Connection terminated');
});

test('memory of an earlier epoch is never committed under a later one', async () => {
  const world = await begun('a');
  world.isReachable = false;
  await world.clock.advance(LEASE_MS + BEAT_MS);
  world.isReachable = true;
  await world.clock.advance(BEAT_MS);
  // The lease is taken again, but the generation still has the memory of before.
  expect(world.leases.get('a')?.epoch).toBe(2);
  expect(world.replica.epochOf('a')).toBeUndefined();
  expect(world.replica.isCurrent()).toBe(false);
  world.replica.begin();
  expect(world.replica.epochOf('a')).toBe(2);
});

test('an account that another replica took while the database was unreachable is withdrawn afterwards', async () => {
  const world = await begun('a');
  world.isReachable = false;
  await world.clock.advance(LEASE_MS + BEAT_MS);
  world.takeAway('a');
  world.isReachable = true;
  await world.clock.advance(BEAT_MS);
  expect(new Set(world.changes)).toEqual(new Set(['withdrawn a', 'changed']));
  world.replica.begin();
  expect(world.replica.partOf(config(['a'])).accounts).toEqual([]);
});

test('accounts that were lost without the database are withdrawn when it does not let the replica return', async () => {
  const world = await begun('a');
  world.isReachable = false;
  await world.clock.advance(LEASE_MS + BEAT_MS);
  world.replicas.clear();
  world.isMoved = true;
  world.isReachable = true;
  await world.clock.advance(BEAT_MS);
  expect(world.replica.problem).toBe('the store was moved');
  expect(world.changes).toEqual(expect.arrayContaining(['withdrawn a', 'changed']));
  expect(world.replica.isCurrent()).toBe(false);
  world.isMoved = false;
});

test('a process that was stopped for longer than the lease withdraws everything, before its next heartbeat', async () => {
  const world = await begun('a');
  world.onStatement = () => void world.changes.push('statement');
  world.clock.stopFor(2 * LEASE_MS);
  expect(world.replica.owns('a')).toBe(false);
  await world.clock.advance(BEAT_MS);
  expect(world.changes[0]).toBe('withdrawn a');
  expect(world.changes).toContain('statement');
});

test('a commit with an unknown outcome requires another generation', async () => {
  const world = await begun('a');
  world.replica.renew();
  expect(world.changes).toEqual(['changed']);
  expect(world.replica.isCurrent()).toBe(false);
  world.replica.begin();
  expect(world.replica.isCurrent()).toBe(true);
});

test('a stop hands over every account, so that another replica takes it at once', async () => {
  const world = await begun('a', 'b');
  await world.replica.stop();
  expect([...world.leases.values()].map(({ owner }) => owner)).toEqual([null, null, null]);
});

test('takeovers are counted, and the first owner of an account took over from nobody', async () => {
  const world = await begun('a');
  expect(world.replica.readings().accounts[0]).toMatchObject({ epoch: 1, takeovers: 0, isOwn: true });
  world.takeAway('a');
  await world.clock.advance(BEAT_MS);
  world.replica.begin();
  world.replicas.delete(FOREIGN);
  await world.clock.advance(BEAT_MS);
  world.replica.begin();
  expect(world.replica.readings().accounts[0]).toMatchObject({ epoch: 3, takeovers: 1, isOwn: true });
});

test('the leader works on all rows but those of the accounts of others', async () => {
  const world = new World('a', 'b');
  expect(world.replica.scope()).toEqual({ accounts: [], replica: 'one' });
  await world.begin();
  expect(world.replica.isLeader()).toBe(true);
  expect(world.replica.scope()).toEqual({ accounts: ['a', 'b'], others: [], replica: 'one' });
  world.takeAway('a');
  await world.clock.advance(BEAT_MS);
  world.replica.begin();
  expect(world.replica.scope()).toEqual({ accounts: ['b'], others: ['a'], replica: 'one' });
  world.takeAway('');
  await world.clock.advance(BEAT_MS);
  expect(world.replica.isLeader()).toBe(false);
  expect(world.replica.isCurrent()).toBe(false);
  world.replica.begin();
  expect(world.replica.scope()).toEqual({ accounts: ['b'], replica: 'one' });
});

test('the leader works on the rows of an account that no replica configures any more', async () => {
  const world = new World('a');
  world.leases.set('removed', { owner: null, epoch: 3 });
  world.leases.set('orphaned', { owner: 'dead/1', epoch: 2 });
  world.leases.set('only other', { owner: FOREIGN, epoch: 1 });
  world.replicas.set(FOREIGN, 'other');
  await world.begin();
  expect(world.replica.scope()).toEqual({ accounts: ['a'], others: ['only other'], replica: 'one' });
});

test('the leader leaves the rows of an account that another replica adds, and takes them when it is removed', async () => {
  const world = await begun('a');
  world.replicas.set(FOREIGN, 'other');
  world.accountsOfOther = ['added'];
  await world.clock.advance(BEAT_MS);
  expect(world.replica.isCurrent()).toBe(false);
  expect(new Set(world.changes)).toEqual(new Set(['changed']));
  world.replica.begin();
  expect(world.replica.isCurrent()).toBe(true);
  expect(world.replica.scope()).toEqual({ accounts: ['a'], others: ['added'], replica: 'one' });
  world.accountsOfOther = [];
  await world.clock.advance(BEAT_MS);
  expect(world.replica.isCurrent()).toBe(false);
  world.replica.begin();
  expect(world.replica.scope()).toEqual({ accounts: ['a'], others: [], replica: 'one' });
});

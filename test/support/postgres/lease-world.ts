/** Replicas that contend for leases in a database whose clock the test sets. */
import { systemClock, type Clock, type Timer } from '#foundation/platform/clock.ts';
import { all, run, type Work } from '#storage/database.ts';
import { openLeaseConnection } from '#storage/postgres/connections.ts';
import { createLeaseTable } from '#storage/postgres/lease-table.ts';
import { Leases, type LeaseConnection, type Taken } from '#storage/postgres/leases.ts';
import { LeaseLostError } from '#storage/postgres/postgres-error.ts';
import { openPostgres, type PostgresDatabase } from '#storage/postgres/postgres-database.ts';
import { Secret } from '#foundation/platform/secret.ts';

export const LEASE_MS = 30_000;

/** Fate of the next statements of a replica. */
export type Line = 'good' | 'cut before' | 'cut after' | 'slow';

interface Request {
  readonly account: string;
  readonly until: number;
}

/** Clock of one process. A paused process has no timers, and its time continues. */
class ProcessClock implements Clock {
  readonly #time: () => number;
  readonly #skew: number;
  readonly #waiting = new Set<{ readonly due: number; readonly run: () => void }>();

  constructor(time: () => number, skew: number) {
    this.#time = time;
    this.#skew = skew;
  }

  now(): number {
    return this.#time() + this.#skew;
  }

  monotonic(): number {
    return this.#time() - this.#skew;
  }

  after(ms: number, run: () => void): Timer {
    const timer = { due: this.#time() + ms, run };
    this.#waiting.add(timer);
    const cancel = (): void => void this.#waiting.delete(timer);
    return { cancel, [Symbol.dispose]: cancel };
  }

  fire(): void {
    for (const timer of this.#waiting) {
      if (timer.due > this.#time() || !this.#waiting.delete(timer)) continue;
      timer.run();
    }
  }
}

export class LeaseWorld {
  readonly database: PostgresDatabase;
  readonly databaseUrl: string;
  accounts: readonly string[];
  readonly replicas: Replica[] = [];
  time = 0;
  #processes = 0;

  private constructor(url: string, accounts: readonly string[]) {
    this.databaseUrl = url;
    this.accounts = accounts;
    this.database = openPostgres({ url: Secret.of(url), name: 'world', poolSize: 1, clock: systemClock });
  }

  /** @param url database with the schema */
  static async create(url: string, accounts: readonly string[]): Promise<LeaseWorld> {
    const world = new LeaseWorld(url, accounts);
    const { database } = world;
    await database.transaction(
      run(
        `CREATE TABLE IF NOT EXISTS test_clock (ms BIGINT NOT NULL);
         CREATE TABLE IF NOT EXISTS committed (id BIGINT GENERATED ALWAYS AS IDENTITY, account TEXT, epoch BIGINT, replica TEXT);
         DELETE FROM test_clock; INSERT INTO test_clock VALUES (0);
         DELETE FROM committed; DELETE FROM leases; DELETE FROM replicas`,
      ),
    );
    return world;
  }

  async replica(name: string, skew = 0): Promise<Replica> {
    const connection = await openLeaseConnection({ url: Secret.of(this.databaseUrl), name, timeoutMs: 60_000 });
    const replica = new Replica(
      this,
      `${name}/${(this.#processes += 1)}`,
      new ProcessClock(() => this.time, skew),
      connection,
    );
    this.replicas.push(replica);
    return replica;
  }

  /** Changes the clock of the database only, as a new primary server may. */
  async jump(ms: number): Promise<void> {
    await this.database.transaction(run('UPDATE test_clock SET ms = ms + ?', ms));
  }

  /** Deletes a replica as another one does, which takes it for dead. */
  async forget(replica: Replica): Promise<void> {
    await this.database.transaction(run('DELETE FROM replicas WHERE name = ?', replica.name));
  }

  async advance(ms: number): Promise<void> {
    this.time += ms;
    await this.jump(ms);
    for (const replica of this.replicas) replica.wake();
  }

  async close(): Promise<void> {
    await Promise.all([this.database[Symbol.asyncDispose](), ...this.replicas.map((replica) => replica.close())]);
  }

  /** Returns the replicas that would start a request on an account now. */
  actors(account: string): readonly Replica[] {
    return this.replicas.filter((replica) => replica.leases.outlives(account, 0));
  }

  history(): Promise<readonly { account: string; epoch: number; replica: string }[]> {
    return this.database.read(all('SELECT account, epoch, replica FROM committed ORDER BY id')) as never;
  }
}

export class Replica {
  readonly leases: Leases;
  readonly taken: Taken[] = [];
  /** Number of accounts that it had taken before each return. */
  readonly returns: number[] = [];
  /** Name of the replica, and number of the process. */
  readonly label: string;
  readonly name: string;
  readonly session: string;
  readonly #world: LeaseWorld;
  readonly #clock: ProcessClock;
  readonly #connection: LeaseConnection;
  readonly #database: PostgresDatabase;
  /** Epoch under which the next commit believes to be. */
  #epoch: number | undefined;
  #requests: Request[] = [];
  #draining: { readonly account: string; readonly resolve: () => void }[] = [];
  line: Line = 'good';
  /** Statements before `line` applies. */
  skip = 0;
  /** Runs once, after this replica has read the leases and before it takes any. */
  beforeTaking: (() => Promise<void>) | undefined;
  isPaused = false;
  /** Accounts that it configures, if they are others than those of the world. */
  accounts: readonly string[] | undefined;
  /** True if work continues although no request is in progress. */
  isBusy = false;

  constructor(world: LeaseWorld, label: string, clock: ProcessClock, connection: LeaseConnection) {
    this.#world = world;
    this.#clock = clock;
    this.#connection = connection;
    this.label = label;
    const name = label.replace(/\/.*/, '');
    this.name = name;
    this.session = `session-${label.replace(/.*\//, '')}`;
    this.#database = openPostgres({
      url: Secret.of(world.databaseUrl),
      name,
      poolSize: 1,
      clock: systemClock,
      epochOf: () => this.#epoch,
    });
    this.leases = new Leases({
      table: createLeaseTable('(SELECT ms FROM test_clock)'),
      connect: async () => ({ run: (work) => this.#run(work), close: async () => undefined }),
      clock,
      name,
      session: this.session,
      leaseMs: LEASE_MS,
      accounts: () => this.accounts ?? world.accounts,
      onReturn: () => void this.returns.push(this.taken.length),
      onTaken: (taken) => void this.taken.push(taken),
      onLost: (account) => this.#drained(account),
    });
  }

  /** Requests in progress, whose effect may happen at any time until their end. */
  get requests(): readonly Request[] {
    return this.#requests.filter(({ until }) => until > this.#world.time);
  }

  /** Starts a request if the lease outlives it. */
  request(account: string, ms: number): boolean {
    const isAllowed = !this.isPaused && this.leases.outlives(account, ms);
    if (isAllowed) this.#requests.push({ account, until: this.#world.time + ms });
    return isAllowed;
  }

  /** Commits under an epoch. Returns false if the lease is lost. */
  async commit(account: string, epoch: number): Promise<boolean> {
    this.#epoch = epoch;
    try {
      await this.#database.transaction(
        run('INSERT INTO committed (account, epoch, replica) VALUES (?, ?, ?)', account, epoch, this.label),
        account,
      );
      return true;
    } catch (error) {
      if (error instanceof LeaseLostError) return false;
      throw error;
    }
  }

  async beat(): Promise<void> {
    if (!this.isPaused) await this.leases.beat();
  }

  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#database[Symbol.asyncDispose]()]);
  }

  wake(): void {
    if (this.isPaused) return;
    this.#clock.fire();
    const done = this.#draining.filter(({ account }) => !this.#isAtWork(account));
    this.#draining = this.#draining.filter((one) => !done.includes(one));
    for (const { resolve } of done) resolve();
  }

  #isAtWork(account: string): boolean {
    return this.isBusy || this.requests.some((request) => request.account === account);
  }

  /** Resolves once the work on the account has ended. */
  #drained(account: string): Promise<void> {
    if (!this.#isAtWork(account)) return Promise.resolve();
    return new Promise((resolve) => this.#draining.push({ account, resolve }));
  }

  async #run<T>(work: Work<T>): Promise<T> {
    const line = this.skip > 0 ? 'good' : this.line;
    this.skip -= 1;
    if (line === 'cut before') throw new Error('Connection terminated before');
    const result = await this.#connection.run(work);
    if (isSurvey(result)) {
      const { beforeTaking } = this;
      this.beforeTaking = undefined;
      await beforeTaking?.();
    }
    if (line === 'cut after') throw new Error('Connection terminated after');
    if (line === 'slow') await this.#world.advance(LEASE_MS / 4);
    return result;
  }
}

function isSurvey(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'leases' in result;
}

/** Replicas that send each other commands, in a database whose clock, and whose order of statements, the test sets. */
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { get, run, type Database, type Job } from '#storage/database.ts';
import { CommandRequests, type Sent } from '#storage/postgres/command-requests.ts';
import { CommandService } from '#storage/postgres/command-service.ts';
import { createCommandTable } from '#storage/postgres/command-table.ts';
import { openPostgres, type PostgresDatabase } from '#storage/postgres/postgres-database.ts';
import { CommitUnknownError } from '#storage/postgres/postgres-error.ts';

// Monotonic time has fractions.
const TAKEN_WITHIN_MS = 14_999.9;
const LEASE_MS = 30_000;
const NEVER = 1e15;

/** Fate of a transaction: `kept` and `lost` are those of a transaction whose commit got no response. */
export type Fate = 'good' | 'kept' | 'lost';

interface Pending {
  readonly replica: CommandReplica;
  readonly execute: (fate: Fate) => Promise<void>;
}

/** A command that a replica sent. */
export interface Asked {
  readonly number: number;
  readonly controller: AbortController;
  settled: { readonly sent: Sent } | { readonly error: unknown } | undefined;
}

/** A command that a replica runs. */
interface Begun {
  readonly number: number;
  readonly replica: CommandReplica;
  readonly signal: AbortSignal;
  readonly end: (result: unknown) => void;
}

export class CommandWorld {
  readonly clock = new ManualClock(0);
  readonly database: PostgresDatabase;
  readonly url: string;
  readonly table = createCommandTable('(SELECT ms FROM test_clock)');
  readonly replicas: CommandReplica[] = [];
  /** Database work that waits for the test, if `isGated`. */
  readonly pending: Pending[] = [];
  readonly asked: Asked[] = [];
  /** All commands that were begun. */
  readonly begun: Begun[] = [];
  /** Begun commands that have not ended. */
  readonly open: Begun[] = [];
  isGated = false;

  private constructor(url: string) {
    this.url = url;
    this.database = openPostgres({ url: Secret.of(url), name: 'world', poolSize: 2, clock: systemClock });
  }

  /** @param url database with the schema */
  static async create(url: string): Promise<CommandWorld> {
    const world = new CommandWorld(url);
    await world.change(
      `CREATE TABLE IF NOT EXISTS test_clock (ms BIGINT NOT NULL); DELETE FROM test_clock;
       INSERT INTO test_clock VALUES (0); DELETE FROM leases; DELETE FROM replicas; DELETE FROM commands;
       DELETE FROM command_keys`,
    );
    return world;
  }

  async change(sql: string): Promise<void> {
    await this.database.transaction(run(sql));
  }

  async replica(name: string): Promise<CommandReplica> {
    await this.change(`INSERT INTO replicas VALUES ('${name}/1', '${name}', 0, 0, ${NEVER})`);
    const replica = new CommandReplica(this, name);
    this.replicas.push(replica);
    return replica;
  }

  /** Gives an account to a replica. The one before learns of it only with `forget`. */
  async give(account: string, replica: CommandReplica): Promise<void> {
    await this.change(
      `INSERT INTO leases VALUES ('${account}', '${replica.name}/1', 1, 0)
       ON CONFLICT (account) DO UPDATE SET owner = excluded.owner, epoch = leases.epoch + 1`,
    );
    const lease = await this.database.read(get('SELECT epoch FROM leases WHERE account = ?', account));
    replica.owned.set(account, Number(lease!['epoch']));
  }

  /** Advances in steps, and lets the work that is due be done after each. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5_000) {
      await this.idle();
      await this.advance(5_000);
    }
    await this.idle();
  }

  async advance(ms: number): Promise<void> {
    await this.change(`UPDATE test_clock SET ms = ms + ${ms}`);
    await this.clock.advance(ms);
  }

  send(from: CommandReplica, account: string, number = this.asked.length): Asked {
    const asked: Asked = { number, controller: new AbortController(), settled: undefined };
    this.asked.push(asked);
    const command = { account, kind: 'count', by: 'someone', arguments: { number } };
    from.requests.send(command, asked.controller.signal, TAKEN_WITHIN_MS).then(
      (sent) => (asked.settled = { sent }),
      (error: unknown) => (asked.settled = { error }),
    );
    return asked;
  }

  /** Lets everything happen until nothing is left to do, with notices or without. */
  async quiet(): Promise<void> {
    this.isGated = false;
    for (const { execute } of this.pending.splice(0)) await execute('good');
    for (let round = 0; round < 20 && this.asked.some(({ settled }) => settled === undefined); round += 1) {
      for (const begun of this.open.splice(0)) begun.end('late');
      await Promise.all(this.replicas.filter(({ isDead }) => !isDead).map(({ service }) => service.look()));
      for (const begun of this.open.splice(0)) begun.end('late');
      await this.idle();
      await this.advance(5_000);
      await this.idle();
    }
  }

  /** Waits until no database work is in progress. */
  async idle(): Promise<void> {
    for (let turns = 0; turns < 3; turns += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.replicas.some(({ working }) => working > 0)) turns = -1;
    }
  }

  async close(): Promise<void> {
    await this.database[Symbol.asyncDispose]();
    await Promise.all(this.replicas.map((replica) => replica.close()));
  }
}

export class CommandReplica {
  readonly name: string;
  readonly requests: CommandRequests;
  readonly service: CommandService;
  /** Accounts that the replica believes to own. */
  readonly owned = new Map<string, number>();
  readonly #world: CommandWorld;
  readonly #database: PostgresDatabase;
  /** Number of transactions in progress. */
  working = 0;
  isDead = false;

  constructor(world: CommandWorld, name: string) {
    this.#world = world;
    this.name = name;
    this.#database = openPostgres({
      url: Secret.of(world.url),
      name,
      poolSize: 2,
      clock: systemClock,
      epochOf: (account) => this.owned.get(account),
    });
    const database: Database = {
      dialect: this.#database.dialect,
      read: (work) => this.#gated(() => this.#database.read(work), false),
      view: (use) => use(database),
      transaction: <T>(work: Job<T>, account?: string) =>
        this.#gated(() => this.#database.transaction(work, account), true),
    };
    const deps = { database, table: world.table, clock: world.clock, notices: { listen: () => new DisposableStack() } };
    this.requests = new CommandRequests(deps);
    this.service = new CommandService({
      ...deps,
      owned: () => this.owned,
      onFailed: () => undefined,
      handle: ({ arguments: given }, signal) => this.#begin((given as { number: number }).number, signal),
    });
  }

  /** Ends the process: nothing that it began continues. Its lease ends later. */
  async die(): Promise<void> {
    this.isDead = true;
    await this.#world.change(
      `UPDATE replicas SET expires_at = (SELECT ms FROM test_clock) + ${LEASE_MS} WHERE name = '${this.name}'`,
    );
  }

  async close(): Promise<void> {
    await this.#database[Symbol.asyncDispose]();
  }

  #begin(number: number, signal: AbortSignal): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const begun = { number, replica: this, signal, end: resolve };
    this.#world.begun.push(begun);
    this.#world.open.push(begun);
    return promise;
  }

  #gated<T>(work: () => Promise<T>, isWrite: boolean): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const execute = async (fate: Fate): Promise<void> => {
      // The process is gone, and nobody learns of the response.
      if (this.isDead) return;
      const isLost = isWrite && fate !== 'good';
      this.working += 1;
      try {
        const result = isWrite && fate === 'lost' ? undefined : await work();
        if (isLost) reject(new CommitUnknownError('the response was lost'));
        else resolve(result as T);
      } catch (error) {
        reject(error);
      } finally {
        this.working -= 1;
      }
    };
    if (this.#world.isGated) this.#world.pending.push({ replica: this, execute });
    else void execute('good');
    return promise;
  }
}

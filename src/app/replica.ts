/**
 * This process among the replicas that share a store. It works on the accounts whose leases it has, each under the epoch
 * that its generation was created with: memory of an earlier ownership must never be committed under a later one.
 */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { LeaseReadings } from '#foundation/domain/engine-readings.ts';
import type { AccountLease } from '#operate/contract/status.ts';
import type { LeaseTable } from '#storage/postgres/lease-table.ts';
import type { RowScope } from '#storage/scope.ts';
import { Leases, type LeaseConnection, type LossReason, type Taken } from '#storage/postgres/leases.ts';

interface ReplicaDeps {
  readonly name: string;
  /** Part of the name of all connections of this process. */
  readonly session: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly table: LeaseTable;
  readonly connect: () => Promise<LeaseConnection>;
  /** Called before this replica takes accounts again after it has lost all of them. */
  readonly onReturn: () => void;
  readonly events: Pick<EventBus, 'emit'>;
}

/** Lease of what belongs to no account, such as the retention of the store. */
const LEADER = '';

export class Replica {
  readonly name: string;
  readonly leaseMs: number;
  readonly #events: ReplicaDeps['events'];
  readonly #leases: Leases;
  #configured: readonly string[] = [];
  /** The configured accounts and `LEADER`. */
  #leasable: readonly string[] = [];
  /** Epochs of the leases, by account. */
  readonly #wanted = new Map<string, number>();
  /** Epochs under which the present generation works. */
  #working: ReadonlyMap<string, number> = new Map();
  /** Accounts of other replicas, as the present generation knows them. Only the leader has any. */
  #others: ReadonlySet<string> = new Set();
  readonly #takeovers = new Map<string, number>();
  #ends: { readonly account: string; readonly resolve: () => void }[] = [];
  #isStale = false;
  #onChange: () => void = () => undefined;
  #onWithdrawn: (account: string) => void = () => undefined;

  constructor({ name, events, ...deps }: ReplicaDeps, config: Config) {
    this.#events = events;
    this.name = name;
    this.leaseMs = deps.leaseMs;
    this.configure(config);
    this.#leases = new Leases({
      ...deps,
      name,
      accounts: () => this.#leasable,
      onTaken: (taken) => this.#take(taken),
      onLost: (account, reason) => this.#lose(account, reason),
      onBeat: () => this.#review(),
    });
  }

  /** Reason why the last heartbeat failed. */
  get problem(): string | undefined {
    return this.#leases.problem;
  }

  get hasNamesake(): boolean {
    return this.#leases.hasNamesake;
  }

  /** Joins the other replicas, and takes the first accounts. */
  async start(): Promise<void> {
    await this.#leases.start();
  }

  /** Hands over all accounts. The work on them must have ended. */
  async stop(): Promise<void> {
    this.#work(new Map());
    await this.#leases.stop();
  }

  /**
   * @param onChange called when the accounts are others than those of the present generation
   * @param onWithdrawn called when another replica may work on an account: it must not be seen here any more
   */
  follow(onChange: () => void, onWithdrawn: (account: string) => void): void {
    this.#onChange = onChange;
    this.#onWithdrawn = onWithdrawn;
  }

  /** Considers the accounts of another configuration. */
  configure(config: Config): void {
    this.#configured = config.accounts.map(({ name }) => name);
    this.#leasable = [...this.#configured, LEADER];
  }

  /** Returns true if the present generation works on the right accounts, under the right epochs. */
  isCurrent(): boolean {
    return (
      !this.#isStale &&
      this.#wanted.size === this.#working.size &&
      [...this.#wanted].every(([account, epoch]) => this.#working.get(account) === epoch) &&
      this.#accountsOfOthers().symmetricDifference(this.#others).size === 0
    );
  }

  /** Requires another generation, because the memory of the present one may differ from the store. */
  renew(): void {
    this.#isStale = true;
    this.#onChange();
  }

  /** Begins to work on the accounts of the leases. No generation may be at work. */
  begin(): void {
    this.#isStale = false;
    this.#work(new Map(this.#wanted));
    this.#others = this.#accountsOfOthers();
  }

  /** Returns the part of a configuration that this process works on. */
  partOf(config: Config): Config {
    return {
      ...config,
      accounts: config.accounts.filter(({ name }) => this.#working.has(name)),
      policies: config.policies.filter(({ settings }) => this.#working.has(settings.account)),
    };
  }

  /** Returns the rows of the store that the present generation works on. */
  scope(): RowScope {
    const accounts = [...this.#working.keys()].filter((account) => account !== LEADER);
    return { accounts, ...(this.#working.has(LEADER) && { others: [...this.#others] }), replica: this.name };
  }

  /** Returns the epoch of an account under which the present generation may commit; undefined if it may not. */
  epochOf(account: string): number | undefined {
    const epoch = this.#leases.epochOf(account);
    return this.#working.get(account) === epoch ? epoch : undefined;
  }

  owns(account: string): boolean {
    return this.epochOf(account) !== undefined;
  }

  /**
   * Returns true if the present generation must not report on an account any more, because another replica may own it.
   * Without an account: on what belongs to none.
   */
  hasLost(account: string = LEADER): boolean {
    return this.#working.get(account) !== this.#wanted.get(account);
  }

  isLeader(): boolean {
    return this.owns(LEADER);
  }

  /** Returns true if a request on the account that takes `ms` may start. */
  outlives(account: string, ms: number): boolean {
    return this.owns(account) && this.#leases.outlives(account, ms);
  }

  /** Returns the owners of the configured accounts, as of the last heartbeat. */
  owners(): ReadonlyMap<string, AccountLease> {
    return new Map(
      this.#configured.map((account): [string, AccountLease] => {
        const own = this.epochOf(account);
        if (own !== undefined) return [account, { replica: this.name, epoch: own, isOwn: true }];
        const { epoch = 0, owner, isOwnerAlive = false, target } = this.#leases.all.get(account) ?? {};
        const [replica] = owner?.split('/') ?? [];
        if (!isOwnerAlive || replica === undefined) return [account, { epoch, isOwn: false }];
        if (replica !== this.name) return [account, { replica, epoch, isOwn: false }];
        const next = target === this.name ? undefined : target;
        return [account, { epoch, isOwn: false, isUnknown: true, next }];
      }),
    );
  }

  readings(): LeaseReadings {
    const owners = [...this.owners()];
    const isKnown = owners.every(([, { isUnknown }]) => isUnknown === undefined);
    return {
      accounts: owners.map(([account, { epoch, isOwn }]) => ({
        account,
        epoch,
        isOwn,
        takeovers: this.#takeovers.get(account) ?? 0,
      })),
      ...(isKnown && { unowned: owners.filter(([, { replica }]) => replica === undefined).length }),
    };
  }

  #take({ account, epoch, before }: Taken): void {
    if (account !== LEADER) this.#events.emit({ type: 'lease.taken', account, epoch, before });
    if (before !== 'none') this.#takeovers.set(account, (this.#takeovers.get(account) ?? 0) + 1);
    this.#wanted.set(account, epoch);
  }

  /** Returns the accounts that other replicas work on, or may take. Only the leader needs them. */
  #accountsOfOthers(): ReadonlySet<string> {
    if (!this.#working.has(LEADER)) return new Set();
    // The lease of an account stays after no replica configures it any more.
    const leases = [...this.#leases.all.values()];
    const leased = leases.filter(({ isOwnerAlive }) => isOwnerAlive).map(({ account }) => account);
    const all = [...this.#configured, ...this.#leases.configured, ...leased];
    return new Set(all.filter((account) => !this.#working.has(account)));
  }

  /** Resolves when no work on the account is in progress. */
  async #lose(account: string, reason: LossReason): Promise<void> {
    // No other replica takes the account from a database that cannot be reached. What was committed stays visible.
    if (account !== LEADER) this.#events.emit({ type: 'lease.ended', account, reason });
    if (reason === 'unreachable') return;
    this.#wanted.delete(account);
    if (!this.#working.has(account)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ends.push({ account, resolve });
    if (reason === 'lost') this.#onWithdrawn(account);
    this.#onChange();
    await promise;
  }

  /** Gives up accounts that another replica took while the database could not be reached, and begins with new ones. */
  #review(): void {
    for (const [account, epoch] of this.#wanted) {
      if (this.#leases.epochOf(account) !== epoch) void this.#lose(account, 'lost');
    }
    if (!this.isCurrent()) this.#onChange();
  }

  #work(accounts: ReadonlyMap<string, number>): void {
    this.#working = accounts;
    const ended = this.#ends.filter(({ account }) => !accounts.has(account));
    this.#ends = this.#ends.filter(({ account }) => accounts.has(account));
    for (const { account, resolve } of ended) {
      this.#onWithdrawn(account);
      resolve();
    }
  }
}

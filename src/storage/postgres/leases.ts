/**
 * Leases of this replica on accounts. The heartbeat extends all of them at once. Rendezvous hashing distributes each
 * account among the live replicas that configure it. A replica takes its accounts, and hands over the others.
 *
 * A commit is safe without the local time, because its transaction checks the epoch. A request to the service is not:
 * it must start only if `outlives` allows it.
 */
import { randomBytes } from 'node:crypto';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Work } from '../database.ts';
import { replicaId, type LeaseRow, type LeaseTable, type Member } from './lease-table.ts';
import { replicaFor } from './rendezvous.ts';

/** Connection of its own: a pool without a free connection must not cost a lease. */
export interface LeaseConnection {
  run<T>(work: Work<T>): Promise<T>;
  close(): Promise<void>;
}

export interface Taken {
  readonly account: string;
  readonly epoch: number;
  /** `died`: the owner before stopped without a handover, so its requests in progress have an unknown outcome. */
  readonly before: 'none' | 'handed_over' | 'died';
}

/**
 * Reason for the end of the work on an account. `handover`: another replica takes it afterwards. `lost`: another replica
 * may already work on it. `unreachable`: the lease ended while the database did not respond, so that no other replica
 * could take it through the same database.
 */
export type LossReason = 'handover' | 'lost' | 'unreachable';

/** Lease as of the last heartbeat. */
export interface SurveyedLease extends LeaseRow {
  /** Name of the replica that should own the account; undefined if no live one configures it. */
  readonly target: string | undefined;
}

export interface LeaseDeps {
  readonly table: LeaseTable;
  readonly connect: () => Promise<LeaseConnection>;
  readonly clock: Clock;
  /** Name of this replica. */
  readonly name: string;
  /** Part of the name of all connections of this process. */
  readonly session: string;
  readonly leaseMs: number;
  /** Accounts that this replica configures. It returns the same list until they change. */
  readonly accounts: () => readonly string[];
  /** Starts the work on an account. */
  readonly onTaken: (taken: Taken) => void;
  /**
   * Stops the work on an account, and never rejects. Until the promise resolves, this replica does not take the account
   * again.
   */
  readonly onLost: (account: string, reason: LossReason) => Promise<void>;
  /**
   * Called before this replica takes accounts again after it has lost all of them: only the connection of the heartbeat
   * is known to be alive.
   */
  readonly onReturn: () => void;
  /** Called after each successful heartbeat, and by one that finds that all leases have ended. */
  readonly onBeat?: () => void;
}

/** Heartbeats of a lease. Several of them may fail before it ends. */
const BEATS = 6;
/** A timer that is later than this belongs to a process that was stopped. */
const LATE_MS = 1_000;

/**
 * Interval of heartbeats, and the maximum time of a response to one: a half-open connection is found within a third of
 * the lease, and two more heartbeats follow before its end.
 */
export function heartbeatMs(leaseMs: number): number {
  return leaseMs / BEATS;
}

export class Leases {
  readonly #deps: LeaseDeps;
  /** Epochs of the leases, by account. A lease lasts until its work has stopped, for the last commits. */
  readonly #held = new Map<string, number>();
  /** Accounts whose work is stopping, with or without a lease. */
  readonly #stopping = new Map<string, Promise<void>>();
  /** This replica as the database has it. */
  #replica: Member | undefined;
  #connection: LeaseConnection | undefined;
  /** Both clocks before the last successful heartbeat was sent. The leases begin then. */
  #sent = { monotonic: -Infinity, wall: -Infinity };
  /** Maximum difference of the database's clock to the monotonic one, at the last heartbeat. */
  #offset = Infinity;
  /** Monotonic time until which heartbeats of live replicas may seem expired, because the database's clock jumped. */
  #unsteadyUntil = -Infinity;
  #expiry: Timer | undefined;
  #beat: Timer | undefined;
  #isBeating = false;
  /** True after the loss of all leases, until the next successful heartbeat. */
  #isAway = false;
  #isDraining = false;
  #isStopped = false;
  #turn: Promise<void> = Promise.resolve();
  #problem: string | undefined;
  #survey = new Map<string, SurveyedLease>();
  /** Monotonic time since which another process has the same name. */
  #namesakeSince = Infinity;
  #configured: ReadonlySet<string> = new Set();

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
  }

  /** Reason why the last heartbeat failed. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * True if another live process has this replica's name, so that only one of them gets accounts. A dead process whose
   * heartbeat has not expired is none: its place is often taken by a new one of the same name.
   */
  get hasNamesake(): boolean {
    return this.#deps.clock.monotonic() > this.#namesakeSince + this.#deps.leaseMs;
  }

  /** All leases by account, as of the last heartbeat and with what it took. */
  get all(): ReadonlyMap<string, SurveyedLease> {
    return this.#survey;
  }

  /** Accounts that any live replica configures, as of the last heartbeat. */
  get configured(): ReadonlySet<string> {
    return this.#configured;
  }

  /** Returns the epoch under which this replica owns an account; undefined if it does not own it. */
  epochOf(account: string): number | undefined {
    return this.#left() > 0 ? this.#held.get(account) : undefined;
  }

  /** Returns true if the lease certainly lasts for `ms` from now: only then may a request of that duration start. */
  outlives(account: string, ms: number): boolean {
    const isHeld = this.#held.has(account) && !this.#stopping.has(account);
    return isHeld && this.#left() > ms;
  }

  /** Returns how long the leases certainly last, in milliseconds. A suspended machine misses monotonic time. */
  #left(): number {
    const { clock, leaseMs } = this.#deps;
    return leaseMs - Math.max(clock.monotonic() - this.#sent.monotonic, clock.now() - this.#sent.wall);
  }

  /** Sends heartbeats from now on. The promise resolves after the first one. */
  async start(): Promise<void> {
    await this.beat();
    const { clock, leaseMs } = this.#deps;
    if (!this.#isStopped) this.#beat = clock.after(heartbeatMs(leaseMs), () => void this.start());
  }

  /** Sends a heartbeat, then takes and hands over accounts. Failures are in `problem`. */
  beat(): Promise<void> {
    this.#turn = this.#turn.then(async () => {
      // A process that was stopped for long has lost its leases, whichever of its timers is first.
      if (this.#left() <= -LATE_MS) this.#loseAll('lost');
      this.#isBeating = true;
      try {
        await this.#exchange();
        this.#problem = undefined;
        this.#deps.onBeat?.();
      } catch (error) {
        this.#problem = errorMessage(error);
        this.#disconnect();
      }
      this.#isBeating = false;
    });
    return this.#turn;
  }

  /** Stops the work on all accounts and hands them over. Heartbeats continue until the work has stopped. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    await this.beat();
    for (const account of this.#held.keys()) void this.#stopWork(account, 'handover');
    await Promise.all(this.#stopping.values());
    this.#isStopped = true;
    this.#beat?.cancel();
    await this.#turn;
    try {
      if (this.#replica !== undefined) await this.#connection?.run(this.#deps.table.leave(this.#replica.id));
    } catch {
      // The leases end without it, later.
    }
    this.#expiry?.cancel();
    this.#held.clear();
    this.#disconnect();
  }

  async #exchange(): Promise<void> {
    const { table, connect } = this.#deps;
    const connection = (this.#connection ??= await connect());
    const replica = await this.#extend(connection);
    if (this.#isAway) this.#deps.onReturn();
    this.#isAway = false;
    const { replicas, leases } = await connection.run(
      table.survey(replica.accounts, this.#deps.clock.monotonic() >= this.#unsteadyUntil),
    );
    const isNamesake = replicas.some(({ id, name }) => name === replica.name && id !== replica.id);
    this.#namesakeSince = isNamesake ? Math.min(this.#namesakeSince, this.#deps.clock.monotonic()) : Infinity;
    this.#configured = new Set(replicas.flatMap(({ accounts }) => accounts));
    const members = replicas.map((member) => ({ ...member, accounts: new Set(member.accounts) }));
    const targets = new Map(
      leases.map(({ account }) => {
        const configuring = members.filter(({ accounts }) => accounts.has(account));
        return [account, replicaFor(account, configuring)];
      }),
    );
    const names = new Map(replicas.map(({ id, name }) => [id, name]));
    this.#survey = new Map(
      leases.map((lease) => [lease.account, { ...lease, target: names.get(targets.get(lease.account) ?? '') }]),
    );
    const changes: Promise<void>[] = [];
    for (const lease of leases) {
      const target = targets.get(lease.account);
      const held = this.#held.get(lease.account);
      if (held !== undefined && (lease.epoch !== held || !lease.isOwnerAlive)) this.#lose(lease.account, 'lost');
      else if (held !== undefined && (target !== replica.id || this.#isDraining)) this.#handOver(lease);
      else if (held === undefined && target === replica.id) changes.push(this.#take(connection, lease));
      else if (held === undefined && lease.owner === replica.id) changes.push(this.#release(lease));
    }
    // Together, because hundreds of accounts may have lost their owner. Nothing is awaited before: a failure that nobody
    // awaits would end the process.
    const failed = (await Promise.allSettled(changes)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** Joins, or extends all leases. A replica that was deleted joins under another id. */
  async #extend(connection: LeaseConnection): Promise<Member> {
    const { table, clock, name, session, leaseMs } = this.#deps;
    const accounts = this.#deps.accounts();
    // The lease lasts from when the server gets the statement, which is later.
    const times = () => ({ monotonic: clock.monotonic(), wall: clock.now() });
    let sent = times();
    let now = this.#replica && (await connection.run(table.extend(this.#replica.id, leaseMs)));
    if (now === undefined && this.#replica !== undefined) {
      this.#loseAll('lost');
      // The database can be reached, so another replica may have what was lost before without it.
      this.#deps.onBeat?.();
      this.#replica = undefined;
    }
    if (this.#replica === undefined) {
      // Known before the response, which may be lost: otherwise, the row would be a replica that never acts.
      this.#replica = { id: replicaId(name, session, randomBytes(4).toString('hex')), name, accounts };
      sent = times();
      now = await connection.run(table.join(this.#replica, leaseMs));
    }
    this.#compareClocks(now!, sent.monotonic);
    if (this.#isDraining) await connection.run(table.drain(this.#replica.id));
    this.#sent = sent;
    this.#expiry?.cancel();
    this.#expiry = clock.after(this.#left(), () => this.#expire());
    if (this.#replica.accounts !== accounts) {
      await connection.run(table.configure(this.#replica.id, accounts));
      this.#replica = { ...this.#replica, accounts };
    }
    return this.#replica;
  }

  /** Notices a jump of the database's clock by more than a hundredth of the lease. */
  #compareClocks(now: number, sentAt: number): void {
    const { clock, leaseMs } = this.#deps;
    const receivedAt = clock.monotonic();
    if (now - receivedAt > this.#offset + leaseMs / 100) this.#unsteadyUntil = receivedAt + leaseMs;
    this.#offset = now - sentAt;
  }

  async #take(connection: LeaseConnection, lease: LeaseRow): Promise<void> {
    const { table, onTaken } = this.#deps;
    const { account, owner, isOwnerAlive } = lease;
    const isFree = !isOwnerAlive || owner === this.#replica?.id;
    if (!isFree || this.#isDraining || this.#stopping.has(account)) return;
    const { id, name } = this.#replica!;
    const epoch = await connection.run(table.take(lease, id));
    if (epoch !== undefined) {
      this.#survey.set(account, { account, owner: id, epoch, isOwnerAlive: true, target: name });
    }
    // Without enough time left, the next heartbeat takes it again.
    if (epoch === undefined || this.#left() <= 0) return;
    this.#held.set(account, epoch);
    const before = lease.epoch === 0 ? 'none' : owner === null ? 'handed_over' : 'died';
    onTaken({ account, epoch, before });
  }

  /** Stops the work on an account, then gives its lease to the replica that takes it first. */
  #handOver(lease: LeaseRow): void {
    if (this.#stopping.has(lease.account)) return;
    void this.#stopWork(lease.account, 'handover').then(async () => {
      this.#held.delete(lease.account);
      // After a failure, the next heartbeat releases it.
      await this.#release(lease).catch(() => undefined);
    });
  }

  async #release(lease: LeaseRow): Promise<void> {
    if (!this.#stopping.has(lease.account)) await this.#connection?.run(this.#deps.table.release(lease));
  }

  #expire(): void {
    const isLate = this.#left() <= -LATE_MS;
    const isUnreachable = this.#isBeating || this.#problem !== undefined;
    this.#loseAll(isUnreachable && !isLate ? 'unreachable' : 'lost');
  }

  #loseAll(reason: LossReason): void {
    if (this.#held.size > 0) this.#isAway = true;
    for (const account of this.#held.keys()) this.#lose(account, reason);
  }

  #lose(account: string, reason: LossReason): void {
    this.#held.delete(account);
    void this.#stopWork(account, reason);
  }

  #stopWork(account: string, reason: LossReason): Promise<void> {
    const stopping =
      this.#stopping.get(account) ?? this.#deps.onLost(account, reason).then(() => void this.#stopping.delete(account));
    this.#stopping.set(account, stopping);
    return stopping;
  }

  /** Does not wait: a server that is gone may never respond. */
  #disconnect(): void {
    void this.#connection?.close().catch(() => undefined);
    this.#connection = undefined;
  }
}

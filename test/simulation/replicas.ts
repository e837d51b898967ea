/** Two or three replicas of the daemon on one PostgreSQL, their faults, and what the checks see of them. */
import { expositionOf, type Exposition } from '../support/exposition.ts';
import { canariesOf } from './canary-routes.ts';
import { configOf, KEY, KEY_FILE, TOKEN_FILE } from './config.ts';
import { SimDaemon, type LogLine } from './daemon.ts';
import { WORLD, type Loop, type Process } from './loop.ts';
import { deafen } from './network.ts';
import type { Operator } from './operator.ts';
import { isOwner } from './postgres/fence.ts';
import type { SimPostgres } from './postgres/server.ts';
import type { SimService } from './service.ts';
import { hasStaging, STAGING } from './staging.ts';
import type { Forbidden, Subject } from './subject.ts';
import { Violation } from './violation.ts';
import { balance } from './wire.ts';

const MINUTE = 60_000;
const FIRST_PORT = 8_081;
const FIRST_HOOKS_PORT = 8_091;
/** Maximum duration of most faults. */
const LONGEST_MS = 90_000;
/** Maximum duration of a stop after a commit: another replica may take the account. */
const LONGEST_STOP_MS = 4 * MINUTE;
/** Maximum silence of the old connections of a machine that continues. */
const LONGEST_DEAF_MS = 60_000;
/** Maximum time until a machine that continues has the right time again. */
const LONGEST_MISLED_MS = 60_000;
/** Maximum duration of a partition, which is longer than a lease. */
const LONGEST_PART_MS = 5 * MINUTE;
/** Time after a clock was wrong until each replica knows again what it owns: a lease and a heartbeat. */
const UNSTEADY_MS = 70_000;
/** Maximum offset of the database's clock, which is longer than a lease. */
const LONGEST_STEP_MS = 4 * MINUTE;
/** Factors of the likelihood of a kind of fault. The seed chooses one, so that a history has some kinds often. */
const WEIGHTS = [0, 1, 1, 4];
/** Time after the last fault in which a start may still meet a connection that does not respond. */
const CALM_MS = 4 * MINUTE;

interface Scraped {
  readonly metrics: Exposition;
  readonly isPresent: boolean;
}

export interface Scene {
  readonly loop: Loop;
  readonly folder: string;
  readonly service: SimService;
  readonly receiver: string;
  readonly postgres: SimPostgres;
  readonly onLine: (line: LogLine) => void;
}

export class Replicas implements Subject {
  readonly #loop: Loop;
  readonly #postgres: SimPostgres;
  readonly daemons: readonly SimDaemon[];
  readonly #accounts: readonly string[];
  /** Replicas that are stopped, each with the process that was running. */
  readonly #stopped = new Map<SimDaemon, Process>();
  /** Time from which on a start must not fail. */
  #calm = 0;
  /** Time until which a replica may believe that it owns an account of another one, because a clock was wrong. */
  #unsteadyUntil = 0;
  /** The same of each process whose machine did not know that it was suspended. */
  readonly #misledUntil = new WeakMap<Process, number>();

  constructor({ loop, folder, service, receiver, postgres, onLine }: Scene) {
    this.#loop = loop;
    this.#postgres = postgres;
    this.#accounts = ['production', ...(hasStaging(loop) ? [STAGING.name] : [])];
    const seeded = loop.random('replicas');
    // All replicas have equal policies.
    const randomOf = () => loop.random('history');
    const signingKey = service.emulator.signingKeys('acc-1').current;
    const canaries = canariesOf(loop);
    this.daemons = Array.from({ length: seeded() < 0.5 ? 2 : 3 }, (_, at) => {
      const label = `opsd-${at + 1}`;
      const port = FIRST_PORT + at;
      const daemon = new SimDaemon(loop, `${folder}/${label}`, onLine, label, port);
      const storage = `postgres: { url: "${postgres.url}", replica: ${label}, leaseFor: 1m }`;
      const place = { storage, port, hooksPort: FIRST_HOOKS_PORT + at };
      daemon.mayFail = () => loop.faults.active || loop.time < this.#calm;
      daemon.put(TOKEN_FILE, service.token);
      daemon.put(KEY_FILE, KEY);
      daemon.configure(
        configOf({
          service: service.emulator.url,
          receiver,
          signingKey,
          random: randomOf(),
          canaries,
          hasStaging: hasStaging(loop),
          place,
        }),
      );
      return daemon;
    });
    balance(loop, () => FIRST_HOOKS_PORT + this.daemons.indexOf(this.#any()));
    postgres.onStop = (replica) => {
      const daemon = this.daemons.find(({ label }) => label === replica);
      if (daemon !== undefined) this.#stop(daemon, loop.faults.below(LONGEST_STOP_MS));
    };
  }

  get books() {
    return this.#postgres.books;
  }

  /** Socket of one of the replicas. */
  get socketPath(): string {
    return this.#any().socketPath;
  }

  whenCommitted(work: () => void): void {
    this.#postgres.whenIdle(work);
  }

  owns(process: Process): boolean {
    return this.daemons.some((daemon) => daemon.process === process);
  }

  forbids(process: Process): readonly Forbidden[] {
    if (!this.#postgres.isIdle) return [];
    const { label } = process;
    const mayRead = this.#loop.time < Math.max(this.#unsteadyUntil, this.#misledUntil.get(process) ?? 0);
    const lease = this.books.prepare('SELECT owner, epoch FROM leases WHERE account = ?');
    return this.#accounts.flatMap((account) => {
      const found = lease.get(account);
      return isOwner(label, found?.['owner']) ? [] : [{ account, label, mayRead, ...found }];
    });
  }

  /** Returns the metrics of each account from its owner. @throws {Error} if an account has none */
  async scrape(by: Process) {
    const settled = await Promise.allSettled(this.daemons.map((daemon) => daemon.scrape(by)));
    const scraped = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const owners = this.#accounts.map((account) => ({ account, ...ownerOf(account, scraped) }));
    const samples = owners.flatMap(({ account, metrics }, at) =>
      metrics.samples.filter(({ labels }) =>
        labels['account'] === undefined ? at === 0 : labels['account'] === account,
      ),
    );
    // A replica that has just taken an account has no series of it until it has read the store.
    const isPresent = owners.every(
      (one) => one.isPresent && one.metrics.all('msgsvc_log_events_total', { account: one.account }).length > 0,
    );
    return { metrics: expositionOf(samples, owners[0]!.metrics.types), isPresent };
  }

  start(): void {
    for (const daemon of this.daemons) daemon.start();
  }

  /** Process of one of the replicas. */
  get process(): Process {
    return this.#any().process;
  }

  crash(where: string): void {
    this.#any().crash(where);
  }

  /** Reloads one replica after the other. */
  reload(): void {
    this.daemons.forEach((daemon, at) =>
      this.#loop.after(at * MINUTE, WORLD, `${daemon.label} reloads`, () => daemon.reload()),
    );
  }

  /** Makes what happens to replicas and their database in a minute. */
  minute(operator: Operator): void {
    const { faults } = this.#loop;
    const strikes = (kind: string, likelihood: number): boolean =>
      faults.strikes(kind, likelihood * this.#weightOf(kind));
    const postgres = this.#postgres;
    if (strikes('crash', 0.02)) this.crash('at any step');
    if (strikes('stop of a process', 0.02)) this.#stop(this.#victim(), faults.below(LONGEST_MS));
    if (strikes('suspended machine', 0.03)) this.#suspend(this.#victim(), faults.below(LONGEST_STOP_MS));
    if (strikes('misled machine', 0.03)) this.#suspend(this.#victim(), faults.below(LONGEST_STOP_MS), true);
    if (strikes('database stalls', 0.01)) postgres.stall(faults.below(LONGEST_MS));
    if (strikes('database restarts', 0.01)) postgres.restart(faults.below(LONGEST_MS));
    if (strikes('database apart', 0.02)) this.#part(this.#victim(), faults.below(LONGEST_PART_MS), operator);
    if (strikes('database clock step', 0.01)) this.#step(faults.below(LONGEST_STEP_MS));
    if (strikes('scale', 0.03)) this.#scale(this.#any());
  }

  /** Ends all faults. Every replica runs within minutes. */
  rest(): void {
    this.#postgres.heal();
    this.#step(0);
    this.#calm = this.#loop.time + CALM_MS;
    for (const daemon of this.#stopped.keys()) this.#restart(daemon);
  }

  async stop(): Promise<void> {
    await Promise.all(this.daemons.map((daemon) => daemon.stop()));
  }

  #weightOf(kind: string): number {
    const weights = this.#loop.random(`weight of ${kind}`);
    return WEIGHTS[Math.floor(weights() * WEIGHTS.length)]!;
  }

  #any(): SimDaemon {
    const { faults } = this.#loop;
    return this.daemons[faults.below(this.daemons.length)]!;
  }

  /** Returns the owner of an account, most of the time: its faults do the most harm. */
  #victim(): SimDaemon {
    const { faults } = this.#loop;
    const account = this.#accounts[faults.below(this.#accounts.length)]!;
    if (faults.below(3) === 0 || !this.#postgres.isIdle) return this.#any();
    const lease = this.books.prepare('SELECT owner FROM leases WHERE account = ?').get(account);
    return this.daemons.find(({ label }) => isOwner(label, lease?.['owner'])) ?? this.#any();
  }

  /** Stops a process as SIGSTOP does, or a long collection of garbage. */
  #stop({ label, process }: SimDaemon, ms: number): void {
    this.#loop.note(WORLD, `${label} stops for ${ms} ms`);
    // A machine that is suspended for longer stays so.
    process.stoppedUntil = Math.max(process.stoppedUntil, this.#loop.time + ms);
    process.isSlowToWake = ms % 2 === 0;
  }

  /**
   * Suspends the machine of a replica, as hosts do to move it: its lease seems to last.
   *
   * @param isMisled true if its wall clock stops too
   */
  #suspend(daemon: SimDaemon, ms: number, isMisled = false): void {
    const { process } = daemon;
    // Otherwise, its monotonic clock would go back.
    if (process.stoppedUntil > this.#loop.time) return;
    this.#loop.note(WORLD, `the machine of ${daemon.label} is suspended`);
    this.#stop(daemon, ms);
    process.suspended += ms;
    // Requests that it has begun by mistake are sent when it continues.
    const misledUntil = this.#misledUntil.get(process) ?? 0;
    if (misledUntil > this.#loop.time) this.#misledUntil.set(process, misledUntil + ms);
    // Packets that a suspended machine missed are sent again at times.
    deafen(process, process.stoppedUntil + this.#loop.faults.below(LONGEST_DEAF_MS));
    if (isMisled) this.#mislead(process, ms);
  }

  /** Stops the wall clock of a suspended machine: until a time server puts it right, only the database knows better. */
  #mislead(process: Process, ms: number): void {
    process.missed += ms;
    this.#misledUntil.set(process, process.stoppedUntil + LONGEST_MISLED_MS + UNSTEADY_MS);
    this.#loop.after(ms + this.#loop.faults.below(LONGEST_MISLED_MS), WORLD, 'a time server responds', () => {
      process.missed = 0;
    });
  }

  /** Cuts a replica off from the database. An operator may pause it, or a supervisor end it, before it is back. */
  #part(daemon: SimDaemon, ms: number, operator: Operator): void {
    const { faults } = this.#loop;
    this.#postgres.part(daemon.label, ms);
    const { process } = daemon;
    const pause = (): void => operator.pauseAll(daemon);
    const reaction = [pause, pause, () => daemon.crash('without its database'), () => undefined][faults.below(4)]!;
    this.#loop.after(faults.below(ms / 2), WORLD, 'a reaction', () => {
      if (daemon.process === process) reaction();
    });
  }

  /** Moves the database's clock. Leases may end early or late. */
  #step(ms: number): void {
    this.#postgres.step(ms);
    this.#unsteadyUntil = Math.max(this.#unsteadyUntil, this.#loop.time + UNSTEADY_MS);
  }

  /** Ends a replica as SIGTERM does, and starts it again some minutes later. */
  #scale(daemon: SimDaemon): void {
    if (this.#stopped.has(daemon) || !daemon.process.alive) return;
    this.#loop.note(WORLD, `${daemon.label} is stopped`);
    this.#stopped.set(daemon, daemon.process);
    void daemon.stop();
    this.#loop.after(this.#loop.faults.below(10) * MINUTE, WORLD, 'a replica starts again', () =>
      this.#restart(daemon),
    );
  }

  #restart(daemon: SimDaemon): void {
    const before = this.#stopped.get(daemon);
    this.#stopped.delete(daemon);
    // A crash has started it again already.
    if (daemon.process !== before) return;
    void daemon.ended.then(() => {
      if (daemon.process !== before) return;
      const { faults } = this.#loop;
      // A replica that has just joined does not know of the step.
      if (faults.strikes('database clock step at a start', 0.5)) this.#step(faults.below(LONGEST_STEP_MS));
      daemon.start();
    });
  }
}

/** @throws {Error} if no replica owns the account, and {Violation} if two own it at the same epoch */
function ownerOf(account: string, scraped: readonly Scraped[]): Scraped {
  const owners = scraped
    .map((one) => ({ ...one, epoch: epochOf(one.metrics, account) }))
    .filter((one): one is Scraped & { readonly epoch: number } => one.epoch !== undefined)
    .toSorted((one, other) => other.epoch - one.epoch);
  const [owner, second] = owners;
  if (owner === undefined) throw new Error(`no replica owns ${account}`);
  if (owner.epoch === second?.epoch)
    throw new Violation('one replica owns the account', `two have epoch ${owner.epoch}`);
  return owner;
}

/** Epoch of the lease on the account; undefined if the replica does not own it. */
function epochOf(metrics: Exposition, account: string): number | undefined {
  const labels = { account };
  if (metrics.value('opsd_lease_owner', labels) !== 1) return undefined;
  return metrics.value('opsd_lease_epoch', labels);
}

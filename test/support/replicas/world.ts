/** Replicas of the daemon over one PostgreSQL and one embedded service, with everything that observes them. */
import type { Emulator } from '#emulator/emulator.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../http-sink.ts';
import { testEmulator } from '../test-emulator.ts';
import { until } from '../until.ts';
import { ActionsRecord } from './actions-record.ts';
import { DatabaseServer } from './database-server.ts';
import { Points } from './points.ts';
import { ReplicaHost, type Arrival } from './replica-host.ts';
import { campaignAccounts, type CampaignAccount } from './settings.ts';
import { Takeovers } from './takeovers.ts';
import { answerTraffic, Traffic } from './traffic.ts';
import { Witness } from './witness.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly replicas: number;
  readonly accounts: number;
  readonly leaseMs: number;
  /** Timeout of requests to the service, below the lease. */
  readonly requestMs: number;
  /** Maximum number of actions of all policies in an hour. */
  readonly perHour: number;
}

/** Differences of the replicas' clocks from the service's clock, in milliseconds. */
const SKEWS = [0, 0, 57_000, -3_000];

export class World {
  readonly options: WorldOptions;
  readonly emulator: Emulator;
  readonly server: DatabaseServer;
  readonly accounts: readonly CampaignAccount[];
  readonly points = new Points();
  readonly takeovers = new Takeovers();
  readonly handovers = new Takeovers();
  /** Requests of actions as they arrived at the links. */
  readonly writes: Arrival[] = [];
  readonly hosts: ReplicaHost[] = [];
  readonly traffic: Traffic;
  readonly below: (max: number) => number;
  /** Epoch milliseconds since which the service's log is counted. */
  readonly begunAt = Date.now();
  #witness: Witness | undefined;
  #record: ActionsRecord | undefined;
  readonly #before = new Map<string, number>();

  private constructor(
    options: WorldOptions,
    of: Pick<World, 'emulator' | 'server' | 'accounts' | 'below'> & { readonly sinkUrl: string },
  ) {
    this.options = options;
    this.emulator = of.emulator;
    this.server = of.server;
    this.accounts = of.accounts;
    this.below = of.below;
    this.traffic = new Traffic(of);
    this.traffic.begin();
    for (const { name } of this.accounts) this.#before.set(name, this.#entries(name));
  }

  static async start(options: WorldOptions): Promise<World> {
    const random = seededRandom(options.seed);
    const accounts = campaignAccounts(options.accounts);
    const emulator = await testEmulator({
      control: true,
      random: seededRandom(options.seed + 1),
      accounts: accounts.map(({ name, token }) => ({ id: name, token })),
    });
    const sink = await httpSink(answerTraffic());
    const server = await DatabaseServer.start();
    const below = (max: number): number => Math.floor(random() * max);
    const world = new World(options, { emulator, server, accounts, below, sinkUrl: sink.url });
    await world.#startHosts();
    return world;
  }

  get leaseMs(): number {
    return this.options.leaseMs;
  }

  get witness(): Witness {
    return this.#witness!;
  }

  get record(): ActionsRecord {
    return this.#record!;
  }

  /** Starts a replica with another clock than before. */
  start(host: ReplicaHost): void {
    host.start(SKEWS[this.below(SKEWS.length)]!);
  }

  /** Entries that the service has logged for an account since the beginning. */
  logged(account: string): number {
    return this.#entries(account) - this.#before.get(account)!;
  }

  /** Waits until every account has one owner, which has counted all entries that the service has logged by now. */
  async settled(): Promise<void> {
    const targets = this.accounts.map(({ name }) => [name, this.logged(name)] as const);
    await until({ what: 'one owner of each account that has counted all entries', pauseMs: 100 }, async () => {
      for (const host of this.hosts) host.checkAlive();
      await this.emulator.idle();
      const from = performance.now();
      const looks = await until({ what: 'a scrape of each replica' }, () => this.witness.since(from));
      for (const [name, target] of targets) {
        const owners = looks.flatMap(({ accounts }) => (accounts.get(name)?.isOwner ? [accounts.get(name)!] : []));
        if (owners.length !== 1) throw new Error(`${name} has ${owners.length} owners`);
        const { logged } = owners[0]!;
        // Without the series, no replica has begun to count: entries until then are never counted.
        if (logged === undefined || logged < target)
          throw new Error(`${name}: ${logged} entries counted of ${this.logged(name)}`);
      }
      return true;
    });
  }

  #entries(account: string): number {
    return this.emulator.state(account).log.nextSequence;
  }

  async #startHosts(): Promise<void> {
    const { replicas } = this.options;
    const { emulator, accounts, points } = this;
    const service = Number(new URL(emulator.url).port);
    const onRequest = (request: Arrival): void => {
      this.takeovers.arrived(request);
      this.handovers.arrived(request);
      if (request.isWrite) this.writes.push(request);
    };
    for (let number = 1; number <= replicas; number += 1) {
      const own = { name: `r${number}`, accounts, service, points, onRequest };
      this.hosts.push(await ReplicaHost.create({ ...this.options, ...own, store: this.server.url }));
    }
    const senders = new Map(
      this.hosts.flatMap(({ name, ports }) =>
        [...ports].map(([port, account]) => [port, { replica: name, account }] as const),
      ),
    );
    this.#record = new ActionsRecord(emulator, (port) => senders.get(port));
    const loggedBy = (account: string): number => this.logged(account);
    this.#witness = new Witness(this.hosts, loggedBy);
    const [first, ...others] = this.hosts;
    this.start(first!);
    await first!.program.logged('daemon running');
    await this.server.recordLeases();
    for (const host of others) this.start(host);
    await this.settled();
  }
}

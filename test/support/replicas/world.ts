/** Replicas of the daemon over one PostgreSQL and one embedded service, with everything that observes them. */
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../http-sink.ts';
import type { Program } from '../program.ts';
import { testEmulator } from '../test-emulator.ts';
import { until } from '../until.ts';
import { ActionsRecord } from './actions-record.ts';
import { databaseServer } from './database-server.ts';
import { Points } from './points.ts';
import { replicaHost, type Arrival, type ReplicaHost } from './replica-host.ts';
import { campaignAccounts } from './settings.ts';
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

export type World = Awaited<ReturnType<typeof startWorld>>;

export async function startWorld(options: WorldOptions) {
  const random = seededRandom(options.seed);
  const below = (max: number): number => Math.floor(random() * max);
  const accounts = campaignAccounts(options.accounts);
  const emulator = await testEmulator({
    control: true,
    random: seededRandom(options.seed + 1),
    accounts: accounts.map(({ name, token }) => ({ id: name, token })),
  });
  const sink = await httpSink(answerTraffic());
  const server = await databaseServer();
  const begunAt = Date.now();
  const traffic = new Traffic({ emulator, sinkUrl: sink.url, accounts, below });
  await traffic.begin();
  const entries = (account: string): number => emulator.state(account).log.nextSequence;
  const before = new Map(accounts.map(({ name }) => [name, entries(name)]));
  /** Returns the entries that the service has logged for an account since the beginning. */
  const logged = (account: string): number => entries(account) - before.get(account)!;

  const [takeovers, handovers, points] = [new Takeovers(), new Takeovers(), new Points()];
  const writes: Arrival[] = [];
  const onRequest = (request: Arrival): void => {
    takeovers.arrived(request);
    handovers.arrived(request);
    if (request.isWrite) writes.push(request);
  };
  const service = Number(new URL(emulator.url).port);
  const hosts: ReplicaHost[] = [];
  for (let number = 1; number <= options.replicas; number += 1) {
    const own = { name: `r${number}`, accounts, service, points, onRequest };
    hosts.push(await replicaHost({ ...options, ...own, store: server.url }));
  }
  const record = new ActionsRecord(emulator, hosts);
  const witness = new Witness(hosts, logged);

  /** Starts a replica with another clock than before. */
  const start = (host: ReplicaHost): Program => host.start(SKEWS[below(SKEWS.length)]!);

  /** Waits until every account has one owner, which has counted all entries that the service has logged by now. */
  async function settled(): Promise<void> {
    const targets = accounts.map(({ name }) => [name, logged(name)] as const);
    await until({ what: 'one owner of each account that has counted all entries', pauseMs: 100 }, async () => {
      for (const host of hosts) host.checkAlive();
      await emulator.idle();
      const from = performance.now();
      const looks = await until({ what: 'a scrape of each replica' }, () => witness.since(from));
      for (const [name, target] of targets) {
        const owners = looks.flatMap((look) => (look.accounts.get(name)?.isOwner ? [look.accounts.get(name)!] : []));
        if (owners.length !== 1) throw new Error(`${name} has ${owners.length} owners`);
        const counted = owners[0]!.logged;
        // Without the series, no replica has begun to count: entries until then are never counted.
        if (counted === undefined || counted < target)
          throw new Error(`${name}: ${counted} entries counted of ${logged(name)}`);
      }
      return true;
    });
  }

  const [first, ...others] = hosts;
  await start(first!).logged('daemon running');
  await server.recordLeases();
  for (const host of others) start(host);
  await settled();
  return {
    emulator,
    server,
    accounts,
    points,
    takeovers,
    handovers,
    /** Requests of actions as they arrived at the links. */
    writes,
    hosts,
    traffic,
    below,
    /** Epoch milliseconds since which the service's log is counted. */
    begunAt,
    leaseMs: options.leaseMs,
    witness,
    record,
    start,
    settled,
  };
}

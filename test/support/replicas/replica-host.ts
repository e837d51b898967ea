/** Replica of the daemon as a process, with links to its database and to the service that a test disturbs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { clockedOpsd, type Program } from '../program.ts';
import { tempDir } from '../temp-dir.ts';
import { Link } from './link.ts';
import type { Points } from './points.ts';
import { replicaConfig, type CampaignAccount } from './settings.ts';

export interface HostOptions {
  readonly name: string;
  /** URL of the database, without the link. */
  readonly store: string;
  readonly leaseMs: number;
  readonly requestMs: number;
  readonly perHour: number;
  readonly accounts: readonly CampaignAccount[];
  /** Port of the service. */
  readonly service: number;
  readonly points: Points;
  /** Called when a request of this replica arrives. */
  readonly onRequest: (request: Arrival) => void;
}

export interface Arrival {
  readonly replica: string;
  readonly account: string;
  readonly isWrite: boolean;
  /** Epoch milliseconds. */
  readonly at: number;
}

export type ReplicaHost = Awaited<ReturnType<typeof replicaHost>>;

/** Opens the links of a replica, and writes its configuration. No process runs yet. */
export async function replicaHost(options: HostOptions) {
  const { name, store, leaseMs, accounts, points } = options;
  const services = new Map<string, Link>();
  for (const account of accounts) {
    const gate = points.service(name, (isWrite) =>
      options.onRequest({ replica: name, account: account.name, isWrite, at: Date.now() }),
    );
    services.set(account.name, await Link.open(options.service, gate));
  }
  const place = new URL(store);
  const database = await Link.open(Number(place.port), points.database(name));
  place.port = String(database.port);
  const storage = { postgres: { url: place.href, replica: name, leaseFor: `${leaseMs}ms` } };
  const listen = `127.0.0.1:${await freePort()}`;
  const config = join(tempDir(), 'opsd.yaml');
  const urlOf = (account: CampaignAccount): string => `http://127.0.0.1:${services.get(account.name)!.port}`;
  writeFileSync(config, replicaConfig({ ...options, listen, storage: JSON.stringify(storage), urlOf }));

  let program: Program | undefined;
  const running = (): Program => {
    if (program === undefined) throw new Error(`${name} is not running`);
    return program;
  };
  const state = { processes: 0, isPaused: false, isCutOff: false };
  return {
    name,
    /** Base URL of the pages and metrics, the same for each process. */
    url: `http://${listen}`,
    /** Accounts by the port of the service that this replica uses for them. */
    ports: new Map([...services].map(([account, { port }]) => [port, account] as const)),
    /** `processes` counts those until now. `isCutOff` is true while a test disturbs the link to the database. */
    state,
    get isRunning(): boolean {
      return program !== undefined;
    },
    /** True while the process exists and is not paused. */
    get isLive(): boolean {
      return program !== undefined && !state.isPaused;
    },
    /** Lets the link to the database fall silent. */
    cutOff(): void {
      state.isCutOff = true;
      database.silence();
    },
    heal(): void {
      database.heal();
      state.isCutOff = false;
    },
    /** @throws {Error} if the process has ended by itself */
    checkAlive(): void {
      const { exitCode, signalCode } = program?.child ?? {};
      if (exitCode == null && signalCode == null) return;
      throw new Error(`${name} ended with ${exitCode ?? signalCode}: ${program!.stderr().slice(-4_000)}`);
    },
    start(aheadMs: number): Program {
      state.processes += 1;
      return (program = clockedOpsd({ aheadMs }, ['run', '--config', config]));
    },
    async kill(): Promise<void> {
      await running().crash();
      program = undefined;
      state.isPaused = false;
    },
    pause(): void {
      running().kill('SIGSTOP');
      state.isPaused = true;
    },
    resume(): void {
      running().kill('SIGCONT');
      state.isPaused = false;
    },
    /** Stops the process, which hands over its accounts. */
    async stop(): Promise<void> {
      await running().stop();
      program = undefined;
    },
  };
}

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

export class ReplicaHost {
  readonly name: string;
  /** Base URL of the pages and metrics, the same for each process. */
  readonly url: string;
  readonly database: Link;
  /** Accounts by the port of the service that this replica uses for them. */
  readonly ports: ReadonlyMap<number, string>;
  readonly #config: string;
  #program: Program | undefined;
  #isPaused = false;
  #isCutOff = false;
  processes = 0;

  private constructor(of: Pick<ReplicaHost, 'name' | 'url' | 'database' | 'ports'> & { readonly config: string }) {
    this.name = of.name;
    this.url = of.url;
    this.database = of.database;
    this.ports = of.ports;
    this.#config = of.config;
  }

  static async create(options: HostOptions): Promise<ReplicaHost> {
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
    const ports = new Map([...services].map(([account, { port }]) => [port, account] as const));
    return new ReplicaHost({ name, url: `http://${listen}`, database, ports, config });
  }

  get isRunning(): boolean {
    return this.#program !== undefined;
  }

  /** True while the process exists and is not paused. */
  get isLive(): boolean {
    return this.#program !== undefined && !this.#isPaused;
  }

  get program(): Program {
    if (this.#program === undefined) throw new Error(`${this.name} is not running`);
    return this.#program;
  }

  /** True while a test disturbs the link to the database. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** Breaks the link to the database, or lets it fall silent. */
  cutOff(how: 'cut' | 'silent'): void {
    this.#isCutOff = true;
    if (how === 'cut') this.database.cut();
    else this.database.silence();
  }

  heal(): void {
    this.database.heal();
    this.#isCutOff = false;
  }

  /** @throws {Error} if the process has ended by itself */
  checkAlive(): void {
    const { exitCode, signalCode } = this.#program?.child ?? {};
    if (exitCode == null && signalCode == null) return;
    throw new Error(`${this.name} ended with ${exitCode ?? signalCode}: ${this.#program!.stderr().slice(-4_000)}`);
  }

  start(aheadMs: number): Program {
    this.processes += 1;
    this.#program = clockedOpsd({ aheadMs }, ['run', '--config', this.#config]);
    return this.#program;
  }

  async kill(): Promise<void> {
    const { program } = this;
    await program.crash();
    this.#program = undefined;
    this.#isPaused = false;
  }

  pause(): void {
    this.program.kill('SIGSTOP');
    this.#isPaused = true;
  }

  resume(): void {
    this.program.kill('SIGCONT');
    this.#isPaused = false;
  }

  /** Stops the process, which hands over its accounts. */
  async stop(): Promise<void> {
    const { program } = this;
    program.kill('SIGTERM');
    const { code } = await program.ended;
    if (code !== 0) throw new Error(`${this.name} ended with ${code}: ${program.stderr().slice(-4_000)}`);
    this.#program = undefined;
  }
}

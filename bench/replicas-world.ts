/** World of the replicas' benchmark: a service, a store, and daemons over it, each in a process of its own. */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { replicaFor } from '#storage/postgres/rendezvous.ts';
import { parseExposition } from '../test/support/exposition.ts';
import { freePort } from '../test/support/free-port.ts';
import { cpuMs, parentOf, pause, residentBytes, stop, sum, usageWithChildren, type Usage } from './measure.ts';
import { emptyDatabase, LISTS_STATEMENTS } from './postgres-store.ts';
import {
  accountsOf,
  daemonConfig,
  type BenchAccount,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceStart,
} from './replicas-settings.ts';

/** Flags of the image and of the package's scripts. */
const FLAGS = ['--min-semi-space-size=2', '--max-semi-space-size=4'];

export interface WorldOptions {
  /** An empty folder. */
  readonly folder: string;
  /** First file of the program. */
  readonly program: string;
  /** Number of daemons; 0 for one daemon on SQLite. */
  readonly replicas: number;
  readonly accounts: number;
  readonly leaseMs: number;
  /** Interval of reading each log. Absent: the default settings. */
  readonly logsEvery?: string;
}

/** One daemon, in one process after the other. */
export interface Daemon {
  readonly name: string;
  readonly url: string;
  readonly config: string;
  readonly folder: string;
  child: ChildProcess | undefined;
}

/** An account as the metrics of its owner show it. */
export interface Exposed {
  readonly owners: readonly string[];
  /** Counted log entries. */
  readonly counted: number;
  /** End of the counted log, in epoch seconds. */
  readonly watermark: number;
}

/** What has been used since the start of the processes. */
export interface Spent {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly daemons: readonly Usage[];
  readonly service: Usage;
  readonly postgres: Usage;
  readonly transactions: number;
  /** Calls of each statement of PostgreSQL, if it lists them. */
  readonly statements: ReadonlyMap<string, number>;
}

/** Pause between two scrapes for each account, because a scrape costs as much as there are accounts. */
const SCRAPE_PAUSE_MS = 5;
/** A limit on hanging: a busy machine is no failure. */
const TIMEOUT_MS = 600_000;
const NOTHING: Usage = { cpuMs: 0, bytes: 0 };
const METRICS = /^(?:opsd_lease_owner|opsd_log_watermark_timestamp_seconds|msgsvc_log_events_total)\{/;

export class World implements AsyncDisposable {
  readonly accounts: readonly BenchAccount[];
  readonly daemons: readonly Daemon[];
  readonly #program: string;
  readonly #service: ChildProcess;
  /** Absent with SQLite. */
  readonly #database: pg.Client | undefined;
  #postmaster = 0;

  private constructor(of: Pick<World, 'accounts' | 'daemons'> & Processes) {
    this.accounts = of.accounts;
    this.daemons = of.daemons;
    this.#program = of.program;
    this.#service = of.service;
    this.#database = of.database;
  }

  /** Creates a world whose daemons are not started. */
  static async create({ folder, program, replicas, leaseMs, logsEvery, ...options }: WorldOptions): Promise<World> {
    const accounts = accountsOf(options.accounts);
    const service = fork(join(import.meta.dirname, 'replicas-service.ts'), [String(accounts.length)]);
    const [{ url }] = (await once(service, 'message')) as [ServiceStart];
    const store = replicas === 0 ? undefined : await emptyDatabase();
    const daemons: Daemon[] = [];
    for (let number = 1; number <= Math.max(1, replicas); number += 1) {
      const name = `r${number}`;
      const own = join(folder, name);
      mkdirSync(own);
      const listen = `127.0.0.1:${await freePort()}`;
      const postgres = { url: store, replica: name, leaseFor: `${leaseMs}ms` };
      const storage = store === undefined ? { sqlite: { path: 'opsd.db' } } : { postgres };
      const config = join(own, 'opsd.yaml');
      writeFileSync(config, daemonConfig({ listen, storage, service: url, accounts, logsEvery }));
      daemons.push({ name, url: `http://${listen}`, config, folder: own, child: undefined });
    }
    const database = store === undefined ? undefined : new pg.Client(store);
    const world = new World({ accounts, daemons, program, service, database });
    await world.#connect();
    return world;
  }

  get live(): readonly Daemon[] {
    return this.daemons.filter(({ child }) => child !== undefined);
  }

  start(daemon: Daemon): void {
    const log = openSync(join(daemon.folder, 'log'), 'a');
    const args = [...FLAGS, this.#program, 'run', '--config', daemon.config];
    daemon.child = spawn(process.execPath, args, { stdio: ['ignore', log, log] });
  }

  async end(daemon: Daemon, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = daemon.child!;
    daemon.child = undefined;
    await stop(child, signal);
  }

  /** Sets the rate of new log entries, and returns how many each account has. */
  async logged(request: ServiceRequest = {}): Promise<ReadonlyMap<string, number>> {
    const response = once(this.#service, 'message') as Promise<[ServiceResponse]>;
    this.#service.send(request);
    const [{ logged }] = await response;
    return new Map(this.accounts.map(({ name }, at) => [name, logged[at]!]));
  }

  /** Returns true if the right live daemon, and no other one, owns an account and reads its log. */
  isOwned(name: string, { owners, watermark }: Exposed): boolean {
    const candidates = this.live.map((daemon) => ({ id: daemon.name, name: daemon.name }));
    return owners.join() === replicaFor(name, candidates) && watermark > 0;
  }

  /** Scrapes all live daemons. Returns all accounts. */
  async exposed(): Promise<ReadonlyMap<string, Exposed>> {
    const scrapes = await Promise.all(this.live.map(async (daemon) => [daemon.name, await scraped(daemon)] as const));
    return new Map(
      this.accounts.map(({ name: account }) => {
        const owners = scrapes.flatMap(([name, of]) => (of.get(account)?.isOwner === true ? [name] : []));
        const owner = scrapes.find(([name]) => name === owners[0])?.[1].get(account);
        return [account, { owners, counted: owner?.counted ?? 0, watermark: owner?.watermark ?? 0 }];
      }),
    );
  }

  /** Waits until the daemons show what is expected. */
  async until(what: string, isTrue: (name: string, account: Exposed) => boolean): Promise<void> {
    const deadline = performance.now() + TIMEOUT_MS;
    for (;;) {
      for (const { child, name, folder } of this.live) {
        if (child!.exitCode === null) continue;
        const log = readFileSync(join(folder, 'log'), 'utf8');
        throw new Error(`${name} ended with ${child!.exitCode}: ${log.slice(-2_000)}`);
      }
      const wrong = [...(await this.exposed())].filter(([name, account]) => !isTrue(name, account));
      const [first] = wrong;
      if (first === undefined) return;
      if (performance.now() > deadline) {
        throw new Error(`not ${what}: ${wrong.length} accounts differ, first ${JSON.stringify(first)}`);
      }
      await pause(this.accounts.length * SCRAPE_PAUSE_MS);
    }
  }

  async spent(): Promise<Spent> {
    const sql = `SELECT sum(xact_commit + xact_rollback)::float8 AS transactions
      FROM pg_stat_database WHERE datname = current_database()`;
    const rows = (await this.#database?.query<{ transactions: number }>(sql))?.rows ?? [];
    return {
      at: performance.now(),
      daemons: this.live.map(({ child }) => usageOf(child!)),
      service: usageOf(this.#service),
      postgres: this.#database === undefined ? NOTHING : usageWithChildren(this.#postmaster),
      transactions: sum(rows.map(({ transactions }) => transactions)),
      statements: await this.#statements(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const daemon of this.live) await this.end(daemon, 'SIGKILL');
    await this.#database?.end();
    await stop(this.#service);
  }

  async #statements(): Promise<ReadonlyMap<string, number>> {
    if (!LISTS_STATEMENTS) return new Map();
    const sql = `SELECT regexp_replace(query, '\\s+', ' ', 'g') AS text, sum(calls)::float8 AS calls
      FROM pg_stat_statements JOIN pg_database d ON d.oid = dbid WHERE datname = current_database() GROUP BY 1`;
    const { rows } = await this.#database!.query<{ text: string; calls: number }>(sql);
    return new Map(rows.map(({ text, calls }) => [text, calls]));
  }

  async #connect(): Promise<void> {
    await this.#database?.connect();
    if (LISTS_STATEMENTS) await this.#database?.query('CREATE EXTENSION pg_stat_statements');
    const { rows = [] } = (await this.#database?.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')) ?? {};
    for (const { pid } of rows) this.#postmaster = parentOf(pid);
  }
}

interface Processes {
  readonly program: string;
  readonly service: ChildProcess;
  readonly database: pg.Client | undefined;
}

interface Scraped {
  readonly isOwner: boolean;
  readonly counted: number;
  readonly watermark: number;
}

/** Returns the accounts that a daemon exports; none if it does not respond. */
async function scraped({ url }: Daemon): Promise<ReadonlyMap<string, Scraped>> {
  const text = await fetch(`${url}/metrics`).then(
    (response) => response.text(),
    () => '',
  );
  const { samples } = parseExposition(
    text
      .split('\n')
      .filter((line) => METRICS.test(line))
      .join('\n'),
  );
  // With SQLite, a daemon owns all accounts that it exports.
  const isShared = samples.some(({ name }) => name === 'opsd_lease_owner');
  const accounts = new Map<string, Scraped>();
  for (const { name, labels, value } of samples) {
    const account = labels['account']!;
    const { isOwner, counted, watermark } = accounts.get(account) ?? { isOwner: !isShared, counted: 0, watermark: 0 };
    accounts.set(account, {
      isOwner: name === 'opsd_lease_owner' ? value === 1 : isOwner,
      counted: name === 'msgsvc_log_events_total' ? counted + value : counted,
      watermark: name === 'opsd_log_watermark_timestamp_seconds' ? value : watermark,
    });
  }
  return accounts;
}

function usageOf({ pid }: ChildProcess): Usage {
  return { cpuMs: cpuMs(pid!), bytes: residentBytes(pid!) };
}

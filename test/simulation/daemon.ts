/** The daemon as `opsd run` starts it, with its folder. A crash leaves what was durable at that moment. */
import { cpSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startApp } from '#app/daemon.ts';
import { runDaemon } from '#app/run.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { formatProblems, loadConfig } from '#config/load.ts';
import { parseExposition } from '../support/exposition.ts';
import { databasesOf } from './disk.ts';
import { exchange } from './exchange.ts';
import { EPOCH, Process, runAs, WORLD, type Loop } from './loop.ts';
import { disconnect } from './network.ts';
import type { Books, Subject } from './subject.ts';

/** Maximum time until a crashed daemon is started again. */
const LONGEST_REST_MS = 120_000;

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export class SimDaemon implements Subject {
  readonly label: string;
  readonly port: number;
  readonly #loop: Loop;
  readonly #folder: string;
  readonly #onLine: (line: LogLine) => void;
  #life = 0;
  #stop = new AbortController();
  #hangup: (() => void) | undefined;
  process: Process;
  /** Resolves when the running daemon has stopped. */
  ended: Promise<void> = Promise.resolve();
  crashes = 0;
  /** Returns true while a fault may prevent a start. */
  mayFail = (): boolean => this.#loop.faults.active;

  constructor(loop: Loop, folder: string, onLine: (line: LogLine) => void, label = 'opsd', port = 8_080) {
    this.label = label;
    this.port = port;
    this.process = new Process('opsd', label);
    this.#loop = loop;
    this.#folder = folder;
    this.#onLine = onLine;
    mkdirSync(this.folder, { recursive: true });
  }

  /** Folder of the present life, with the configuration and the store. */
  get folder(): string {
    return join(this.#folder, `life-${this.#life}`);
  }

  get store(): string {
    return join(this.folder, 'opsd.db');
  }

  get socketPath(): string {
    return `${this.store}.sock`;
  }

  /** The open store. */
  get books(): Books {
    return [...databasesOf(this.process)].find((one) => one.location() === this.store)!;
  }

  whenCommitted(work: () => void): void {
    work();
  }

  owns(process: Process): boolean {
    return process === this.process;
  }

  forbids(): readonly [] {
    return [];
  }

  async scrape(by: Process) {
    const scraped = this.process;
    const { text } = await exchange(by, { url: `http://127.0.0.1:${this.port}`, path: '/metrics' });
    return { metrics: parseExposition(text), isPresent: scraped === this.process };
  }

  configure(text: string): void {
    this.put('opsd.yaml', text);
  }

  /** Writes a file beside the configuration. */
  put(name: string, text: string): void {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    const at = (EPOCH + this.#loop.time) / 1_000;
    utimesSync(path, at, at);
  }

  /** Starts the daemon in a new process, with the clock of the machine. */
  start(): void {
    const { offset } = this.process;
    // The earlier life may have ended by itself.
    this.process.alive = false;
    disconnect(this.process);
    const owner = new Process('opsd', this.label);
    owner.offset = offset;
    owner.crash = (where) => this.crash(where);
    this.process = owner;
    this.#stop = new AbortController();
    this.#hangup = undefined;
    this.#loop.note(owner, `starts (${this.#life})`);
    const { signal } = this.#stop;
    this.ended = runAs(owner, () => this.#run(owner, signal)).then(
      (code) => {
        if (owner.alive && code !== 0) this.#loop.failure ??= new Error(`the daemon ended with ${code}`);
      },
      (error: unknown) => {
        if (owner.alive) this.#failedStart(owner, error);
      },
    );
  }

  /** Starts a second process with the same configuration, by mistake. @returns why it could not start */
  async second(): Promise<string | undefined> {
    const owner = new Process('opsd', `second ${this.label}`);
    const { signal } = new AbortController();
    try {
      return await runAs(owner, () => this.#run(owner, signal)).then(
        () => undefined,
        (error: unknown) => errorMessage(error),
      );
    } finally {
      owner.alive = false;
      disconnect(owner);
      for (const db of databasesOf(owner)) db.close();
    }
  }

  async #run(owner: Process, signal: AbortSignal): Promise<number> {
    const path = join(this.folder, 'opsd.yaml');
    const env = { OPSD_STORE: this.store };
    const loaded = loadConfig(path, { env });
    if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
    const clock = this.#loop.clockOf(owner);
    const stderr = { write: (text: string) => this.#write(owner, text) };
    const onHangup = (listener: () => void) => {
      if (owner !== this.process) return { [Symbol.dispose]: () => undefined };
      this.#hangup = listener;
      return { [Symbol.dispose]: () => void (this.#hangup = undefined) };
    };
    const io = { stderr, env, signal, clock };
    const random = this.#loop.random(`daemon ${this.#life}${this.label.slice('opsd'.length)}`);
    return runDaemon({ config: loaded.config, path, onHangup }, io, (config, options) =>
      startApp(config, { ...options, random, version: 'simulated' }),
    );
  }

  #write(owner: Process, text: string): boolean {
    if (!owner.alive) return true;
    const line = JSON.parse(text) as LogLine;
    const { level, msg, time: _time, ...fields } = line;
    this.#loop.note(owner, `${level} ${msg}`);
    this.#loop.tell(owner, `  ${JSON.stringify(fields)}`);
    if (owner === this.process) this.#onLine(line);
    return true;
  }

  /** A supervisor starts a process again that could not start, for example because the disk was full. */
  #failedStart(owner: Process, error: unknown): void {
    this.#loop.note(owner, 'failed');
    this.#loop.tell(owner, `  ${error instanceof Error ? error.stack : String(error)}`);
    if (!this.mayFail()) this.#loop.failure ??= error;
    else this.crash('after a failed start');
  }

  /** Ends the process at this moment, and starts it again later. */
  crash(where: string): void {
    const before = this.process;
    if (!before.alive) return;
    before.alive = false;
    this.crashes += 1;
    this.#loop.note(WORLD, `${this.label} crashes ${where}`);
    disconnect(before);
    const from = this.folder;
    this.#life += 1;
    cpSync(from, this.folder, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    const rest = this.#loop.faults.below(LONGEST_REST_MS);
    this.#loop.after(rest, WORLD, `a supervisor starts ${this.label}`, () => {
      for (const db of databasesOf(before)) db.close();
      this.start();
    });
  }

  reload(): void {
    runAs(this.process, () => this.#hangup?.());
  }

  /** Stops the daemon as SIGTERM does. */
  stop(): Promise<void> {
    runAs(this.process, () => this.#stop.abort(new Error('SIGTERM')));
    return this.ended;
  }
}

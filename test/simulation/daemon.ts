/** The daemon as `opsd run` starts it, with its folder. A crash leaves what was durable at that moment. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startApp } from '#app/daemon.ts';
import { runDaemon } from '#app/run.ts';
import { formatProblems, loadConfig } from '#config/load.ts';
import { databasesOf } from './disk.ts';
import { Process, runAs, WORLD, type Loop } from './loop.ts';
import { disconnect } from './network.ts';

/** Maximum time until a crashed daemon is started again. */
const LONGEST_REST_MS = 120_000;

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export class SimDaemon {
  readonly #loop: Loop;
  readonly #folder: string;
  readonly #onLine: (line: LogLine) => void;
  #life = 0;
  #stop = new AbortController();
  #hangup: (() => void) | undefined;
  process = new Process('opsd');
  /** Resolves when the running daemon has stopped. */
  ended: Promise<void> = Promise.resolve();
  crashes = 0;

  constructor(loop: Loop, folder: string, onLine: (line: LogLine) => void) {
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

  configure(text: string): void {
    writeFileSync(join(this.folder, 'opsd.yaml'), text);
  }

  /** Starts the daemon in a new process, with the clock of the machine. */
  start(): void {
    const { offset } = this.process;
    const owner = new Process('opsd');
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

  async #run(owner: Process, signal: AbortSignal): Promise<number> {
    const path = join(this.folder, 'opsd.yaml');
    const loaded = loadConfig(path, { env: {} });
    if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
    const clock = this.#loop.clockOf(owner);
    const stderr = { write: (text: string) => this.#write(owner, text) };
    const onHangup = (listener: () => void) => {
      this.#hangup = listener;
      return { [Symbol.dispose]: () => undefined };
    };
    const io = { stderr, env: {}, signal, clock };
    const random = this.#loop.random(`daemon ${this.#life}`);
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
    this.#onLine(line);
    return true;
  }

  /** A supervisor starts a process again that could not start, for example because the disk was full. */
  #failedStart(owner: Process, error: unknown): void {
    this.#loop.note(owner, 'failed');
    this.#loop.tell(owner, `  ${error instanceof Error ? error.stack : String(error)}`);
    if (!this.#loop.faults.active) this.#loop.failure ??= error;
    else this.crash('after a failed start');
  }

  /** Ends the process at this moment, and starts it again later. */
  crash(where: string): void {
    const before = this.process;
    if (!before.alive) return;
    before.alive = false;
    this.crashes += 1;
    this.#loop.note(WORLD, `opsd crashes ${where}`);
    disconnect(before);
    const from = this.folder;
    this.#life += 1;
    cpSync(from, this.folder, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    const rest = this.#loop.faults.below(LONGEST_REST_MS);
    this.#loop.after(rest, WORLD, 'a supervisor starts opsd', () => {
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

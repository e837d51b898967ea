/** Debian's PostgreSQL in a temporary folder, on a free port of loopback. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { MEMORY, memoryDir } from '../memory-dir.ts';
import { until } from '../until.ts';

const VERSIONS = '/usr/lib/postgresql';
const NOBODY = { uid: 65_534, gid: 65_534 };

/**
 * Runs the server until the standard input ends, which it does with this process. Lines of the standard input start the
 * server again, or end it with a signal.
 */
const SUPERVISOR = `trap : INT TERM; folder=$1; shift; "$@" &
  while read -r line; do
    if [ "$line" = start ]; then "$@" & else kill -s "$line" $!; wait $!; echo ended; fi
  done
  kill -s QUIT $! 2>/dev/null; wait; rm -rf "$folder"`;

/** Folder of the newest version's programs; undefined if PostgreSQL is not installed. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  const versions = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(VERSIONS, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

export interface ServerOptions {
  /** Settings of the server, beside those of all tests. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Files of the data folder by name, such as `pg_hba.conf`. */
  readonly files?: Readonly<Record<string, string>>;
  /** URL of the server whose standby this one is. */
  readonly primary?: string;
}

export class DebianServer {
  /** URL without a database. */
  readonly url: string;
  readonly #bin: string;
  readonly #data: string;
  readonly #as: { readonly uid?: number; readonly gid?: number };
  readonly #process: ChildProcess;
  #log = '';
  #output = '';

  /** Starts a server. It ends with this process. */
  static async start(bin: string, options: ServerOptions = {}): Promise<DebianServer> {
    const server = new DebianServer(bin, options, await freePort());
    await server.#isReady();
    return server;
  }

  private constructor(bin: string, { settings = {}, files = {}, primary }: ServerOptions, port: number) {
    // The server refuses to run as root, and another user cannot enter each folder of root.
    const isRoot = process.geteuid?.() === 0;
    this.#as = isRoot ? NOBODY : {};
    this.#bin = bin;
    const parent = memoryDir();
    const folder = mkdtempSync(join(isRoot && parent !== MEMORY ? '/tmp' : parent, 'opsd-postgres-'));
    if (isRoot) chownSync(folder, NOBODY.uid, NOBODY.gid);
    this.#data = join(folder, 'data');
    if (primary === undefined) this.#run('initdb', '-D', this.#data, '-A', 'trust', '-U', 'opsd', '-E', 'UTF8', '-N');
    else this.#run('pg_basebackup', '-D', this.#data, '-d', `${primary}/postgres`, '-R', '-N', '-c', 'fast');
    for (const [name, text] of Object.entries(files)) this.write(name, text);
    const all = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'off',
      shared_buffers: '32MB',
      ...settings,
    };
    const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#process = spawn(
      '/bin/sh',
      ['-c', SUPERVISOR, 'sh', folder, join(bin, 'postgres'), '-D', this.#data, '-p', String(port), ...args],
      { ...this.#options(folder), stdio: 'pipe' },
    );
    const { stdout, stderr, stdin } = this.#process;
    stderr!.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
    stdout!.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    this.#process.unref();
    for (const pipe of [stdin, stdout, stderr]) (pipe as ReturnType<typeof connect>).unref();
    this.url = `postgres://opsd@127.0.0.1:${port}`;
  }

  /** Starts the server again. */
  async start(): Promise<void> {
    this.#log = '';
    this.#process.stdin!.write('start\n');
    await this.#isReady();
  }

  /** Ends the server: `INT` cancels its transactions, `KILL` leaves it no time. */
  async stop(signal: 'INT' | 'KILL'): Promise<void> {
    this.#output = '';
    this.#process.stdin!.write(`${signal}\n`);
    await until({ what: 'PostgreSQL to end' }, () => this.#output.includes('ended'));
  }

  /** Makes a standby the primary. */
  promote(): void {
    this.#run('pg_ctl', 'promote', '-D', this.#data);
  }

  /** Lets the server read its files again. */
  reload(): void {
    this.#run('pg_ctl', 'reload', '-D', this.#data);
  }

  /** Writes a file of the data folder. */
  write(name: string, text: string): void {
    const path = join(this.#data, name);
    writeFileSync(path, text, { mode: 0o600 });
    if (this.#as.uid !== undefined) chownSync(path, NOBODY.uid, NOBODY.gid);
  }

  #run(program: string, ...args: readonly string[]): void {
    execFileSync(join(this.#bin, program), args, { ...this.#options(join(this.#data, '..')), stdio: 'pipe' });
  }

  #options(cwd: string) {
    return { cwd, env: { LC_ALL: 'C', TZ: 'UTC' }, ...this.#as };
  }

  async #isReady(): Promise<void> {
    await until({ what: 'PostgreSQL to start' }, () => {
      if (this.#log.includes('pre-existing shared memory')) {
        // Processes of the killed server have not ended yet.
        this.#log = '';
        this.#process.stdin!.write('start\n');
      }
      if (this.#log.includes('ready to accept')) return true;
      // Clients that connect too early get a fatal error of their own.
      if (/FATAL: +(?! |the database system is)/.test(this.#log)) throw new Error(this.#log);
      return false;
    });
  }
}

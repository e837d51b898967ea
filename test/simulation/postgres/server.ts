/**
 * PostgreSQL of a history, in the simulated network. Transactions take turns in an order of the seed, because PGlite has
 * one session. The server may lose connections and commits, hang, or restart.
 */
import type { Socket } from 'node:net';
import type { Timer } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import { createServer } from '../fakes/net.ts';
import { Process, runAs, type Loop } from '../loop.ts';
import type { Books } from '../subject.ts';
import { booksOf } from './books.ts';
import { Connection, errorOf, type Batch } from './connection.ts';
import { fencedBy, foreignCommit } from './fence.ts';
import { Reads } from './reads.ts';
import { message, messagesOf, query, Session } from './session.ts';

const POSTGRES_PORT = 5_432;

/** `idle_in_transaction_session_timeout` of the daemon. */
const IDLE_MS = 5_000;

/** Interval of removing old versions of rows, which PostgreSQL does by itself. */
const VACUUM_MS = 300_000;

const READY = message('Z', 'I');

let session: Promise<Session> | undefined;

export class SimPostgres {
  readonly process = new Process('postgres');
  readonly url = `postgres://postgres@127.0.0.1:${POSTGRES_PORT}/opsd?sslmode=disable`;
  readonly #loop: Loop;
  readonly #session: Session;
  readonly #reads: Reads;
  readonly #random: Random;
  readonly #connections = new Set<Connection>();
  /** Connection whose transaction is open. */
  #holder: Connection | undefined;
  #idle: Timer | undefined;
  #isScheduled = false;
  #stalledUntil = 0;
  #unavailableUntil = 0;
  /** Names of replicas whose bytes do not arrive, with the end of that. */
  readonly #apart = new Map<string, number>();
  /** Changes of the list of sessions. */
  #activity = '';
  #pids = 0;
  /** Stops the process of a replica. */
  onStop: (replica: string) => void = () => undefined;
  readonly #waiting: (() => void)[] = [];

  private constructor(loop: Loop, own: Session) {
    this.#loop = loop;
    this.#session = own;
    this.#reads = new Reads(own);
    this.#random = loop.random('postgres');
  }

  static async start(loop: Loop): Promise<SimPostgres> {
    const own = await (session ??= Session.start());
    own.clear();
    const postgres = new SimPostgres(loop, own);
    await runAs(postgres.process, async () => {
      const server = createServer();
      server.on('connection', (socket: Socket) => postgres.#accept(socket));
      await new Promise<void>((resolve) => {
        server.once('listening', resolve);
        server.listen({ port: POSTGRES_PORT });
      });
    });
    postgres.#vacuum();
    return postgres;
  }

  /** The store, for checks. It shows what is committed only while `isIdle`. */
  get books(): Books {
    return booksOf(this.#session);
  }

  get isIdle(): boolean {
    return this.#holder === undefined;
  }

  /** Runs work as soon as no transaction is open: only then, what is visible is committed. */
  whenIdle(work: () => void): void {
    if (this.isIdle) work();
    else this.#waiting.push(work);
  }

  /** Does not respond for some time. */
  stall(ms: number): void {
    this.#loop.note(this.process, `stalls for ${ms} ms`);
    this.#stalledUntil = this.#loop.time + ms;
  }

  /** Ends all connections, and accepts new ones after some time. */
  restart(ms: number): void {
    this.#loop.note(this.process, `restarts, ${ms} ms`);
    this.#unavailableUntil = this.#loop.time + ms;
    for (const connection of this.#connections) {
      this.#close(connection);
      connection.end('57P01', 'terminating connection due to administrator command');
    }
  }

  /** Cuts a replica off for some time, without an error at either end. */
  part(replica: string, ms: number): void {
    this.#loop.note(this.process, `is apart from ${replica} for ${ms} ms`);
    this.#apart.set(replica, this.#loop.time + ms);
    for (const connection of this.#connections) if (connection.replica === replica) connection.isCut = true;
  }

  /** Ends all faults but those of its clock. */
  heal(): void {
    this.#stalledUntil = 0;
    this.#unavailableUntil = 0;
    this.#apart.clear();
  }

  step(ms: number): void {
    this.#loop.note(this.process, `clock is off by ${ms} ms`);
    this.#session.offset = ms;
  }

  #accept(socket: Socket): void {
    const connection = new Connection(++this.#pids, socket);
    this.#connections.add(connection);
    const closed = (): void => this.#close(connection);
    socket.on('error', closed);
    socket.on('close', closed);
    socket.on('end', () => {
      closed();
      socket.end();
    });
    socket.on('data', (bytes: Buffer) => {
      const event = connection.add(bytes);
      if (event === 'start') this.#greet(connection);
      if (event === 'end') {
        closed();
        socket.end();
      }
      this.#next();
    });
  }

  #greet(connection: Connection): void {
    if ((this.#apart.get(connection.replica) ?? 0) > this.#loop.time) {
      connection.isCut = true;
      return;
    }
    if (this.#loop.time < this.#unavailableUntil) {
      connection.end('57P03', 'the database system is starting up');
      this.#close(connection);
      return;
    }
    this.#activity += `INSERT INTO sim.pg_stat_activity VALUES (${connection.pid}, '${connection.name}', current_user);`;
    connection.send(this.#session.greeting);
    connection.flush();
  }

  /** Runs all statements that have arrived. The seed decides which connection is next. */
  #next(): void {
    for (;;) {
      const ready = this.#ready();
      if (ready.length === 0) return;
      if (this.#loop.time < this.#stalledUntil) return this.#nextLater();
      this.#run(ready.length === 1 ? ready[0]! : ready[Math.floor(this.#random() * ready.length)]!);
    }
  }

  #vacuum(): void {
    this.#loop.after(VACUUM_MS, this.process, 'vacuum', () => {
      this.whenIdle(() => this.#session.run(query('VACUUM')));
      this.#vacuum();
    });
  }

  #nextLater(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#loop.after(this.#stalledUntil - this.#loop.time, this.process, 'responds again', () => {
      this.#isScheduled = false;
      this.#next();
    });
  }

  #ready(): readonly Connection[] {
    const all = this.#holder === undefined ? [...this.#connections] : [this.#holder];
    return all.filter(({ batches, isCut }) => batches.length > 0 && !isCut);
  }

  /** Runs the next statements of a connection, as far as they have arrived. */
  #run(connection: Connection): void {
    if (this.isIdle && this.#activity !== '') {
      this.#session.rows(this.#activity);
      this.#activity = '';
    }
    this.#idle?.cancel();
    do {
      const batch = connection.batches.shift()!;
      if (!this.#execute(connection, batch)) return;
    } while (connection.batches.length > 0 && connection.isOpen);
    connection.flush();
    if (!connection.isOpen) this.#release();
    else {
      this.#idle = this.#loop.after(IDLE_MS, this.process, 'transaction idles', () => {
        this.#close(connection);
        connection.end('25P03', 'terminating connection due to idle-in-transaction timeout');
      });
    }
  }

  /** Returns false if the connection has ended. */
  #execute(connection: Connection, batch: Batch): boolean {
    const isCommit = connection.commits(batch);
    connection.accounts = fencedBy(batch) ?? (connection.isOpen ? connection.accounts : []);
    if (isCommit && !connection.isFailed) this.#loop.failure ??= foreignCommit(this.#session, connection);
    const { faults } = this.#loop;
    const strikes = (kind: string, likelihood: number): boolean => {
      const isFault = faults.strikes(kind, isCommit ? likelihood : likelihood / 100);
      if (isFault) this.#loop.note(this.process, `${connection.name}: ${kind}`);
      return isFault;
    };
    if (strikes('database connection lost', 0.01)) return this.#lose(connection);
    if (isCommit && strikes('database commit failed', 0.01)) {
      this.#session.run(query('ROLLBACK'));
      connection.isOpen = false;
      connection.send(Buffer.concat([errorOf('ERROR', '53100', 'could not extend file: No space left'), READY]));
      return true;
    }
    const response = this.#reads.respond(connection, batch);
    connection.isOpen = response.at(-1) !== 'I'.charCodeAt(0);
    this.#holder = connection.isOpen ? connection : undefined;
    if (batch.text.startsWith('LISTEN')) connection.isListening = true;
    if (strikes('database response lost', 0.01)) return this.#lose(connection);
    if (strikes('database response hangs', 0.005)) {
      connection.isCut = true;
      return true;
    }
    connection.send(connection.isOpen ? response : this.#notify(response));
    // The process may learn of the commit before it learns that its lease has ended.
    if (isCommit && strikes('stop after a commit', 0.01)) this.onStop(connection.replica);
    if (batch.bytes.includes('pg_terminate_backend') && messagesOf(response).some(({ type }) => type === 'D')) {
      this.#terminate(connection);
    }
    return true;
  }

  /** Sends notices to the connections that listen. @returns the response without them */
  #notify(response: Uint8Array): Uint8Array {
    // The byte of ReadyForQuery is the last one without notices after it.
    const messages = messagesOf(response);
    const notices = messages.filter(({ type }) => type === 'A');
    if (notices.length === 0) return response;
    for (const { whole } of notices) {
      for (const listener of this.#connections) {
        if (!listener.isListening) continue;
        listener.send(Buffer.from(whole));
        listener.flush();
      }
    }
    return Buffer.concat(messages.filter(({ type }) => type !== 'A').map(({ whole }) => whole));
  }

  #terminate(by: Connection): void {
    const ended = new Set(this.#session.rows('DELETE FROM sim.ended RETURNING pid').map(({ pid }) => Number(pid)));
    for (const connection of this.#connections) {
      if (!ended.has(connection.pid) || connection === by) continue;
      this.#loop.note(this.process, `ends ${connection.name}`);
      this.#close(connection);
      connection.end('57P01', 'terminating connection due to administrator command');
    }
  }

  #lose(connection: Connection): false {
    this.#close(connection);
    connection.socket.destroy();
    return false;
  }

  #close(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    if (connection.name !== undefined) {
      this.#activity += `DELETE FROM sim.pg_stat_activity WHERE pid = ${connection.pid};`;
    }
    // The response to its commit may have been lost.
    if (this.isIdle) this.#release();
    if (this.#holder !== connection) return;
    this.#session.run(query('ROLLBACK'));
    this.#release();
    this.#next();
  }

  #release(): void {
    this.#idle?.cancel();
    this.#holder = undefined;
    for (const work of this.#waiting.splice(0)) work();
  }
}

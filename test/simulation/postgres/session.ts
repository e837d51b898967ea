/**
 * PGlite, which is PostgreSQL as WebAssembly, with the time of the history. It has one session, and each history has a
 * schema of its own in it. Views and functions of other sessions, which PGlite does not have, are in the schema `sim`.
 */
import { PGlite } from '@electric-sql/pglite';
import { EPOCH, presentLoop } from '../loop.ts';

/** They hide those of the same name, because `pg_catalog` is last in the search path. */
const OTHER_SESSIONS = `
  CREATE SCHEMA sim;
  CREATE TABLE sim.pg_stat_activity (pid INT PRIMARY KEY, application_name TEXT NOT NULL, usename NAME NOT NULL);
  CREATE TABLE sim.ended (pid INT NOT NULL);
  CREATE FUNCTION sim.pg_backend_pid() RETURNS INT LANGUAGE sql AS 'SELECT 0';
  CREATE FUNCTION sim.pg_terminate_backend(pid INT) RETURNS BOOLEAN LANGUAGE sql
    AS 'INSERT INTO sim.ended VALUES (pid); SELECT true';
  LISTEN opsd;`;

const STARTUP = startup({ user: 'postgres', database: 'postgres', client_encoding: 'UTF8' });

export type Row = Readonly<Record<string, string | number | null>>;

/** Types of numbers: int8, int2, int4, oid, float4, float8, numeric. */
const NUMBERS: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1_700]);

export class Session {
  readonly #pglite: PGlite;
  /** Response to the start of a connection. */
  readonly greeting: Uint8Array;
  /** Milliseconds by which the clock of the server is ahead. */
  offset = 0;
  #schemas = 0;

  private constructor(pglite: PGlite) {
    this.#pglite = pglite;
    // PGlite reuses the memory of this response.
    this.greeting = this.run(STARTUP).slice();
    this.run(query(OTHER_SESSIONS));
  }

  static async start(): Promise<Session> {
    const restore = withoutTimers();
    try {
      return new Session(await PGlite.create());
    } finally {
      restore();
    }
  }

  /** Begins with an empty database. */
  clear(): void {
    const last = `history_${this.#schemas++}`;
    const next = `history_${this.#schemas}`;
    this.offset = 0;
    // Whatever the last history has left open.
    this.run(query('ROLLBACK'));
    this.run(
      query(`DROP SCHEMA IF EXISTS ${last} CASCADE; DELETE FROM sim.pg_stat_activity; DELETE FROM sim.ended;
        CREATE SCHEMA ${next}; SET search_path TO ${next}, sim, pg_catalog`),
    );
  }

  /** Runs messages of the protocol, at the time of the history. */
  run(messages: Uint8Array): Uint8Array {
    const { now } = Date;
    const restore = withoutTimers();
    Date.now = () => this.#now();
    try {
      return this.#pglite.execProtocolRawSync(messages);
    } finally {
      Date.now = now;
      restore();
    }
  }

  /** Returns the rows of one statement. @throws {Error} if it fails */
  rows(sql: string): readonly Row[] {
    const response = this.run(query(sql));
    const rows: Row[] = [];
    let columns: readonly Column[] = [];
    for (const { type, body } of messagesOf(response)) {
      if (type === 'E') throw new Error(`${body.toString().replaceAll('\0', ' ')}: ${sql}`);
      if (type === 'T') columns = columnsOf(body);
      if (type === 'D') rows.push(rowOf(valuesOf(body), columns));
    }
    return rows;
  }

  #now(): number {
    try {
      return EPOCH + presentLoop().time + this.offset;
    } catch {
      return EPOCH;
    }
  }
}

export interface Message {
  readonly type: string;
  readonly body: Buffer;
  readonly whole: Buffer;
}

/**
 * Lets PGlite set no timers. Each would be a signal in the middle of the history, at which all timeouts of the session
 * have expired, because it comes in real time. The server of the simulation has its own timeouts.
 *
 * @returns a function that gives the timers back
 */
function withoutTimers(): () => void {
  const { clearTimeout, setTimeout } = globalThis;
  Object.assign(globalThis, { clearTimeout: () => undefined, setTimeout: () => 0 });
  return () => void Object.assign(globalThis, { clearTimeout, setTimeout });
}

/** Messages of a server. */
export function messagesOf(bytes: Uint8Array): readonly Message[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: Message[] = [];
  for (let at = 0; at + 5 <= buffer.length;) {
    const end = at + 1 + buffer.readInt32BE(at + 1);
    messages.push({
      type: String.fromCharCode(buffer[at]!),
      body: buffer.subarray(at + 5, end),
      whole: buffer.subarray(at, end),
    });
    at = end;
  }
  return messages;
}

export function message(type: string, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body as string);
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length + 4);
  return Buffer.concat([Buffer.from(type), length, bytes]);
}

/** Message of a simple query. */
export function query(sql: string): Buffer {
  return message('Q', `${sql}\0`);
}

function startup(parameters: Readonly<Record<string, string>>): Buffer {
  const text = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`);
  const version = Buffer.from([0, 3, 0, 0]);
  return message('', Buffer.concat([version, Buffer.from(`${text.join('')}\0`)]));
}

interface Column {
  readonly name: string;
  readonly isNumber: boolean;
}

function columnsOf(body: Buffer): readonly Column[] {
  const columns: Column[] = [];
  for (let at = 2; at < body.length;) {
    const end = body.indexOf(0, at);
    columns.push({ name: body.toString('utf8', at, end), isNumber: NUMBERS.has(body.readInt32BE(end + 7)) });
    at = end + 19;
  }
  return columns;
}

function rowOf(values: readonly (string | null)[], columns: readonly Column[]): Row {
  return Object.fromEntries(
    values.map((value, at) => {
      const { name, isNumber } = columns[at]!;
      return [name, isNumber && value !== null ? Number(value) : value];
    }),
  );
}

function valuesOf(body: Buffer): readonly (string | null)[] {
  const values: (string | null)[] = [];
  for (let at = 2; at < body.length;) {
    const length = body.readInt32BE(at);
    at += 4;
    if (length < 0) values.push(null);
    else values.push(body.toString('utf8', at, (at += length)));
  }
  return values;
}

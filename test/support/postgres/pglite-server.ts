/**
 * PGlite, which is PostgreSQL as WebAssembly, on a port of loopback. It has one session, which connections get in turn:
 * each keeps it until the end of its transaction. A database of a connection is a schema here.
 */
import { PGlite } from '@electric-sql/pglite';
import { createServer, type AddressInfo, type Socket } from 'node:net';

const SSL_REQUEST = 80_877_103;
const PROTOCOL_3 = 196_608;

/** Starts the server and returns its URL without a database. It ends with this process. */
export async function startPglite(): Promise<string> {
  const session = new Session(await PGlite.create());
  const server = createServer((socket) => serve(socket, session));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return `postgres://opsd@127.0.0.1:${(server.address() as AddressInfo).port}`;
}

class Session {
  readonly #pglite: PGlite;
  #greeting: Promise<Uint8Array> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(pglite: PGlite) {
    this.#pglite = pglite;
  }

  /** Returns the response to the start of a connection. */
  greeting(startup: Uint8Array): Promise<Uint8Array> {
    return (this.#greeting ??= this.exclusive(() => this.run(startup)));
  }

  async run(messages: Uint8Array): Promise<Uint8Array> {
    // PGlite reuses the memory of the response.
    return (await this.#pglite.execProtocolRaw(messages)).slice();
  }

  async select(database: string): Promise<void> {
    await this.#pglite.exec(`CREATE SCHEMA IF NOT EXISTS "${database}"; SET search_path TO "${database}"`);
  }

  async rollback(): Promise<void> {
    await this.#pglite.exec('ROLLBACK');
  }

  /** Runs `work` while no other connection has the session. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

function serve(socket: Socket, session: Session): void {
  const inbox = new Inbox();
  socket.unref();
  socket.on('error', () => undefined);
  socket.on('data', (bytes) => inbox.add(bytes));
  socket.on('close', () => inbox.close());
  void converse(socket, inbox, session).catch(() => socket.destroy());
}

async function converse(socket: Socket, inbox: Inbox, session: Session): Promise<void> {
  let startup = await inbox.startup();
  while (startup?.readInt32BE(4) === SSL_REQUEST) {
    socket.write('N');
    startup = await inbox.startup();
  }
  if (startup?.readInt32BE(4) !== PROTOCOL_3) return void socket.end();
  const [, database] = /\0database\0([^\0]*)\0/.exec(`\0${startup.toString('utf8', 8)}`)!;
  socket.write(await session.greeting(startup));
  for (let batch = await inbox.batch(); batch !== undefined; batch = await inbox.batch()) {
    const first = batch;
    await session.exclusive(async () => {
      await session.select(database!);
      let isOpen = await answer(socket, session, first);
      while (isOpen) {
        const next = await inbox.batch();
        if (next === undefined) return session.rollback();
        isOpen = await answer(socket, session, next);
      }
    });
  }
  socket.end();
}

/** Returns true if a transaction is open afterwards. */
async function answer(socket: Socket, session: Session, batch: Uint8Array): Promise<boolean> {
  const response = await session.run(batch);
  socket.write(response);
  // The last byte of ReadyForQuery: idle, in a transaction, or in a failed one.
  return response.at(-1) !== 'I'.charCodeAt(0);
}

/** Messages of a client, in batches that each get one ReadyForQuery. */
class Inbox {
  #bytes = Buffer.alloc(0);
  #isClosed = false;
  #arrived: PromiseWithResolvers<void> = Promise.withResolvers();

  add(bytes: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    this.#arrived.resolve();
  }

  close(): void {
    this.#isClosed = true;
    this.#arrived.resolve();
  }

  startup(): Promise<Buffer | undefined> {
    return this.#take((bytes) => (bytes.length < 4 ? 0 : bytes.readInt32BE(0)));
  }

  /** Resolves to undefined at the end of the connection. */
  batch(): Promise<Buffer | undefined> {
    return this.#take((bytes) => {
      for (let at = 0; at + 5 <= bytes.length;) {
        const type = String.fromCharCode(bytes[at]!);
        if (type === 'X') return 0;
        at += 1 + bytes.readInt32BE(at + 1);
        if (at <= bytes.length && (type === 'S' || type === 'Q')) return at;
      }
      return 0;
    });
  }

  /** Resolves to the first bytes as soon as `lengthOf` finds them complete. */
  async #take(lengthOf: (bytes: Buffer) => number): Promise<Buffer | undefined> {
    for (;;) {
      const length = lengthOf(this.#bytes);
      if (length > 0 && length <= this.#bytes.length) {
        const taken = this.#bytes.subarray(0, length);
        this.#bytes = this.#bytes.subarray(length);
        return taken;
      }
      if (this.#isClosed) return undefined;
      await this.#arrived.promise;
      this.#arrived = Promise.withResolvers();
      if (this.#isClosed) this.#arrived.resolve();
    }
  }
}

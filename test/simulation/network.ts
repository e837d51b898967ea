/**
 * Connections in memory. Both ends are sockets for Node's own HTTP client and server; the bytes arrive after a latency
 * of the seed, in order, or not at all. A process that has ended sends nothing any more, and its peers see a reset.
 */
import type { Server } from 'node:net';
import { Duplex } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { Timer } from '#foundation/platform/clock.ts';
import { balanced, beginning, firstLine, latency, observer, type Beginning } from './wire.ts';
import { presentLoop, runAs, WORLD, type Loop, type Process } from './loop.ts';

export interface ConnectOptions {
  readonly host?: string;
  readonly port?: number | string;
  readonly socketPath?: string;
}

export interface Listener {
  readonly owner: Process;
  readonly server: Server;
  readonly sockets: Set<SimSocket>;
}

interface Network {
  readonly listeners: Map<string, Listener>;
  readonly sockets: Set<SimSocket>;
  ports: number;
}

const networks = new WeakMap<Loop, Network>();

export function network(): Network {
  const loop = presentLoop();
  let own = networks.get(loop);
  if (own === undefined) networks.set(loop, (own = { listeners: new Map(), sockets: new Set(), ports: 20_000 }));
  return own;
}

/** Processes between which connections fail. */
const FAULTY = new Set(['opsd>service', 'service>opsd', 'opsd>receiver']);

export function errorOf(code: string, text: string): Error {
  return Object.assign(new Error(`${text} ${code}`), { code });
}

class SimSocket extends Duplex {
  readonly owner: Process;
  connecting: boolean;
  peer: SimSocket | undefined;
  readonly remoteAddress = '127.0.0.1';
  readonly remotePort: number;
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;
  /** Processes at both ends, in the direction of the requests. */
  link = '';
  /** Set if nothing arrives at the other end any more. */
  isCut = false;
  /** Time of the history until which nothing arrives at this end. */
  deafUntil = 0;
  readonly #unheard: (() => void)[] = [];
  /** Beginning of the first request, which is decided on before its connection. */
  begun: Beginning | undefined;
  readonly #isClient: boolean;
  #arrival = 0;
  #idle: Timer | undefined;
  #touched = 0;
  #waiting: (() => void) | undefined;

  constructor(owner: Process, isClient: boolean) {
    super({ allowHalfOpen: !isClient });
    this.owner = owner;
    this.#isClient = isClient;
    this.connecting = isClient;
    this.setMaxListeners(0);
    const net = network();
    this.remotePort = net.ports++;
    net.sockets.add(this);
  }

  /** Connects as `net.Socket` does. */
  connect(port: number | string): this {
    dial(this, { port });
    return this;
  }

  opened(peer: SimSocket): void {
    this.peer = peer;
    this.connecting = false;
    this.emit('connect');
    this.#waiting?.();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this._writev([{ chunk }], done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer | string }[], done: () => void): void {
    const send = (): void => {
      this.#send(Buffer.concat(chunks.map(({ chunk }) => Buffer.from(chunk as string))));
      done();
    };
    if (this.connecting) this.#waiting = send;
    else send();
  }

  override _final(done: () => void): void {
    if (!this.connecting) this.#arrive(() => this.peer!.#end());
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#idle?.cancel();
    network().sockets.delete(this);
    if (this.peer !== undefined) this.#arrive(() => this.peer!.#end());
    done(error);
  }

  /** Ends the connection as if the other end did not exist any more. */
  reset(code = 'ECONNRESET'): void {
    this.#hear(latency(), `${this.link} reset`, () => this.destroy(errorOf(code, 'read')));
  }

  setTimeout(ms: number, listener?: () => void): this {
    this.timeout = ms;
    if (listener !== undefined) this.once('timeout', listener);
    this.#idle?.cancel();
    this.#idle = undefined;
    if (ms > 0) this.#watch(ms);
    return this;
  }

  setNoDelay = (): this => this;
  setKeepAlive = (): this => this;
  ref = (): this => this;
  unref = (): this => this;

  #watch(ms: number): void {
    this.#touched = Math.max(this.#touched, presentLoop().time);
    this.#idle = presentLoop().after(ms, this.owner, 'timer', () => {
      const rest = this.#touched + this.timeout - presentLoop().time;
      if (rest > 0) this.#watch(rest);
      else this.emit('timeout');
    });
  }

  #end(): void {
    if (!this.destroyed && !this.readableEnded) this.push(null);
  }

  #send(bytes: Buffer): void {
    if (!this.owner.alive || this.peer === undefined) return;
    this.bytesWritten += bytes.length;
    this.#touched = presentLoop().time;
    const { peer } = this;
    if (peer.destroyed) {
      this.reset();
      return;
    }
    if (this.#isClient) this.#observe(bytes);
    const sent = FAULTY.has(this.link) ? this.#damaged(bytes) : bytes;
    if (sent === undefined) return;
    const text = `${this.link} ${this.#isClient ? '' : '< '}${this.link.endsWith('>postgres') ? '' : firstLine(sent)}`;
    // The daemon's responses have the machine's time in the header Date, and metrics of the machine's process. Those of
    // the database have numbers of its transactions, and keys of the machine.
    const sum = /(?:opsd|postgres)$/.test(this.link) ? '' : ` (${sent.length} bytes, ${crc32(sent)})`;
    presentLoop().note(this.owner, `${text}${sum}`);
    this.#arrive(() => {
      if (peer.destroyed || peer.readableEnded) return;
      peer.bytesRead += sent.length;
      peer.#touched = presentLoop().time;
      peer.push(sent);
    });
  }

  #observe(bytes: Buffer): void {
    if (this.link !== 'opsd>service' && this.link !== 'opsd>receiver') return;
    const text = bytes.toString('latin1');
    const begun = (this.bytesWritten === bytes.length && this.begun) || beginning(this.owner);
    if (this.link === 'opsd>receiver') observer()?.notifies(text, begun);
    else if (/^[^\r]* HTTP\/1\.1\r/.test(text)) observer()?.sees(this.owner, text, begun);
  }

  /** Returns the bytes that arrive; undefined if none do. */
  #damaged(bytes: Buffer): Buffer | undefined {
    const { faults } = presentLoop();
    const what = this.#isClient ? 'request' : 'response';
    if (this.isCut) return undefined;
    if (faults.strikes(`${what} lost`, 0.01)) {
      this.isCut = true;
      presentLoop().note(WORLD, `${this.link} ${what} lost`);
      this.reset();
      this.peer!.reset();
      return undefined;
    }
    if (faults.strikes(`${what} hangs`, 0.004)) {
      this.isCut = true;
      presentLoop().note(WORLD, `${this.link} ${what} hangs`);
      return undefined;
    }
    if (!this.#isClient && faults.strikes('response cut', 0.004)) {
      this.isCut = true;
      presentLoop().note(WORLD, `${this.link} response cut`);
      this.peer!.reset();
      return bytes.subarray(0, faults.below(bytes.length));
    }
    return bytes;
  }

  /** Runs work at the other end, after all that was sent before. */
  #arrive(work: () => void): void {
    const { peer } = this;
    if (!this.owner.alive || peer === undefined) return;
    const loop = presentLoop();
    const slow = FAULTY.has(this.link) && loop.faults.strikes('slow', 0.01) ? loop.faults.below(30_000) : 0;
    this.#arrival = Math.max(this.#arrival + 0.002, loop.time + latency() + slow);
    peer.#hear(this.#arrival - loop.time, 'bytes', work);
  }

  #hear(ms: number, what: string, work: () => void): void {
    const loop = presentLoop();
    loop.after(ms, this.owner, what, () => {
      if (this.#unheard.length === 0 && this.deafUntil <= loop.time) return work();
      if (this.#unheard.push(work) > 1) return;
      loop.after(this.deafUntil - loop.time, this.owner, 'hears again', () => {
        for (const one of this.#unheard.splice(0)) one();
      });
    });
  }
}

/** Lets nothing arrive on the connections of a process for a time. New connections work. */
export function deafen(owner: Process, until: number): void {
  for (const socket of network().sockets) if (socket.owner === owner) socket.deafUntil = until;
}

const keyOf = ({ socketPath, port }: ConnectOptions): string => socketPath ?? `:${balanced(Number(port))}`;

export function connect(options: ConnectOptions, owner: Process): Duplex {
  const socket = new SimSocket(owner, true);
  socket.begun = beginning(owner);
  dial(socket, options);
  return socket;
}

/** Returns a socket that is not connected yet. */
export function unconnected(owner: Process): Duplex {
  return new SimSocket(owner, true);
}

function dial(socket: SimSocket, options: ConnectOptions): void {
  const { owner } = socket;
  const loop = presentLoop();
  loop.after(latency(), owner, 'connects', () => {
    if (socket.destroyed) return;
    const listener = network().listeners.get(keyOf(options));
    socket.link = `${owner.name}>${listener?.owner.name ?? 'nobody'}`;
    if (listener === undefined) {
      socket.destroy(errorOf('ECONNREFUSED', 'connect'));
      return;
    }
    if (FAULTY.has(socket.link)) {
      if (loop.faults.strikes('connection refused', 0.005)) return socket.reset('ECONNREFUSED');
      if (owner.name === 'opsd' && loop.faults.strikes('name unknown', 0.005)) return socket.reset('ENOTFOUND');
      if (loop.faults.strikes('connection hangs', 0.002)) return;
    }
    const accepted = new SimSocket(listener.owner, false);
    accepted.link = socket.link;
    accepted.peer = socket;
    listener.sockets.add(accepted);
    accepted.once('close', () => listener.sockets.delete(accepted));
    runAs(listener.owner, () => listener.server.emit('connection', accepted));
    socket.opened(accepted);
  });
}

/** Ends all connections of a process that has ended, and frees its addresses. */
export function disconnect(owner: Process): void {
  const { listeners, sockets } = network();
  for (const [key, listener] of listeners) if (listener.owner === owner) listeners.delete(key);
  for (const socket of sockets) {
    if (socket.owner !== owner) continue;
    sockets.delete(socket);
    if (socket.peer?.owner.alive === true) socket.peer.reset();
  }
}

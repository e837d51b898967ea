/**
 * Bounds the life of a server's connections. A client has a limited real time to send a request, to read the response
 * and to close. `destroyAll` ends all connections when the server stops. Node does not do this: it forgets a socket
 * that it has handed over (CONNECT), and still waits for that socket's end.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '#foundation/platform/clock.ts';

export interface ConnectionTimeouts {
  /** Time from the opening, or the first byte of a request, to the end of the headers. */
  readonly headersMs: number;
  /** Time from the same start to the end of the body. */
  readonly requestMs: number;
  /** Time for the client to read the oldest response. */
  readonly answerMs: number;
  /**
   * Time from a response to the next request. Pollers return within about a minute and must find the connection open.
   */
  readonly idleMs: number;
  /** Time for the client to close after a response that ends the connection. */
  readonly lingerMs: number;
  /** Interval between checks of the first two limits. */
  readonly checkMs: number;
}

export const CONNECTION_TIMEOUTS: ConnectionTimeouts = {
  headersMs: 60_000,
  requestMs: 300_000,
  answerMs: 300_000,
  idleMs: 75_000,
  lingerMs: 5_000,
  checkMs: 5_000,
};

export class Connections {
  readonly #clock: Clock;
  readonly #timeouts: ConnectionTimeouts;
  /** Open connections, each with its timer if a limit is running. */
  readonly #open = new Map<Duplex, Timer | undefined>();

  /** @param clock real time, so that connections keep their limits while the service's time is stopped */
  constructor(server: Server, clock: Clock, timeouts: ConnectionTimeouts) {
    this.#clock = clock;
    this.#timeouts = timeouts;
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, undefined);
      socket.once('close', () => {
        this.#open.get(socket)?.cancel();
        this.#open.delete(socket);
      });
    });
  }

  /**
   * Closes the server's side after the pending bytes are written. Bytes that still arrive are read and discarded. An
   * unread socket never detects that it was closed, and closing it would discard a response that the client has not
   * read yet.
   */
  end(socket: Duplex, last = ''): void {
    // Node has handed over this socket, so no other listener receives its errors.
    socket.on('error', () => socket.destroy());
    socket.end(last);
    socket.resume();
    this.#after(this.#timeouts.lingerMs, socket, () => socket.destroy());
  }

  /**
   * Starts the time limit for reading a response. In most cases the system already holds all bytes, and no timer is
   * needed.
   */
  awaitTaken(socket: Socket): void {
    if (socket.writableLength > 0 && this.#open.get(socket) === undefined) this.#awaitMore(socket);
  }

  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #awaitMore(socket: Socket): void {
    const before = takenBytes(socket);
    this.#after(this.#timeouts.answerMs, socket, () => {
      if (socket.writableLength === 0) this.#open.set(socket, undefined);
      else if (takenBytes(socket) > before) this.#awaitMore(socket);
      else socket.destroy();
    });
  }

  #after(ms: number, socket: Duplex, run: () => void): void {
    if (socket.destroyed) return;
    this.#open.get(socket)?.cancel();
    this.#open.set(socket, this.#clock.after(ms, run));
  }
}

/** Returns the bytes that the system has taken. Only whole writes count. */
function takenBytes(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength;
}

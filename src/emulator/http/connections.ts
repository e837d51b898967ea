/**
 * The connections of a server, whatever became of them: none outlives what it is there for. A client that is slow to
 * ask, to take its answer or to go has bounded real time for it, and at the stop all end at once. Node itself forgets a
 * socket that it has handed over (CONNECT) and waits for its end all the same.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '#foundation/platform/clock.ts';

export interface ConnectionTimeouts {
  /** From the opening, or the first byte of a request, to the end of its headers. */
  readonly headersMs: number;
  /** To the end of its body. */
  readonly requestMs: number;
  /** For the oldest answer to be taken. */
  readonly answerMs: number;
  /** From an answer to the next request. Pollers come back within a minute or so: they shall find it open. */
  readonly idleMs: number;
  /** For the other side to close, after an answer that ends the connection. */
  readonly lingerMs: number;
  /** How often the first two are looked at. */
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
  /** Those that may end in time have their timer. */
  readonly #open = new Map<Duplex, Timer | undefined>();

  /** @param clock of real time: connections do not stand still when the service's time does */
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
   * Ends our side after what was written. What the other side still sends is read and thrown away: an unread socket
   * never learns that it was closed, and closing it would take the answer from whoever has not read it yet.
   */
  end(socket: Duplex, last = ''): void {
    // Of a socket that Node has handed over nobody else hears of a reset.
    socket.on('error', () => socket.destroy());
    socket.end(last);
    socket.resume();
    this.#after(this.#timeouts.lingerMs, socket, () => socket.destroy());
  }

  /** After an answer was given. Nearly every one is with the system by then, and nothing is to be awaited. */
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

/** Of whole answers: one that is taken in part counts as none. */
function takenBytes(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength;
}

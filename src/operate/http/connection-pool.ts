/**
 * The connections of one TCP listener. New connections take the place of idle ones, so that nobody blocks the listener
 * by opening connections and sending nothing. Some capacity is for probes only.
 */
import type { Socket } from 'node:net';

export interface PoolLimits {
  /** Connections that have a request of any kind at the same time. */
  readonly busy: number;
  /** Connections on top of these. While all others are busy, only probes are answered there. */
  readonly forProbes: number;
}

interface Connection {
  readonly socket: Socket;
  /** Requests under way. */
  requests: number;
}

export class ConnectionPool {
  readonly #limits: PoolLimits;
  /** By the address of the client: a TLS connection and the TCP connection below it are two sockets with one address. */
  readonly #connections = new Map<string, Connection>();

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** Takes a new connection. Without room it closes the one that has been idle longest, else the new one. */
  add(socket: Socket): void {
    const { busy, forProbes } = this.#limits;
    if (this.#connections.size >= busy + forProbes && !this.#closeIdle()) {
      socket.destroy();
      return;
    }
    const key = addressOf(socket);
    const connection = { socket, requests: 0 };
    this.#connections.set(key, connection);
    socket.once('close', () => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
  }

  /** Notes that a request began. Returns whether there is room for one that is no probe, and how to note its end. */
  begin(socket: Socket): { readonly hasRoom: boolean; readonly end: () => void } {
    const key = addressOf(socket);
    const connection = this.#connections.get(key);
    if (connection === undefined) return { hasRoom: true, end: () => undefined };
    connection.requests++;
    const busy = this.#connections.values().filter(({ requests }) => requests > 0);
    return {
      hasRoom: busy.reduce((count) => count + 1, 0) <= this.#limits.busy,
      end: () => {
        connection.requests--;
        if (this.#connections.get(key) !== connection) return;
        // Last in the order again: it has been idle for the shortest time.
        this.#connections.delete(key);
        this.#connections.set(key, connection);
      },
    };
  }

  #closeIdle(): boolean {
    for (const [key, { socket, requests }] of this.#connections) {
      if (requests > 0) continue;
      this.#connections.delete(key);
      socket.destroy();
      return true;
    }
    return false;
  }
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * Connections of one TCP listener. New connections replace idle ones, so that idle clients cannot block the listener.
 * Some capacity is for probes only.
 */
import type { Socket } from 'node:net';

export interface PoolLimits {
  /** Maximum number of connections with a request of any kind. */
  readonly busy: number;
  /** Number of additional connections. While all others are busy, these only answer probes. */
  readonly forProbes: number;
}

interface Connection {
  readonly socket: Socket;
  /** Requests in flight. */
  requests: number;
}

export class ConnectionPool {
  readonly #limits: PoolLimits;
  /** By the address of the client: a TLS connection and its TCP connection are two sockets with one address. */
  readonly #connections = new Map<string, Connection>();

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** Adds a connection. Without room, it closes the connection that has been idle longest, else the new one. */
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

  /**
   * Records the start of a request. Returns whether there is room for a request other than a probe, and a function for
   * its end.
   */
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
        // Moved to the end: it has been idle for the shortest time.
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

/** `node:http` over the simulated network. Requests and responses are Node's own, with its parser. */
import real from 'node:http';
import type { Duplex } from 'node:stream';
import { currentProcess } from '../loop.ts';
import { listenOn } from '../listen.ts';
import { connect, type ConnectOptions } from '../network.ts';

export * from 'node:http';

export class Agent extends real.Agent {
  readonly #owner = currentProcess();

  override createConnection(options: ConnectOptions): Duplex {
    return connect(options, this.#owner);
  }
}

/** Interval at which Node would look for slow clients in real time. */
const NEVER_MS = 2_147_483_647;

export function createServer(options: real.ServerOptions, answer: real.RequestListener): real.Server {
  const server = real.createServer({ ...options, connectionsCheckingInterval: NEVER_MS }, answer);
  return listenOn(server, () => server.closeIdleConnections());
}

// oxlint-disable-next-line import/no-default-export -- Node's module has one
export default { ...real, Agent, createServer };

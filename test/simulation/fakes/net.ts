/** `node:net` over the simulated network. */
import real from 'node:net';
import type { Duplex } from 'node:stream';
import { currentProcess } from '../loop.ts';
import { listenOn } from '../listen.ts';
import { connect as connectTo } from '../network.ts';

export * from 'node:net';

export function connect(path: string): Duplex {
  return connectTo({ socketPath: path }, currentProcess());
}

export function createServer(): real.Server {
  return listenOn(real.createServer(), () => undefined);
}

/** A bound socket would be an address of the machine. */
// oxlint-disable-next-line import/no-default-export -- Node's module has one
export default { ...real, connect, createServer, BoundSocket: undefined };

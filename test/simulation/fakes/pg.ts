/** The driver `pg` over the simulated network. Everything but its socket is the real one. */
import type { Duplex } from 'node:stream';
import real, { type ClientConfig } from 'pg';
import { currentProcess } from '../loop.ts';
import { unconnected } from '../network.ts';

export class Client extends real.Client {
  constructor(config: ClientConfig) {
    const owner = currentProcess();
    super({ ...config, stream: () => gathering(unconnected(owner)) });
  }
}

/** Sends in one packet what is written in one turn, as TCP does: each packet is an event of the history. */
function gathering(socket: Duplex): Duplex {
  const write = socket.write.bind(socket) as (...values: unknown[]) => boolean;
  let isGathering = false;
  const gather = (...values: unknown[]): boolean => {
    if (!isGathering) {
      isGathering = true;
      socket.cork();
      process.nextTick(() => {
        isGathering = false;
        socket.uncork();
      });
    }
    return write(...values);
  };
  return Object.assign(socket, { write: gather });
}

// oxlint-disable-next-line import/no-default-export -- the package has one
export default { Client, Pool: real.Pool };

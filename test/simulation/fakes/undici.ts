/** Connections of the emulator to destinations: the simulated world responds. */
import type { Dispatcher } from 'undici';
import { answerDelivery } from '../destinations.ts';

export class Agent {
  async request(options: Dispatcher.RequestOptions): Promise<object> {
    return answerDelivery(options);
  }

  async destroy(): Promise<void> {}
}

export class Pool extends Agent {}

export function buildConnector(): undefined {
  return undefined;
}

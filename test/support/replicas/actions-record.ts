/** Record of the requests of actions as the service received them, with the replica that sent each one. */
import { onTestFinished } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { RecordedRequest } from '#emulator/control/request-recorder.ts';
import type { ReplicaHost } from './replica-host.ts';

export interface Action extends Pick<RecordedRequest, 'method' | 'path' | 'status' | 'at' | 'headers' | 'lost'> {
  readonly replica: string;
  readonly account: string;
}

/** Interval in milliseconds. The service keeps only its last requests. */
const EVERY_MS = 100;

export class ActionsRecord {
  readonly actions: Action[] = [];
  readonly #emulator: RunningEmulator;
  readonly #hosts: readonly ReplicaHost[];
  #sequence = 0;

  constructor(emulator: RunningEmulator, hosts: readonly ReplicaHost[]) {
    this.#emulator = emulator;
    this.#hosts = hosts;
    const timer = setInterval(() => this.take(), EVERY_MS);
    onTestFinished(() => clearInterval(timer));
  }

  /** Takes the new requests. */
  take(): void {
    for (const request of this.#emulator.control.requests.list({ after: this.#sequence })) {
      if (request.sequence !== this.#sequence + 1) throw new Error('the record of the service was read too late');
      this.#sequence = request.sequence;
      if (request.method === 'GET') continue;
      const port = Number(String(request.headers['host']).split(':')[1]);
      const sender = this.#hosts.find(({ ports }) => ports.has(port));
      // Without one, it is a request of the test itself.
      if (sender !== undefined)
        this.actions.push({ ...request, replica: sender.name, account: sender.ports.get(port)! });
    }
  }
}

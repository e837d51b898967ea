/** Record of the requests of actions as the service received them, with the replica that sent each one. */
import { onTestFinished } from 'vitest';
import type { Emulator } from '#emulator/emulator.ts';
import type { RecordedRequest } from '#emulator/control/request-recorder.ts';

export interface Action extends Pick<RecordedRequest, 'method' | 'path' | 'status' | 'at' | 'headers' | 'lost'> {
  readonly replica: string;
  readonly account: string;
}

/** Interval in milliseconds. The service keeps only its last requests. */
const EVERY_MS = 100;

type SenderOf = (port: number) => Pick<Action, 'replica' | 'account'> | undefined;

export class ActionsRecord {
  readonly actions: Action[] = [];
  readonly #emulator: Emulator;
  readonly #senderOf: SenderOf;
  #sequence = 0;

  constructor(emulator: Emulator, senderOf: SenderOf) {
    this.#emulator = emulator;
    this.#senderOf = senderOf;
    const timer = setInterval(() => this.take(), EVERY_MS);
    onTestFinished(() => clearInterval(timer));
  }

  /** Takes the new requests. */
  take(): void {
    for (const request of this.#emulator.control.requests.list({ after: this.#sequence })) {
      if (request.sequence !== this.#sequence + 1) throw new Error('the record of the service was read too late');
      this.#sequence = request.sequence;
      if (request.method === 'GET') continue;
      const sender = this.#senderOf(Number(String(request.headers['host']).split(':')[1]));
      // Without one, it is a request of the test itself.
      if (sender !== undefined) this.actions.push({ ...request, ...sender });
    }
  }
}

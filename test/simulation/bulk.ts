/** A busy application: it publishes to a large URL Group, with long retries, and cancels messages. */
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { Random } from '#foundation/platform/random.ts';
import { post } from './application.ts';
import { Process, type Loop } from './loop.ts';
import { ACCOUNT } from './service.ts';

const MINUTE = 60_000;
const ENDPOINTS = 60;
/** Mean time between two messages to the group. */
const PAUSE_MS = 2 * MINUTE;
/** Less than the rest at the end of a history, with all retries. */
const LONGEST_RETRY_MS = 20 * MINUTE;

export class BulkSender {
  readonly #loop: Loop;
  readonly #emulator: RunningEmulator;
  readonly #random: Random;
  readonly #process = new Process('bulk');
  #isBusy = true;

  constructor(loop: Loop, emulator: RunningEmulator) {
    this.#loop = loop;
    this.#emulator = emulator;
    this.#random = loop.random('bulk');
  }

  /** Starts to send, in a quarter of all histories. */
  begin(): void {
    if (this.#random() >= 0.25) return;
    const endpoints = Array.from({ length: ENDPOINTS }, (_, n) => ({
      name: `endpoint-${n}`,
      url: `https://${['shop', 'mail', 'host'][n % 3]!}.example/bulk/${n}`,
    }));
    const headers = { 'content-type': 'application/json' };
    this.#post('/v2/topics/bulk/endpoints', { headers, body: { endpoints } });
    this.#next();
  }

  rest(): void {
    this.#isBusy = false;
  }

  #next(): void {
    const pause = -Math.log(1 - this.#random()) * PAUSE_MS;
    this.#loop.after(pause, this.#process, 'bulk', () => {
      if (!this.#isBusy) return;
      const delay = 1_000 + this.#below(LONGEST_RETRY_MS);
      const headers = { 'Svc-Retries': String(this.#below(3)), 'Svc-Retry-Delay': String(delay) };
      this.#post('/v2/publish/bulk', { headers });
      this.#post('/v2/publish/https://shop.example/much-later', { headers: { 'Svc-Delay': '10d' } });
      if (this.#random() < 0.5) this.#cancel();
      this.#next();
    });
  }

  /** Cancels a message that waits, or one in the middle of its delivery, which then continues. */
  #cancel(): void {
    const open = this.#emulator.messages(ACCOUNT).filter(({ state }) => state === 'CREATED' || state === 'ACTIVE');
    const chosen = open[this.#below(open.length)];
    if (chosen !== undefined) this.#emulator.cancelMessage(ACCOUNT, chosen.id);
  }

  #post(path: string, sent: Parameters<typeof post>[2]): void {
    const by = { process: this.#process, emulator: this.#emulator, account: ACCOUNT };
    // A storm of the service may reject it.
    post(by, path, sent).catch(() => undefined);
  }

  #below(max: number): number {
    return Math.floor(this.#random() * max);
  }
}

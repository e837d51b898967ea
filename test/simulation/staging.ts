/** A second account, in every sixth history: an application and a policy of its own. Replicas may own one account each. */
import type { Random } from '#foundation/platform/random.ts';
import type { RunningEmulator } from '#emulator/emulator.ts';
import { post } from './application.ts';
import { Process, type Loop } from './loop.ts';

const PAUSE_MS = 40_000;
export const STAGING = { name: 'staging', id: 'acc-2', token: 'staging-token' } as const;

export function hasStaging({ seed }: Loop): boolean {
  return seed % 6 === 2;
}

export class StagingSender {
  readonly #loop: Loop;
  readonly #emulator: RunningEmulator;
  readonly #random: Random;
  readonly #process = new Process('staging');
  #isBusy = true;

  constructor(loop: Loop, emulator: RunningEmulator) {
    this.#loop = loop;
    this.#emulator = emulator;
    this.#random = loop.random('staging');
  }

  begin(): void {
    if (hasStaging(this.#loop)) this.#next();
  }

  rest(): void {
    this.#isBusy = false;
  }

  #next(): void {
    const pause = -Math.log(1 - this.#random()) * PAUSE_MS;
    this.#loop.after(pause, this.#process, 'staging', () => {
      if (!this.#isBusy) return;
      if (this.#random() < 0.4)
        this.#post('trigger/https://bill.example/staging', { 'Svc-Retries': '0', 'Svc-Label': 'staging' });
      else this.#post('publish/https://shop.example/staging', { 'Svc-Retries': '2', 'Svc-Retry-Delay': '20000' });
      this.#next();
    });
  }

  #post(operation: string, headers: Readonly<Record<string, string>>): void {
    const by = { process: this.#process, emulator: this.#emulator, account: STAGING.id };
    post(by, `/v2/${operation}`, { headers }).catch(() => undefined);
  }
}

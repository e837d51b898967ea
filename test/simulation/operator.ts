/** An operator of the daemon, with commands over its socket: pauses, their end, reports of deploys, reloads. */
import { exchange, type Answered } from './exchange.ts';
import { Process, type Loop } from './loop.ts';

const MINUTE = 60_000;

export class Operator {
  readonly #loop: Loop;
  readonly #daemon: { readonly socketPath: string };
  readonly #process = new Process('operator');
  #deploys = 0;
  /** True from the response to a pause of the engine until its end is requested. */
  hasPaused = false;

  constructor(loop: Loop, daemon: { readonly socketPath: string }) {
    this.#loop = loop;
    this.#daemon = daemon;
  }

  /** Pauses the engine or a policy, for some minutes. */
  pause(): void {
    const { faults } = this.#loop;
    const policy = faults.below(2) === 0 ? undefined : 'resume-billing';
    this.#command('/api/v1/pause', { reason: 'a test', ...(policy && { policy }) }).then(
      ({ status }) => {
        if (status === 200 && policy === undefined) this.hasPaused = true;
      },
      () => undefined,
    );
    this.#loop.after(faults.below(20) * MINUTE, this.#process, 'lifts the pause', () => this.lift());
  }

  /** Lifts every pause. Repeats the command until it succeeds. */
  lift(): void {
    this.hasPaused = false;
    const again = (): void => void this.#loop.after(MINUTE, this.#process, 'lifts the pause', () => this.lift());
    this.#command('/api/v1/unpause', { reason: 'the test is over' }).then(({ status }) => {
      if (status !== 200) again();
    }, again);
  }

  deploy(): void {
    const body = { of: ['https://bill.example/'], version: `v${(this.#deploys += 1)}` };
    this.#command('/api/v1/deploys', body).catch(() => undefined);
  }

  #command(path: string, body: object): Promise<Answered> {
    this.#loop.note(this.#process, `${path} ${JSON.stringify(body)}`);
    const headers = { 'content-type': 'application/json', host: 'localhost' };
    const { socketPath } = this.#daemon;
    return exchange(this.#process, { socketPath, path, method: 'POST', headers, body: JSON.stringify(body) });
  }
}

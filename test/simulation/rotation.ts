/** Rotations of the account's token: by an operator's operation, and in the console of the service. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOKEN_FILE } from './config.ts';
import type { SimDaemon } from './daemon.ts';
import { Process, type Loop } from './loop.ts';
import type { Operator } from './operator.ts';
import { ACCOUNT, type SimService } from './service.ts';

const MINUTE = 60_000;

export class Rotations {
  readonly #loop: Loop;
  readonly #service: SimService;
  readonly #daemon: SimDaemon;
  readonly #process = new Process('secrets');

  constructor(loop: Loop, service: SimService, daemon: SimDaemon) {
    this.#loop = loop;
    this.#service = service;
    this.#daemon = daemon;
    daemon.put(TOKEN_FILE, service.token);
  }

  /** Rotates the token. Its file is right some minutes later, whatever happens to the request and to the daemon. */
  rotate(operator: Operator): void {
    const { faults } = this.#loop;
    if (faults.below(2) === 0) this.#service.rotate();
    else operator.operate('rotate-token', { account: 'production', id: ACCOUNT, confirm: 'production' });
    this.#loop.note(this.#process, 'the token is rotated');
    this.#loop.after((1 + faults.below(8)) * MINUTE, this.#process, 'the file of the token is written', () =>
      this.write(),
    );
  }

  /** Writes the valid token to the file of the daemon, if another one is there. */
  write(): void {
    const path = join(this.#daemon.folder, TOKEN_FILE);
    if (readFileSync(path, 'utf8') !== this.#service.token) this.#daemon.put(TOKEN_FILE, this.#service.token);
  }
}

/** Plays histories in a process of its own. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { History, HistoryOptions } from './history.ts';

const WORKER = new URL('worker.ts', import.meta.url);

export class Player {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  constructor(mutant?: string) {
    this.#child = fork(WORKER, mutant === undefined ? [] : [mutant], {
      // Neither proxies nor a time zone of the machine.
      env: { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], TZ: 'UTC' },
      execArgv: ['--max-semi-space-size=16'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`a worker ended with ${String(code)}`);
    });
    this.#ended.catch(() => undefined);
  }

  /** Plays a history. @throws {Error} if the process ends */
  async run(options: HistoryOptions): Promise<History> {
    this.#child.send(options);
    const [history] = (await Promise.race([once(this.#child, 'message'), this.#ended])) as [History];
    return history;
  }

  end(): void {
    this.#child.removeAllListeners();
    this.#child.kill();
  }
}

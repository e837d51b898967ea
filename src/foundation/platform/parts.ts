import type { Clock } from './clock.ts';
import { errorMessage } from './error-message.ts';
import type { Logger } from './logger.ts';

/** Parts of the daemon, in start order. They end in reverse order, each also if another fails or hangs. */
export class Parts extends AsyncDisposableStack {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }) {
    super();
    this.#deps = deps;
  }

  /** Adds the end of a part. It may take at most `ms` milliseconds, and logs instead of throwing. */
  ending(name: string, ms: number, work: () => Promise<unknown>): void {
    const { clock, logger } = this.#deps;
    this.defer(async () => {
      let late: (() => void) | undefined;
      const deadline = new Promise<'late'>((resolve) => (late = () => resolve('late')));
      using _timer = clock.after(ms, late!);
      // The clock's timers do not keep the process alive. The process must stay alive until the teardown has ended.
      const keepAlive = setInterval(() => undefined, ms);
      try {
        const ended = await Promise.race([work(), deadline]);
        if (ended === 'late')
          logger.warn({ step: name, waitedMs: ms }, 'teardown step timed out, continuing with the next step');
      } catch (error) {
        logger.warn({ step: name, error: errorMessage(error) }, 'teardown step failed');
      } finally {
        clearInterval(keepAlive);
      }
    });
  }
}

/**
 * Teardown that ends: each step has a name and a time, and one that fails or hangs does not keep the next from running.
 */
import type { Clock } from './clock.ts';
import { errorMessage } from './error-message.ts';
import type { Logger } from './logger.ts';

/** A step for an AsyncDisposableStack: waits for `work` at most `ms`, and logs rather than throws. */
export function teardown(
  deps: { readonly clock: Clock; readonly logger: Logger },
  name: string,
  ms: number,
  work: () => Promise<unknown>,
): AsyncDisposable {
  return {
    async [Symbol.asyncDispose](): Promise<void> {
      let late: (() => void) | undefined;
      const deadline = new Promise<'late'>((resolve) => (late = () => resolve('late')));
      using _timer = deps.clock.after(ms, late!);
      // The clock's timers keep no process alive; the one that waits for this teardown must stay until it is over.
      const keepAlive = setInterval(() => undefined, ms);
      try {
        const ended = await Promise.race([work(), deadline]);
        if (ended === 'late')
          deps.logger.warn({ step: name, waitedMs: ms }, 'teardown step took too long; going on without it');
      } catch (error) {
        deps.logger.warn({ step: name, error: errorMessage(error) }, 'teardown step failed');
      } finally {
        clearInterval(keepAlive);
      }
    },
  };
}

/**
 * Teardown that always ends. Each step has a name and a time limit. A step that fails or hangs does not prevent the
 * next one.
 */
import type { Clock } from './clock.ts';
import { errorMessage } from './error-message.ts';
import type { Logger } from './logger.ts';

/** Returns a step for an AsyncDisposableStack. It waits for `work` for at most `ms`, and logs instead of throwing. */
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
      // The clock's timers do not keep the process alive. The process must stay alive until the teardown has ended.
      const keepAlive = setInterval(() => undefined, ms);
      try {
        const ended = await Promise.race([work(), deadline]);
        if (ended === 'late')
          deps.logger.warn({ step: name, waitedMs: ms }, 'teardown step timed out, continuing with the next step');
      } catch (error) {
        deps.logger.warn({ step: name, error: errorMessage(error) }, 'teardown step failed');
      } finally {
        clearInterval(keepAlive);
      }
    },
  };
}

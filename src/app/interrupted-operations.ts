/** Operations of operators whose outcome nobody recorded. */
import type { Operations } from '#automate/ledger/operations.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { DaemonOptions } from './options.ts';

/** Records that the outcome of operations is unknown if an earlier process ended before it arrived. */
export async function endInterruptedOperations(
  ledger: Pick<Operations, 'endInterruptedOperations'>,
  { clock, logger }: Pick<DaemonOptions, 'clock' | 'logger'>,
): Promise<void> {
  try {
    const operations = await ledger.endInterruptedOperations(clock.now());
    if (operations > 0)
      logger.warn({ operations }, 'operations were interrupted, their outcome is unknown; see opsd audit');
  } catch (error) {
    logger.error({ error: errorMessage(error) }, 'interrupted operations could not be recorded');
  }
}

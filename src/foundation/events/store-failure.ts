/** Failures of the store, except for those that are none. */
import { errorMessage } from '../platform/error-message.ts';
import type { EventBus } from './events.ts';

/**
 * Returns true if another replica may own the account that a transaction was about: nothing was changed, and the store
 * works. The class of these errors is in a room that most rooms may not import, so their name is compared.
 */
export function isLeaseLost(error: unknown): boolean {
  return error instanceof Error && error.name === 'LeaseLostError';
}

/** Reports that an operation of the store failed, unless the lease was lost. */
export function reportStoreFailure(events: Pick<EventBus, 'emit'>, operation: string, error: unknown): void {
  if (!isLeaseLost(error)) events.emit({ type: 'store.failed', operation, message: errorMessage(error) });
}

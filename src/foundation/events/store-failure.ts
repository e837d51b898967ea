/** Failures of the store, except for those that are none. */
import { errorMessage } from '../platform/error-message.ts';
import { isLeaseLost } from '../platform/lease-lost.ts';
import type { EventBus } from './events.ts';

/** Reports that an operation of the store failed, unless the lease was lost. */
export function reportStoreFailure(events: Pick<EventBus, 'emit'>, operation: string, error: unknown): void {
  if (!isLeaseLost(error)) events.emit({ type: 'store.failed', operation, message: errorMessage(error) });
}

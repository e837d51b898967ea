/** Daily request counts that were loaded from their store. */
import type { RequestUseStore, StoredUse } from '#foundation/domain/request-use.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { KeptUse } from './daily-budget.ts';

export interface LoadedUse {
  readonly stored: readonly StoredUse[];
  readonly store: Pick<RequestUseStore, 'save'>;
}

/** Rejects if the counts cannot be read: no request is sent on the assumption that they are 0. */
export async function loadUse(store: RequestUseStore): Promise<LoadedUse> {
  return { stored: await store.load(), store };
}

/** Keeps the count of one API. If it cannot be saved, counting continues in memory and the failure is reported. */
export function keptUse(
  { account, api }: Pick<StoredUse, 'account' | 'api'>,
  { stored, store }: LoadedUse,
  events: EventBus,
): KeptUse {
  return {
    before: stored.find((one) => one.account === account && one.api === api),
    async save({ day, used }) {
      try {
        await store.save({ account, api, day, used });
      } catch (error) {
        // A replica that has lost the account sends no more requests, and the next owner counts its own.
        reportStoreFailure(events, 'save of the daily count of requests', error);
      }
    },
  };
}

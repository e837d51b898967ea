import { expect, test } from 'vitest';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import { LeaseLostError, StoreError } from '#storage/store-error.ts';

test('a lost lease is no failure of the store, and everything else is', () => {
  const events = new EventBus();
  const seen: OpsEvent[] = [];
  events.subscribe((event) => void seen.push(event));
  reportStoreFailure(events, 'save', new LeaseLostError('production', 3, 4));
  expect(seen).toEqual([]);
  for (const error of [new StoreError('disk full'), new Error('bug')]) reportStoreFailure(events, 'save', error);
  expect(seen).toEqual([
    { type: 'store.failed', operation: 'save', message: 'disk full' },
    { type: 'store.failed', operation: 'save', message: 'bug' },
  ]);
});

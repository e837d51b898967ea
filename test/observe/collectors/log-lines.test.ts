/** Delivery events that log pipelines receive. */
import { expect, test } from 'vitest';
import { logs } from '#observe/collectors/logs.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';
import { context } from './fake-context.ts';
import { FakeLog } from './fake-service.ts';

const T0 = Date.UTC(2026, 10, 20, 10);

test('lines about the new facts of a commit are stored with it', async () => {
  const clock = new ManualClock(T0);
  const log = new FakeLog({ clock });
  const stores = memoryStores();
  const at = context<'logs'>({
    clock,
    stores,
    lines: (progress) => progress.map(({ messageId, end }) => `${messageId} ${end?.outcome}`),
  });
  await logs.collect(log.client, at);
  const message = { messageId: 'm', labels: [], url: 'https://a.example/x' };
  log.entries.push({ ...message, time: T0 + 1, state: 'CREATED' }, { ...message, time: T0 + 2, state: 'DELIVERED' });
  await clock.advance(60_000);
  await logs.collect(log.client, at);
  expect(stores.lines).toEqual(['m delivered']);
});

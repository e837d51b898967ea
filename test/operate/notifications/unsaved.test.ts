/** Conditions that were reported while the store was unavailable, over the end of their generation. */
import { expect, onTestFinished, test } from 'vitest';
import { createNotifier } from '#operate/notifications/notifier.ts';
import type { NotifyingReplica } from '#operate/notifications/replica.ts';
import { notificationSettings } from '#operate/notifications/settings.ts';
import { UnsavedNotifications } from '#operate/notifications/unsaved-notifications.ts';
import { httpSink } from '../../support/http-sink.ts';
import { until } from '../../support/until.ts';
import { notificationWorld } from './world.ts';

const REPLICA: NotifyingReplica = { name: 'one', isLeader: false, owns: () => true };

async function world(replica?: NotifyingReplica) {
  const own = notificationWorld();
  const sink = await httpSink();
  const unsaved = new UnsavedNotifications();
  const settings = notificationSettings.parse({ webhook: { url: sink.url } });
  const { store, clock, events } = own;
  const start = async () => {
    const notifier = createNotifier({
      settings,
      store,
      stored: await store.load(),
      unsaved,
      clock,
      events,
      replica,
    });
    onTestFinished(() => notifier[Symbol.asyncDispose]());
    return notifier;
  };
  /** Returns the notifications, once there are so many. One that was repeated counts once. */
  const sent = async (count: number) => {
    const different = () => {
      const bodies = sink.requests.map(({ body }) => JSON.parse(body.toString('utf8')) as Record<string, string>);
      return [...new Set(bodies.map(({ status, key }) => `${status} ${key}`))];
    };
    await until({ what: `${count} notifications` }, () => different().length >= count || undefined);
    return different();
  };
  return { ...own, start, sent, unsaved, sink };
}

test.each([
  ['the process', undefined, 'store'],
  ['a replica', REPLICA, 'store/one'],
])('%s: a condition that was never saved is resolved by the next generation', async (_name, replica, key) => {
  const { start, sent, tell, turn, broken, db } = await world(replica);
  const first = await start();
  broken.isBroken = true;
  tell({ key: 'store', account: undefined });
  expect(await sent(1)).toEqual([`firing ${key}`]);
  await first[Symbol.asyncDispose]();
  broken.isBroken = false;
  const second = await start();
  expect(second.activeConditions()).toMatchObject([{ key: 'store' }]);
  await turn();
  expect(db.prepare('SELECT key FROM notifications').all()).toEqual([{ key }]);
  tell({ key: 'store', account: undefined, isResolved: true });
  expect(await sent(2)).toEqual([`firing ${key}`, `resolved ${key}`]);
});

test('a resolved condition whose end was never saved does not return', async () => {
  const { start, sent, tell, turn, broken, store } = await world();
  const first = await start();
  tell({ key: 'store' });
  await sent(1);
  await turn();
  broken.isBroken = true;
  tell({ key: 'store', isResolved: true });
  await sent(2);
  await first[Symbol.asyncDispose]();
  broken.isBroken = false;
  const second = await start();
  expect(second.activeConditions()).toEqual([]);
  // The first generation may have ended before the response of the webhook.
  await until({ what: 'a store without conditions' }, async () => {
    const { notifications, queue } = await store.load();
    return notifications.length === 0 && queue.every(({ kept }) => kept.isWill === true);
  });
});

test('a replica keeps nothing of an account, which may have another owner', async () => {
  const { start, tell, turn, broken } = await world(REPLICA);
  const first = await start();
  broken.isBroken = true;
  tell({ key: 'held/resume-billing' });
  await turn();
  await first[Symbol.asyncDispose]();
  expect((await start()).activeConditions()).toEqual([]);
});

test('a generation loads what the last write of the earlier one has stored', async () => {
  const { start, tell, turn, broken, store, unsaved } = await world();
  const first = await start();
  const gate = Promise.withResolvers<void>();
  broken.until = gate.promise;
  tell();
  await turn();
  const disposed = first[Symbol.asyncDispose]();
  const loaded = unsaved.load(store).then(({ notifications }) => notifications.length);
  const early = await Promise.race([loaded, turn().then(() => 'not yet')]);
  gate.resolve();
  expect(early).toBe('not yet');
  expect(await loaded).toBe(1);
  await disposed;
});

test('what was saved is not kept', async () => {
  const { start, tell, unsaved } = await world();
  const first = await start();
  tell({ key: 'store' });
  await first[Symbol.asyncDispose]();
  expect(unsaved.take()).toBeUndefined();
});

test('a replica sends only a store condition before it is saved', async () => {
  const { start, sent, tell, turn, broken, clock } = await world(REPLICA);
  await start();
  broken.isBroken = true;
  tell({ key: 'held/resume-billing' });
  tell({ key: 'replica-name', account: undefined });
  tell({ key: 'store', account: undefined });
  await turn();
  expect(await sent(1)).toEqual(['firing store/one']);
  await clock.advance(5_000);
  expect(await sent(1)).toEqual(['firing store/one']);
  broken.isBroken = false;
  // No other change repeats the write.
  await clock.advance(5_000);
  expect(await sent(3)).toEqual(['firing store/one', 'firing held/resume-billing', 'firing replica-name/one']);
});

test('without replicas, a condition of an account does not wait for the store', async () => {
  const { start, sent, tell, broken } = await world();
  await start();
  broken.isBroken = true;
  tell({ key: 'held/resume-billing' });
  expect(await sent(1)).toEqual(['firing held/resume-billing']);
});

test('a replica that has lost an account sends nothing more about it', async () => {
  const lost = new Set<string>();
  const { start, sent, tell, turn, clock, sink } = await world({ ...REPLICA, owns: (account) => !lost.has(account) });
  await start();
  tell({ key: 'held/resume-billing' });
  expect(await sent(1)).toEqual(['firing held/resume-billing']);
  lost.add('production');
  tell({ key: 'held/resume-billing', isResolved: true });
  tell({ key: 'store', account: undefined });
  await turn();
  expect(await sent(2)).toEqual(['firing held/resume-billing', 'firing store/one']);
  await clock.advance(5_000);
  expect(sink.requests).toHaveLength(2);
  // The account is back before its work has stopped.
  lost.clear();
  await clock.advance(5_000);
  expect(await sent(3)).toEqual(['firing held/resume-billing', 'firing store/one', 'resolved held/resume-billing']);
});

test('a process that ended without its store: its successor ends what was never saved', async () => {
  const { start, sent, tell, turn, broken, clock } = await world();
  await start();
  await turn();
  // From here on, the first process saves nothing.
  broken.isBroken = true;
  tell({ key: 'store', account: undefined });
  expect(await sent(1)).toEqual(['firing store']);
  await clock.advance(2 * 86_400_000);
  const second = await start();
  expect(await sent(2)).toEqual(['firing store', 'resolved store']);
  expect(second.activeConditions()).toEqual([]);
});

test('a process that stops leaves nothing to send', async () => {
  const { start, sent, tell, turn, db, sink } = await world();
  const first = await start();
  await turn();
  expect(db.prepare('SELECT receiver FROM notification_queue').all()).toEqual([{ receiver: 'webhook' }]);
  await first[Symbol.asyncDispose]();
  expect(db.prepare('SELECT receiver FROM notification_queue').all()).toEqual([]);
  await start();
  tell();
  expect(await sent(1)).toEqual(['firing held/resume-billing']);
  expect(sink.requests).toHaveLength(1);
});

test('a condition that was saved is active after a kill, and ends once', async () => {
  const { start, sent, tell, turn, sink } = await world();
  await start();
  tell({ key: 'store', account: undefined });
  await turn();
  expect(await sent(1)).toEqual(['firing store']);
  const second = await start();
  expect(second.activeConditions()).toMatchObject([{ key: 'store' }]);
  tell({ key: 'store', account: undefined, isResolved: true });
  expect(await sent(2)).toEqual(['firing store', 'resolved store']);
  expect(new Set(sink.requests.map(({ body }) => JSON.parse(body.toString('utf8')).id)).size).toBe(2);
});

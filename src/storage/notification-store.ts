/** Store of conditions: one row per condition, and one row per pending notification. */
import type { KeptNotification, NotificationStore } from '#operate/notifications/notification-store.ts';
import { all, each, run, type Value } from './database.ts';
import type { Store } from './sqlite.ts';

const SELECT = 'SELECT record FROM notifications ORDER BY key';
const PUT =
  'INSERT INTO notifications (key, record) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET record = excluded.record';
const SELECT_QUEUE = 'SELECT id, receiver, record FROM notification_queue ORDER BY id';
const PUT_QUEUED = `INSERT INTO notification_queue (id, receiver, record) VALUES (?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET receiver = excluded.receiver, record = excluded.record`;
const REMOVE_QUEUED = 'DELETE FROM notification_queue WHERE id = ?';

export function createNotificationStore({ database }: Pick<Store, 'database'>): NotificationStore {
  const remove = `DELETE FROM notifications WHERE key IN ${database.dialect.members('?1')}`;
  return {
    load: () =>
      database.read(
        (function* () {
          const notifications = yield* all(SELECT);
          const queue = yield* all(SELECT_QUEUE);
          return {
            notifications: notifications.map(({ record }) => parse(record)),
            queue: queue.map(({ id, receiver, record }) => ({
              id: Number(id),
              receiver: String(receiver),
              kept: parse(record),
            })),
          };
        })(),
      ),
    save: ({ notifications, queue }) =>
      database.transaction(
        (function* () {
          const removed = [...notifications].filter(([, kept]) => kept === undefined).map(([key]) => key);
          const kept = [...notifications].filter(([, one]) => one !== undefined);
          const settled = [...queue].filter(([, queued]) => queued === undefined).map(([id]) => [id]);
          const queued = [...queue.values()].filter((one) => one !== undefined);
          if (removed.length > 0) yield* run(remove, JSON.stringify(removed));
          yield* each(
            PUT,
            kept.map(([key, one]) => [key, JSON.stringify(one)]),
          );
          yield* each(REMOVE_QUEUED, settled);
          yield* each(
            PUT_QUEUED,
            queued.map((one) => [one.id, one.receiver, JSON.stringify(one.kept)]),
          );
        })(),
      ),
  };
}

function parse(record: Value | undefined): KeptNotification {
  return JSON.parse(String(record)) as KeptNotification;
}

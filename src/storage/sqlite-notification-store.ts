/** Store of conditions on SQLite: one row per condition, and one row per pending notification. */
import type { KeptNotification, NotificationStore } from '#operate/notifications/notification-store.ts';
import { transaction } from './sqlite-transaction.ts';
import type { Store } from './sqlite.ts';

export function createNotificationStore({ db }: Pick<Store, 'db'>): NotificationStore {
  const put = db.prepare('INSERT OR REPLACE INTO notifications (key, record) VALUES (?, ?)');
  const remove = db.prepare('DELETE FROM notifications WHERE key = ?');
  const putQueued = db.prepare('INSERT OR REPLACE INTO notification_queue (id, receiver, record) VALUES (?, ?, ?)');
  const removeQueued = db.prepare('DELETE FROM notification_queue WHERE id = ?');
  const read = (record: unknown): KeptNotification => JSON.parse(String(record)) as KeptNotification;

  return {
    load() {
      const notifications = db.prepare('SELECT record FROM notifications ORDER BY key').all();
      const queue = db.prepare('SELECT * FROM notification_queue ORDER BY id').all();
      return {
        notifications: notifications.map((row) => read(row['record'])),
        queue: queue.map((row) => ({
          id: Number(row['id']),
          receiver: String(row['receiver']),
          kept: read(row['record']),
        })),
      };
    },
    save({ notifications, queue }) {
      transaction(db, () => {
        for (const [key, kept] of notifications) {
          if (kept === undefined) remove.run(key);
          else put.run(key, JSON.stringify(kept));
        }
        for (const [id, queued] of queue) {
          if (queued === undefined) removeQueued.run(id);
          else putQueued.run(id, queued.receiver, JSON.stringify(queued.kept));
        }
      });
    },
  };
}

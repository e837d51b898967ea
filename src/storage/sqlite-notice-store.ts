/** Store of conditions on SQLite: one row per condition, and one row per pending notification. */
import type { KeptNotice, NoticeStore } from '#operate/notifications/notice-store.ts';
import { transaction, type Store } from './sqlite.ts';

export function createNoticeStore({ db }: Pick<Store, 'db'>): NoticeStore {
  const put = db.prepare('INSERT OR REPLACE INTO notices (key, record) VALUES (?, ?)');
  const remove = db.prepare('DELETE FROM notices WHERE key = ?');
  const putQueued = db.prepare('INSERT OR REPLACE INTO notice_queue (id, receiver, record) VALUES (?, ?, ?)');
  const removeQueued = db.prepare('DELETE FROM notice_queue WHERE id = ?');
  const read = (record: unknown): KeptNotice => JSON.parse(String(record)) as KeptNotice;

  return {
    load() {
      const notices = db.prepare('SELECT record FROM notices ORDER BY key').all();
      const queue = db.prepare('SELECT * FROM notice_queue ORDER BY id').all();
      return {
        notices: notices.map((row) => read(row['record'])),
        queue: queue.map((row) => ({
          id: Number(row['id']),
          receiver: String(row['receiver']),
          kept: read(row['record']),
        })),
      };
    },
    save({ notices, queue }) {
      transaction(db, () => {
        for (const [key, kept] of notices) {
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

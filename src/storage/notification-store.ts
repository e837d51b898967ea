/** Store of conditions: one row per condition, and one row per pending notification. */
import type {
  KeptNotification,
  NotificationChanges,
  NotificationStore,
  StoredNotifications,
} from '#operate/notifications/notification-store.ts';
import { all, each, records, run, type Work } from './database.ts';
import { type RowScope, WHOLE, changeByLease, isInScope, leaseFor } from './scope.ts';
import type { Store } from './sqlite.ts';

const SELECT = 'SELECT record FROM notifications ORDER BY key';
const PUT =
  'INSERT INTO notifications (key, record) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET record = excluded.record';
const SELECT_QUEUE = 'SELECT uuid AS id, receiver, record FROM notification_queue ORDER BY notification_queue.id';
const PUT_QUEUED = `INSERT INTO notification_queue (uuid, receiver, record) VALUES (?, ?, ?)
  ON CONFLICT (uuid) DO UPDATE SET receiver = excluded.receiver, record = excluded.record`;
const SELECT_REPLICAS = 'SELECT name FROM replicas';

export function createNotificationStore(
  { database }: Pick<Store, 'database'>,
  scope: RowScope = WHOLE,
): NotificationStore {
  const { members } = database.dialect;
  const remove = `DELETE FROM notifications WHERE key IN ${members('?1')}`;
  const removeQueued = `DELETE FROM notification_queue WHERE uuid IN ${members('?1')}`;

  /** Conditions of a replica belong to it, and those of no account to the leader. */
  function isOwn(kept: KeptNotification): boolean {
    const { account = '' } = kept.notification;
    const replica = replicaOf(kept);
    return replica === undefined ? isInScope(scope, account) : replica === scope.replica;
  }

  function leaseOf(kept: KeptNotification): string | undefined {
    return replicaOf(kept) === undefined ? leaseFor(scope, kept.notification.account ?? '') : undefined;
  }

  function* change({ kept, removed, queued, settled }: NotificationChanges): Work<void> {
    if (removed.length > 0) yield* run(remove, JSON.stringify(removed.map(({ notification }) => notification.key)));
    yield* each(PUT, kept, (one) => [one.notification.key, JSON.stringify(one)]);
    if (settled.length > 0) yield* run(removeQueued, JSON.stringify(settled.map(({ id }) => id)));
    yield* each(PUT_QUEUED, queued, (one) => [one.id, one.receiver, JSON.stringify(one.kept)]);
  }

  return {
    load: () => database.read(read(isOwn)),
    ofStoppedReplicas: () =>
      database.read(function* () {
        const running = new Set((yield* all(SELECT_REPLICAS)).map(({ name }) => name));
        running.add(scope.replica);
        return yield* read((kept) => {
          const replica = replicaOf(kept);
          return replica !== undefined && !running.has(replica);
        });
      }),
    async save({ kept, removed, queued, settled }) {
      const leases = [...kept, ...removed, ...[...queued, ...settled].map((one) => one.kept)].map(leaseOf);
      const { lost } = await changeByLease(
        database,
        [...new Set(leases)],
        (lease) => lease,
        ([lease]) =>
          change({
            kept: kept.filter((one) => leaseOf(one) === lease),
            removed: removed.filter((one) => leaseOf(one) === lease),
            queued: queued.filter((one) => leaseOf(one.kept) === lease),
            settled: settled.filter((one) => leaseOf(one.kept) === lease),
          }),
      );
      if (lost[0] !== undefined) throw lost[0];
    },
  };
}

/** Returns the replica that owns a condition; undefined if an account or the leader does. */
function replicaOf({ notification, isAdopted }: KeptNotification): string | undefined {
  return isAdopted === true ? undefined : notification.replica;
}

function* read(isWanted: (kept: KeptNotification) => boolean): Work<StoredNotifications> {
  const notifications = yield* records<KeptNotification>(SELECT);
  const rows = yield* all<Readonly<Record<'id' | 'receiver' | 'record', string>>>(SELECT_QUEUE);
  const queue = rows.map(({ record, ...row }) => ({ ...row, kept: JSON.parse(record) as KeptNotification }));
  return {
    notifications: notifications.filter(isWanted),
    queue: queue.filter(({ kept }) => isWanted(kept)),
  };
}

/** Port of the state that must survive a restart: active conditions, and undelivered notifications. */
import type { Notification } from '#foundation/domain/notification.ts';

export interface KeptNotification {
  /** Latest text, or the text of its end. */
  readonly notification: Notification;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Absent while it is active. */
  readonly endedAt?: number;
  /** Set while it has not lasted long enough for a notification. */
  readonly isUntold?: true;
}

export interface QueuedNotification {
  readonly id: number;
  /** `webhook`, or `webhook/OWNER`. */
  readonly receiver: string;
  readonly kept: KeptNotification;
}

export interface StoredNotifications {
  readonly notifications: readonly KeptNotification[];
  readonly queue: readonly QueuedNotification[];
}

export interface NotificationStore {
  load(): Promise<StoredNotifications>;
  /** Saves all changes or none; undefined removes. Rejects if the store cannot be written. */
  save(changes: {
    readonly notifications: ReadonlyMap<string, KeptNotification | undefined>;
    readonly queue: ReadonlyMap<number, QueuedNotification | undefined>;
  }): Promise<void>;
}

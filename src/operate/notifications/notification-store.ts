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
  /**
   * Set for the end of a condition that is stored while it is not active. It is sent if the process ends without
   * removing it: the condition may then be known to receivers, but not to the store.
   */
  readonly isWill?: true;
  /** Set if the leader has ended the condition of another replica. The end belongs to the leader, not to the replica. */
  readonly isAdopted?: true;
}

export interface QueuedNotification {
  /** Unique among all processes. */
  readonly id: string;
  /** `webhook`, or `webhook/OWNER`. */
  readonly receiver: string;
  readonly kept: KeptNotification;
}

export interface StoredNotifications {
  readonly notifications: readonly KeptNotification[];
  readonly queue: readonly QueuedNotification[];
}

export interface NotificationChanges {
  /** Conditions to write, and to remove. */
  readonly kept: readonly KeptNotification[];
  readonly removed: readonly KeptNotification[];
  /** Notifications to write, in their order, and to remove. */
  readonly queued: readonly QueuedNotification[];
  readonly settled: readonly QueuedNotification[];
}

export interface NotificationStore {
  load(): Promise<StoredNotifications>;
  /** Returns the conditions and notifications of replicas that do not run. */
  ofStoppedReplicas(): Promise<StoredNotifications>;
  /**
   * Saves all changes of an account or none. Rejects if the store cannot be written, or if a lease was lost. In the
   * second case, the changes of other accounts are saved.
   */
  save(changes: NotificationChanges): Promise<void>;
}

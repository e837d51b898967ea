/** The port of what must outlive a restart: conditions that stand, and notifications that were not delivered. */
import type { Notification } from '#foundation/domain/notification.ts';

export interface KeptNotification {
  /** As it was last told, or at its end. */
  readonly notification: Notification;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Absent while it stands. */
  readonly endedAt?: number;
  /** While it has not lasted long enough for people to be told. */
  readonly isUntold?: true;
}

export interface QueuedNotification {
  readonly id: number;
  /** `webhook`, or `webhook/OWNER`. */
  readonly receiver: string;
  readonly kept: KeptNotification;
}

export interface NotificationStore {
  load(): { readonly notifications: readonly KeptNotification[]; readonly queue: readonly QueuedNotification[] };
  /** All of it or nothing; undefined removes. @throws {Error} when the store cannot be written */
  save(changes: {
    readonly notifications: ReadonlyMap<string, KeptNotification | undefined>;
    readonly queue: ReadonlyMap<number, QueuedNotification | undefined>;
  }): void;
}

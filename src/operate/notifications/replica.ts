/** Conditions of several replicas over one store: each of them is notified by one replica. */
import type { Notification } from '#foundation/domain/notification.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { NotificationBook } from './notification-book.ts';
import type { NotificationStore } from './notification-store.ts';

const LOOK_EVERY_MS = 60_000;

export interface NotifyingReplica {
  readonly name: string;
  /** True if it also works on conditions that belong to no account and no process. */
  readonly isLeader: boolean;
  /** Returns true if it owns the account now. */
  readonly owns: (account: string) => boolean;
}

/** Returns the condition as this replica notifies it; undefined if another replica does. */
export function ofReplica(notification: Notification, replica: NotifyingReplica | undefined): Notification | undefined {
  if (replica === undefined || notification.account !== undefined) return notification;
  const { key } = notification;
  if (key.includes('/')) return replica.isLeader ? notification : undefined;
  return { ...notification, key: `${key}/${replica.name}`, replica: replica.name };
}

/** Returns the condition as the process raised it. */
export function ofProcess({ replica, ...notification }: Notification): Notification {
  return replica === undefined ? notification : { ...notification, key: notification.key.replace(/\/.*/, '') };
}

interface AdoptDeps {
  readonly store: Pick<NotificationStore, 'ofStoppedReplicas'>;
  readonly book: NotificationBook;
  readonly clock: Clock;
  readonly events: EventBus;
  readonly signal: AbortSignal;
}

/**
 * Resolves the conditions of replicas that do not come back within a minute. Rejects with the signal's reason.
 */
export async function adoptStopped({ store, book, clock, events, signal }: AdoptDeps): Promise<never> {
  let before = new Set<string | undefined>();
  for (;;) {
    await sleep(clock, LOOK_EVERY_MS, signal);
    try {
      const { notifications, queue } = await store.ofStoppedReplicas();
      const stillStopped = {
        notifications: notifications.filter(({ notification }) => before.has(notification.replica)),
        queue: queue.filter(({ kept }) => before.has(kept.notification.replica)),
      };
      before = new Set([...notifications, ...queue.map(({ kept }) => kept)].map((kept) => kept.notification.replica));
      book.adopt(stillStopped, clock.now());
    } catch (error) {
      events.emit({ type: 'store.failed', operation: 'read of notifications', message: errorMessage(error) });
    }
  }
}

/**
 * End of a condition that a process stores in advance, and removes when it stops. If it ends otherwise, or without its
 * store, the condition may be known to a receiver but not to the store. The next process then sends the end, or the
 * leader of the replicas does.
 */
import { randomUUID } from 'node:crypto';
import type { Notification } from '#foundation/domain/notification.ts';
import type { QueuedNotification } from './notification-store.ts';

/** Returns the end of the condition of the store. @param at now, in epoch milliseconds */
export function storeEnd(at: number): Notification {
  const detail = 'the process ended before it could report the end of this condition';
  return { key: 'store', severity: 'critical', summary: 'The store is unavailable', detail, at, isResolved: true };
}

export function willOf(notification: Notification, receiver: string): QueuedNotification {
  return { id: randomUUID(), receiver, kept: { notification, startedAt: notification.at, isWill: true } };
}

/** Returns true for the condition that is notified although it cannot be saved. */
export function isOfStore({ kept }: QueuedNotification): boolean {
  return kept.notification.key.split('/')[0] === 'store';
}

export function isWill({ kept }: QueuedNotification): boolean {
  return kept.isWill === true;
}

/** Returns the notification to send. @param at now, in epoch milliseconds */
export function endOf(
  { kept: { notification, startedAt }, ...queued }: QueuedNotification,
  at: number,
): QueuedNotification {
  return { ...queued, kept: { notification: { ...notification, at }, startedAt, endedAt: at } };
}

/** Comparisons of notifications, and their number by severity. */
import {
  NOTIFICATION_SEVERITIES,
  type Notification,
  type NotificationSeverity,
} from '#foundation/domain/notification.ts';
import type { KeptNotification } from './notification-store.ts';

export function isWorse(one: Notification, other: Notification): boolean {
  return rank(one.severity) > rank(other.severity);
}

export function isSameText(one: Notification, other: Notification): boolean {
  return one.summary === other.summary && one.detail === other.detail && one.severity === other.severity;
}

/** Returns the number of active conditions. */
export function countActive(all: Iterable<KeptNotification>): Record<NotificationSeverity, number> {
  const bySeverity: Record<NotificationSeverity, number> = { info: 0, warning: 0, critical: 0 };
  for (const { notification, endedAt } of all) if (endedAt === undefined) bySeverity[notification.severity]++;
  return bySeverity;
}

function rank(severity: NotificationSeverity): number {
  return NOTIFICATION_SEVERITIES.indexOf(severity);
}

/** Events of conditions and of their notifications. */
import type { Notification, NotificationSeverity } from '../domain/notification.ts';

/** Reasons why a notification is not delivered. */
export const NOTIFICATION_LOSSES = ['full', 'rejected', 'too_old', 'no_receiver'] as const;
type NotificationLoss = (typeof NOTIFICATION_LOSSES)[number];

export type NotificationEvent =
  /** A condition becomes active, changes its texts, or is resolved. */
  | ({ readonly type: 'notification' } & Notification)
  | { readonly type: 'conditions.active'; readonly bySeverity: Readonly<Record<NotificationSeverity, number>> }
  | { readonly type: 'notification.sent'; readonly receiver: string }
  | {
      readonly type: 'notification.failed';
      /** `alertmanager`, `webhook`, or `webhook/OWNER`. */
      readonly receiver: string;
      /** Status or error code, never an address, because addresses may contain a secret. */
      readonly reason: string;
    }
  | {
      readonly type: 'notification.dropped';
      readonly receiver: string;
      readonly reason: NotificationLoss;
      readonly count: number;
    }
  | { readonly type: 'notifications.queued'; readonly receiver: string; readonly count: number };

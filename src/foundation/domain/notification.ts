/** Condition that operators are notified of: once when it becomes active, once when it is resolved. */

/** Severities, most urgent last. */
export const NOTIFICATION_SEVERITIES = ['info', 'warning', 'critical'] as const;
export type NotificationSeverity = (typeof NOTIFICATION_SEVERITIES)[number];

export interface Notification {
  /**
   * Permanent name of the condition, also after a restart: `held/POLICY`, `halted/POLICY/GROUP`. The first part is its
   * kind. A key of one part, such as `store`, is a condition of the process. Raising an active condition again updates
   * its texts. Resolving a condition that is not active has no effect.
   */
  readonly key: string;
  readonly severity: NotificationSeverity;
  readonly policy?: string;
  readonly account?: string;
  /** Owner of the policy, who is notified. */
  readonly owner?: string;
  readonly group?: string;
  readonly guard?: string;
  /** Replica whose process has the condition. */
  readonly replica?: string;
  /** One line without secrets, bodies or personal addresses. */
  readonly summary: string;
  /** Description of the condition, and what to do. */
  readonly detail: string;
  /** Epoch milliseconds when the condition became active or was resolved. */
  readonly at: number;
  readonly isResolved: boolean;
}

/** Condition that operators are notified of: once when it becomes active, once when it is resolved. */

/** Kind of a condition, with its severity. `npm run docs` writes the comments into `docs/notifications.md`. */
type ConditionKind =
  /**
   * `info`; `warning` after a run that aborted or failed; `critical` for the guards `exceeded_request` and
   * `outcome_mismatch`. A guard or an error holds a policy.
   */
  | 'held'
  /**
   * `warning`; `critical` after the third halt in a row. Resumed runs of a group fail again: nothing is sent there until
   * a canary succeeds or an operator lifts the halt.
   */
  | 'halted'
  /** `warning`. A plan needs an approval. */
  | 'approval'
  /** `info`. An approval is active: runs act without another decision. */
  | 'approved'
  /**
   * `warning`; `critical` if the daemon paused itself. The engine or a policy is paused. The kill switch is a pause, under the
   * key `paused`, until its file is removed.
   */
  | 'paused'
  /** `warning`. Actions have an unknown outcome. */
  | 'unknown'
  /** `warning`. An incident is open, or several that opened at the same time. */
  | 'incident'
  /** `warning`; `critical` if policies run in audit mode because of it. A configuration reload failed. */
  | 'reload'
  /** `critical`. The store is unavailable: policies do not act, and counters do not advance. */
  | 'store'
  /** `warning`; `critical` after the expiry. The certificate of a listener expires within 14 days, or has expired. */
  | 'certificate'
  /** `warning`. A scheduled backup failed. */
  | 'backup'
  /** `warning`. The receiver of traces has accepted no spans for a minute; the condition has its host and the cause. */
  | 'spans'
  /** `warning`. Another replica has the name of this one. */
  | 'replica-name';

export type ConditionKey = ConditionKind | `${ConditionKind}/${string}`;

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
  /** Set if an operator snoozed it: it is not active any more, and no receiver is notified. */
  readonly isSnoozed?: true;
}

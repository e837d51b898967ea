/** A notice tells people of a condition that lasts: once when it begins, once when it ends. */

/** Most urgent last. */
export const NOTICE_SEVERITIES = ['info', 'warning', 'critical'] as const;
export type NoticeSeverity = (typeof NOTICE_SEVERITIES)[number];

export interface Notice {
  /**
   * Names the condition for good, after a restart too: `held/POLICY`, `halted/POLICY/GROUP`; its first part is its kind.
   * Said again while it lasts it changes the texts; ending what has not begun says nothing.
   */
  readonly key: string;
  readonly severity: NoticeSeverity;
  readonly policy?: string;
  readonly account?: string;
  /** Of the policy: who is told. */
  readonly owner?: string;
  readonly group?: string;
  readonly guard?: string;
  /** One line, without secrets, bodies or addresses of people. */
  readonly summary: string;
  /** What is so, and what to do. */
  readonly detail: string;
  /** Epoch milliseconds: when it began, or ended. */
  readonly at: number;
  readonly isResolved: boolean;
}

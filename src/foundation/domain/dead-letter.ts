/**
 * Dead letter of a message, as reported by a failure callback, since no operation lists them. Its body is stored apart,
 * if at all.
 */

/** Reasons why a body is not kept. `total` occurs later than the callback. */
export const BODY_LACKS = ['too_large', 'redacted', 'incomplete', 'length', 'key', 'total'] as const;
export type BodyLack = (typeof BODY_LACKS)[number];

export interface DeadLetter {
  readonly account: string;
  readonly dlqId: string;
  readonly messageId: string;
  /** Epoch milliseconds when the callback arrived. */
  readonly learnedAt: number;
  /** Epoch milliseconds when the message was created. */
  readonly createdAt?: number;
  readonly url?: string;
  readonly topicName?: string;
  readonly scheduleId?: string;
  readonly retried?: number;
  /** Status of the last attempt; absent if there was no response. */
  readonly status?: number;
  readonly labels: readonly string[];
}

/** Maximum number of dead letters of an account that are read at once, newest first: by policies, incidents, and pages. */
export const MOST_DEAD_LETTERS = 10_000;

/** URL without user info, query and fragment, which may contain secrets; undefined if it is invalid. */
export function bareUrl(text: string): string | undefined {
  const url = URL.parse(text);
  return url === null ? undefined : `${url.origin}${url.pathname}`;
}

/**
 * Switches for points that the interface leaves open. Real installations differ, and a correct client works with either
 * choice.
 */

/** Every value of every switch. The first one is the default. */
export const SWITCH_VALUES = {
  /** Presence of the `state` field in log entries. */
  logState: ['present', 'absent'],
  /** End of a listing: no `cursor`, or an empty one. */
  endCursor: ['absent', 'empty'],
  logOrder: ['newest', 'oldest'],
  /** Order of both DLQs: in listings, and in bulk operations with a `count`. */
  dlqOrder: ['oldest', 'newest'],
  /**
   * Content of the log: an entry for each transition, or one for each message with its present state. The time of that
   * one is the last transition or the creation.
   */
  logEntries: ['transitions', 'latest', 'at-creation'],
  /** Digits of the fraction of a second in the points of statistics. */
  pointFractionDigits: [9, 0, 1, 2, 3, 4, 5, 6, 7, 8],
  /** Response to a publish to a URL Group: `[…]` or `{messages: […]}`. */
  groupPublish: ['array', 'object'],
  /** Status of a publish that was de-duplicated. */
  duplicateStatus: [200, 202],
  /** Effect of a resume's labels on those of the run. */
  labelOverride: ['replaces', 'adds'],
  /** Run id of a resumed run: new or unchanged. */
  resumeRunIds: ['renew', 'keep'],
  /** Form of the failure function's state: `failureFunctionState`, or `failureCallbackInfo: {state}`. */
  failureState: ['plain', 'info'],
  /** Call of the workflow's failure function for a permanently failed run without a failure callback. */
  failureFunction: ['off', 'on'],
  /** Destinations that only this machine or its network can reach. `hosts` and scripted ones are not private. */
  privateDestinations: ['allowed', 'refused'],
  /** Clock of the times in a signature: that of receivers, or that of the service, which tests move. */
  signatureTime: ['real', 'virtual'],
  canceledSpelling: ['CANCELLED', 'CANCELED'],
  /** Handling of query parameters that an operation does not know. */
  unknownFilter: ['refused', 'ignored'],
  /** Handling of a `count` above 100, where 100 is the maximum. */
  countAboveMaximum: ['refused', 'clamped'],
  /** Content of `dlq_message_count`: messages alone, or failed workflow runs too. */
  dlqMessageCount: ['messages', 'all'],
  /**
   * Rate-limit headers in responses of the message API. `both` sends `Burst-RateLimit-*` of the second and
   * `RateLimit-*` of the day. The single forms report the relevant window, which for a rejected request is the
   * exhausted one. `none` sends only `Retry-After`.
   */
  rateLimitHeaders: ['both', 'burst', 'daily', 'none'],
} as const;

export type Switches = {
  readonly [Name in keyof typeof SWITCH_VALUES]: (typeof SWITCH_VALUES)[Name][number];
};

/** Digits of the fraction of a second in `x`. The interface shows nine, installations send none to nine. */
export type FractionDigits = Switches['pointFractionDigits'];

export const DEFAULT_SWITCHES = Object.fromEntries(
  Object.entries(SWITCH_VALUES).map(([name, [value]]) => [name, value]),
) as Switches;

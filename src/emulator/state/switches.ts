/**
 * What the interface leaves open, as switches: real installations differ, and software is right only when it works
 * under either answer.
 */

/** Every value of every switch; the first one is the default. */
export const SWITCH_VALUES = {
  /** Whether log entries carry a `state` field. */
  logState: ['present', 'absent'],
  /** How the end of a listing is told: no `cursor`, or an empty one. */
  endCursor: ['absent', 'empty'],
  logOrder: ['newest', 'oldest'],
  /** Of both DLQs: what a listing tells first, and what a bulk operation with a `count` takes first. */
  dlqOrder: ['oldest', 'newest'],
  /**
   * What the log tells: an entry for each transition, or one for each message with its present state, at the time of
   * the last transition or of its creation.
   */
  logEntries: ['transitions', 'latest', 'at-creation'],
  /** Digits of the fraction of a second in the points of statistics. */
  pointFractionDigits: [9, 0, 1, 2, 3, 4, 5, 6, 7, 8],
  /** Answer of a publish to a URL Group: `[…]` or `{messages: […]}`. */
  groupPublish: ['array', 'object'],
  /** Status of a publish that was de-duplicated. */
  duplicateStatus: [200, 202],
  /** What labels given at a resume do to those the run had. */
  labelOverride: ['replaces', 'adds'],
  /** Whether a resumed run gets a new run id. */
  resumeRunIds: ['renew', 'keep'],
  /** State of the failure function: `failureFunctionState`, or `failureCallbackInfo: {state}`. */
  failureState: ['plain', 'info'],
  /** Whether a run that failed for good and has no failure callback calls its workflow's failure function. */
  failureFunction: ['off', 'on'],
  /** Destinations that only this machine or its network reaches; `hosts` and scripted ones are none. */
  privateDestinations: ['allowed', 'refused'],
  canceledSpelling: ['CANCELLED', 'CANCELED'],
  /** Query parameters that an operation does not know. */
  unknownFilter: ['refused', 'ignored'],
  /** `count` above 100 where 100 is the most. */
  countAboveMaximum: ['refused', 'clamped'],
  /** Whether `dlq_message_count` counts failed workflow runs too. */
  dlqMessageCount: ['messages', 'all'],
  /**
   * What answers of the message API tell of the limits: `Burst-RateLimit-*` of the second and `RateLimit-*` of the day,
   * or one of the names for the window that matters (of a refusal, the one that is full), or nothing but `Retry-After`.
   */
  rateLimitHeaders: ['both', 'burst', 'daily', 'none'],
} as const;

export type Switches = {
  readonly [Name in keyof typeof SWITCH_VALUES]: (typeof SWITCH_VALUES)[Name][number];
};

/** Digits of the fraction of a second in `x`: the interface shows nine, installations send none to nine. */
export type FractionDigits = Switches['pointFractionDigits'];

export const DEFAULT_SWITCHES = Object.fromEntries(
  Object.entries(SWITCH_VALUES).map(([name, [value]]) => [name, value]),
) as Switches;

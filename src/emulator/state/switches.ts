/**
 * What the interface leaves open, as switches: real installations differ, and software is right only when it works
 * under either answer.
 */

/** Digits of the fraction of a second in `x`: the interface shows nine, installations send none to nine. */
export type FractionDigits = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

export interface Switches {
  /** Whether log entries carry a `state` field. */
  readonly logState: 'present' | 'absent';
  /** How the end of a listing is told: no `cursor`, or an empty one. */
  readonly endCursor: 'absent' | 'empty';
  readonly logOrder: 'newest' | 'oldest';
  /** Of both DLQs: what a listing tells first, and what a bulk operation with a `count` takes first. */
  readonly dlqOrder: 'oldest' | 'newest';
  /**
   * What the log tells: an entry for each transition, or one for each message with its present state, at the time of
   * the last transition or of its creation.
   */
  readonly logEntries: 'transitions' | 'latest' | 'at-creation';
  /** Digits of the fraction of a second in the points of statistics. */
  readonly pointFractionDigits: FractionDigits;
  /** Answer of a publish to a URL Group: `[…]` or `{messages: […]}`. */
  readonly groupPublish: 'array' | 'object';
  /** Status of a publish that was de-duplicated. */
  readonly duplicateStatus: 200 | 202;
  /** What labels given at a resume do to those the run had. */
  readonly labelOverride: 'replaces' | 'adds';
  /** Whether a resumed run gets a new run id. */
  readonly resumeRunIds: 'renew' | 'keep';
  /** State of the failure function: `failureFunctionState`, or `failureCallbackInfo: {state}`. */
  readonly failureState: 'plain' | 'info';
  /** Whether a run that failed for good and has no failure callback calls its workflow's failure function. */
  readonly failureFunction: 'off' | 'on';
  /** Destinations that only this machine or its network reaches; `hosts` and scripted ones are none. */
  readonly privateDestinations: 'allowed' | 'refused';
  readonly canceledSpelling: 'CANCELLED' | 'CANCELED';
  /** Query parameters that an operation does not know. */
  readonly unknownFilter: 'refused' | 'ignored';
  /** `count` above 100 where 100 is the most. */
  readonly countAboveMaximum: 'refused' | 'clamped';
  /** Whether `dlq_message_count` counts failed workflow runs too. */
  readonly dlqMessageCount: 'messages' | 'all';
  /**
   * What answers of the message API tell of the limits: `Burst-RateLimit-*` of the second and `RateLimit-*` of the day,
   * or one of the names for the window that matters (of a refusal, the one that is full), or nothing but `Retry-After`.
   */
  readonly rateLimitHeaders: 'both' | 'burst' | 'daily' | 'none';
}

export const DEFAULT_SWITCHES: Switches = {
  logState: 'present',
  endCursor: 'absent',
  logOrder: 'newest',
  dlqOrder: 'oldest',
  logEntries: 'transitions',
  pointFractionDigits: 9,
  groupPublish: 'array',
  duplicateStatus: 200,
  labelOverride: 'replaces',
  resumeRunIds: 'renew',
  failureState: 'plain',
  failureFunction: 'off',
  privateDestinations: 'allowed',
  canceledSpelling: 'CANCELLED',
  unknownFilter: 'refused',
  countAboveMaximum: 'refused',
  dlqMessageCount: 'messages',
  rateLimitHeaders: 'both',
};

/** Every value of every switch, for those who set them at run time; the first is the default. */
export const SWITCH_VALUES: { readonly [K in keyof Switches]: readonly Switches[K][] } = {
  logState: ['present', 'absent'],
  endCursor: ['absent', 'empty'],
  logOrder: ['newest', 'oldest'],
  dlqOrder: ['oldest', 'newest'],
  logEntries: ['transitions', 'latest', 'at-creation'],
  pointFractionDigits: [9, 0, 1, 2, 3, 4, 5, 6, 7, 8],
  groupPublish: ['array', 'object'],
  duplicateStatus: [200, 202],
  labelOverride: ['replaces', 'adds'],
  resumeRunIds: ['renew', 'keep'],
  failureState: ['plain', 'info'],
  canceledSpelling: ['CANCELLED', 'CANCELED'],
  unknownFilter: ['refused', 'ignored'],
  countAboveMaximum: ['refused', 'clamped'],
  dlqMessageCount: ['messages', 'all'],
  rateLimitHeaders: ['both', 'burst', 'daily', 'none'],
  failureFunction: ['off', 'on'],
  privateDestinations: ['allowed', 'refused'],
};

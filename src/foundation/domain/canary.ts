/**
 * Canary: a message that the daemon sends through the service to its own hooks listener, and follows to a verdict.
 * Times are epoch milliseconds of the daemon's clock.
 */

/**
 * Result of a canary: who must act. `unknown` is neither a success nor a failure, and never a guess.
 *
 * - `service`: the service rejected the message, did not attempt it in time, or delivered it late, twice, or altered.
 * - `account`: the service rejects the account's requests, or a limit of the account is reached.
 * - `throttled`: the message waits for its flow-control key.
 * - `network`: the service could not connect to the receiver, which answers the daemon.
 * - `receiver`: the hooks listener rejected the message, was slow, or does not answer the daemon either.
 * - `service_reporting`: the message arrived, but the log or the callback does not report it.
 */
export const CANARY_VERDICTS = [
  'ok',
  'service',
  'account',
  'throttled',
  'network',
  'receiver',
  'service_reporting',
  'unknown',
] as const;
export type CanaryVerdict = (typeof CANARY_VERDICTS)[number];

/**
 * Phases of one message, in their usual order: the service accepted it, its log showed it, it arrived at the hooks
 * listener, the callback about it arrived, and the log reported its delivery.
 */
export const CANARY_PHASES = ['accepted', 'logged', 'arrived', 'callback', 'delivered'] as const;
export type CanaryPhase = (typeof CANARY_PHASES)[number];

/**
 * Outcomes of messages, for their counter. `sent`: accepted, or possibly accepted. `rejected`: certainly not
 * accepted. `arrived` counts each message once, `duplicate` its further arrivals. `late`: first arrival after the
 * timeout. `altered`: arrived with other content. `lost`: accepted, and did not arrive until the daemon stopped waiting.
 */
export const CANARY_OUTCOMES = ['sent', 'rejected', 'arrived', 'late', 'altered', 'duplicate', 'lost'] as const;
export type CanaryOutcome = (typeof CANARY_OUTCOMES)[number];

/** @public */
export const CANARY_SIZES = ['small', 'real'] as const;
/** `real`: a message of `realSize` bytes, sent every `realEvery`. */
export type CanarySize = (typeof CANARY_SIZES)[number];

/**
 * Route of a canary through the service. Exactly one member is present.
 * @public
 */
export interface CanaryVia {
  readonly flowControlKey?: string;
  readonly urlGroup?: string;
  readonly queue?: string;
  readonly workflow?: true;
}

/** Label of every message that a canary publishes. */
export const CANARY_LABEL = 'opsd-canary';
/** Path of canaries below the public URL of the hooks. ACCOUNT/NAME follows. */
const CANARY_PATH = '/hooks/canary/';

export interface CanaryVerdictReason {
  readonly verdict: CanaryVerdict;
  /** One plain sentence without a period at its end. */
  readonly reason: string;
}

/** One message of a canary. */
export interface CanaryRound {
  /** Identifies the round in pages and logs. It authenticates nothing. */
  readonly id: string;
  readonly size: CanarySize;
  /** Size of the body. */
  readonly bytes: number;
  /** Time of the publish request. */
  readonly startedAt: number;
  /** When the daemon first knew of each phase. The log is read at intervals, so `logged` and `delivered` are upper bounds. */
  readonly phases: Readonly<Partial<Record<CanaryPhase, number>>>;
  /** Number of arrivals after the first one. */
  readonly duplicates: number;
  /** Absent if unknown. */
  readonly messageId?: string;
  /** True for the first message of a new canary or of a started daemon. It has a verdict, but does not count. */
  readonly warmUp: boolean;
  /** Absent while the message is in flight. */
  readonly result?: CanaryVerdictReason & { readonly at: number };
}

/** State of a canary, for pages, the API, metrics and policies. */
export interface CanaryState extends CanaryVerdictReason {
  readonly account: string;
  readonly canary: string;
  /** Time since which the canary has this verdict; the start of the daemon if it never had another. */
  readonly since: number;
  /** Arrival of the last message with the verdict `ok`. */
  readonly lastSuccessAt?: number;
  /** Absent: messages go directly to the URL of the hooks listener. */
  readonly via?: CanaryVia;
  /** Milliseconds. */
  readonly every: number;
  /** Milliseconds. */
  readonly timeout: number;
  /** Number of messages without a verdict. */
  readonly inFlight: number;
  /** Last rounds, newest first, including those in flight. */
  readonly rounds: readonly CanaryRound[];
}

/** Port of everything that shows canaries. It reads nothing from the store. */
export interface Canaries {
  /** States of all canaries, in the order of the configuration. */
  states(): readonly CanaryState[];
}

/** Returns the start of the URLs of an account's canaries at the hooks listener. */
export function canaryUrl(publicUrl: string, account: string): string {
  return `${publicUrl.replace(/(?<!\/)\/+$/, '')}${CANARY_PATH}${account}/`;
}

/** Returns true for the URL of a canary of any daemon, or of its callback, which has no label. */
export function isCanaryUrl(url: string): boolean {
  const at = url.lastIndexOf(CANARY_PATH);
  return at !== -1 && /^[^/?#]+\/[^/?#]+(?:\/callback)?$/.test(url.slice(at + CANARY_PATH.length));
}

/**
 * Facts about one message of a canary. Durations count from the start of the round, on the monotonic clock, so that a
 * clock that is set cannot make a message late.
 */
import type { CanarySize } from '#foundation/domain/canary.ts';
import type { FailureReason } from '#foundation/domain/reason.ts';
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';

/** Kind of the route through the service. */
export type CanaryRoute = 'url' | 'flowControlKey' | 'urlGroup' | 'queue' | 'workflow';

export interface Arrival {
  readonly afterMs: number;
  /** True if the body is not the one that was published. */
  readonly altered: boolean;
  /** Duration of the response; absent if its sender did not wait for it. */
  readonly answerMs?: number;
  /** True if the message had arrived before, and the sender had the response. */
  readonly isRepeated?: boolean;
  /** Id of the relayed request, if the message arrived at another replica. */
  readonly relayed?: number;
}

/** Error of a request to the service. */
export interface RequestFailure {
  readonly code: ServiceErrorCode | 'invalid_request';
  readonly status?: number;
  readonly message: string;
}

/** Result of the publish request. */
export type Publish =
  | { readonly afterMs: number; readonly messageId?: string; readonly workflowRunId?: string }
  | {
      readonly afterMs: number;
      readonly failure: RequestFailure;
      /** True if the message was certainly not accepted. */
      readonly isRejected: boolean;
    };

/** Facts of a round that the store keeps. */
export interface KeptFacts {
  readonly route: CanaryRoute;
  readonly size: CanarySize;
  readonly timeoutMs: number;
  /** Limit of one delivery attempt, which the publish request sets; absent if the request cannot set it. */
  readonly attemptMs?: number;
  /** Absent before the response. */
  readonly publish?: Publish;
  readonly arrivals: readonly Arrival[];
  readonly callback?: { readonly afterMs: number; readonly status?: number };
  /** True if the daemon did not watch all the time: it restarted, or the machine was suspended. */
  readonly isInterrupted?: boolean;
}

/** State of a message by its log entries. `none`: the log has no entry. `waiting`: no attempt has begun. */
type LoggedState = 'none' | 'waiting' | 'attempting' | 'failed' | 'delivered' | 'canceled';

export interface LoggedFailure {
  readonly reason: FailureReason;
  readonly status?: number;
  readonly error?: string;
}

/** State of a message by its log entries, with its facts. */
export interface LoggedMessage {
  readonly state: LoggedState;
  /** Failure of the last attempt, if it failed. */
  readonly failure?: LoggedFailure;
  /** Time of the delivery on the service's clock, in epoch milliseconds. */
  readonly deliveredAt?: number;
  /** True if the log has headers of the response, so the service got one. */
  readonly hasResponse?: true;
}

/** Result of the last read of the log. */
export type LogReading = { readonly afterMs: number } & (LoggedMessage | { readonly failed: RequestFailure });

/**
 * Result of a request from the daemon to the address of the canary. `answers`: it arrived at this daemon. `other`:
 * another server responded. `fails`: no response.
 */
export type ReceiverProbe = 'answers' | 'other' | 'fails';

/**
 * A request that the hooks listener rejected. `token`: without a code of this canary. `signature`: signed with another
 * key. `changed`: the service signed the message that was published, and another body arrived. `own`: everything else.
 */
interface Rejection {
  readonly status: number;
  readonly reason: 'token' | 'signature' | 'changed' | 'own';
}

/** Facts of a round, with those that are read again after a restart. */
export interface CanaryFacts extends KeptFacts {
  readonly log?: LogReading;
  /** True while the hooks listener has the message, but has not stored it. */
  readonly isStoring?: boolean;
  /** Log of the callback. */
  readonly callbackLog?: LogReading;
  readonly receiver?: ReceiverProbe;
  /** True if another host answers the daemon. */
  readonly elsewhere?: boolean;
  /** True if the flow-control key has messages waiting, or is paused; `unknown` if it cannot be read. */
  readonly flow?: boolean | 'unknown';
  /** Statuses with which the hooks listener rejected requests to the canary since the start of the round. */
  readonly rejections: readonly Rejection[];
  /** True if the log had the response of an earlier message, so one without a response means that there was none. */
  readonly logsResponses: boolean;
  /** True if the service has answered the account before, so its address is right. */
  readonly isKnownService: boolean;
}

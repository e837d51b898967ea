/**
 * How a call to the service fails: a `ServiceError` when a request was, or might have been, sent, and an
 * `InvalidRequestError` when the arguments cannot be put on the wire. Neither ever holds a credential or a body.
 */
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';

/**
 * Whether the service may have acted on the request. `none` is said only when it is provable: nothing was sent, or the
 * service refused with a 4xx other than 408, 425 and 499.
 */
export type RequestEffect = 'none' | 'possible';

export interface ServiceErrorDetails {
  readonly code: ServiceErrorCode;
  readonly operation: string;
  /** HTTP status, when an answer began. */
  readonly status?: number;
  /** How long the service asks to be left alone. */
  readonly retryAfterMs?: number;
  readonly effect: RequestEffect;
  readonly cause?: unknown;
}

export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ServiceErrorCode;
  readonly operation: string;
  // Declared, not defined: absent members are truly absent.
  declare readonly status?: number;
  declare readonly retryAfterMs?: number;
  readonly effect: RequestEffect;

  constructor(message: string, details: ServiceErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.operation = details.operation;
    this.effect = details.effect;
    if (details.status !== undefined) this.status = details.status;
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
  }
}

/** An argument that cannot be expressed on the wire, or must not be: refused before anything was sent. */
export class InvalidRequestError extends Error {
  override readonly name = 'InvalidRequestError';
  readonly code = 'invalid_request';
  readonly effect: RequestEffect = 'none';
  readonly operation: string;

  /** @param problem names the argument and what it must be, never its value */
  constructor(operation: string, problem: string) {
    super(`${operation}: ${problem}; nothing was sent`);
    this.operation = operation;
  }
}

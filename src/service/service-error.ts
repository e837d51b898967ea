/**
 * Errors of a call to the service. `ServiceError`: a request was, or might have been, sent. `InvalidRequestError`: the
 * arguments are not valid on the wire. Neither contains a credential or a body.
 */
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';

/**
 * Possible effect of a request. `none` requires proof: nothing was sent, or the service rejected it with a 4xx other
 * than 408, 425 and 499.
 */
export type RequestEffect = 'none' | 'possible';

export type ServiceErrorDetails = Pick<
  ServiceError,
  'code' | 'operation' | 'status' | 'retryAfterMs' | 'effect' | 'cause'
>;

export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ServiceErrorCode;
  readonly operation: string;
  /** HTTP status, if a response began. */
  readonly status?: number;
  /** Wait that the service requests, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly effect: RequestEffect;

  constructor(message: string, details: ServiceErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.operation = details.operation;
    this.effect = details.effect;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Error for an argument that is invalid or not allowed on the wire. Nothing was sent. */
export class InvalidRequestError extends Error {
  override readonly name = 'InvalidRequestError';
  readonly code = 'invalid_request';
  readonly effect: RequestEffect = 'none';
  readonly operation: string;

  /** @param problem names the argument and its requirement, never its value */
  constructor(operation: string, problem: string) {
    super(`${operation}: ${problem}; nothing was sent`);
    this.operation = operation;
  }
}

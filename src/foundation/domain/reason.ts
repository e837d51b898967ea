/**
 * Reasons why an attempt or a run failed, as used by metrics and policies. The set is bounded: error texts never become
 * labels.
 */

export const FAILURE_REASONS = ['dns', 'tls', 'connection', 'timeout', 'http', 'no_response', 'other'] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

export const FAILURE_CAUSES = ['transient', 'permanent', 'quota', 'unknown'] as const;
/** Expectation for a repair: only `transient` is worth an unchanged retry. */
export type FailureCause = (typeof FAILURE_CAUSES)[number];

/** Ordered patterns: the first one that matches the error text determines the reason. */
const PATTERNS: readonly (readonly [RegExp, FailureReason])[] = [
  [/ENOTFOUND|EAI_AGAIN|no such host|\bdns\b|getaddrinfo/i, 'dns'],
  [/\btls\b|\bssl\b|certificate|x509|handshake/i, 'tls'],
  [/time[d]?[ -]?out|ETIMEDOUT|deadline exceeded/i, 'timeout'],
  [/ECONN|EPIPE|EHOSTUNREACH|ENETUNREACH|connection|socket|refused|reset by peer|\bEOF\b/i, 'connection'],
];

/**
 * @param status HTTP status of the last response; undefined or 0 if there was none
 * @param error the service's error text, if any
 */
export function failureReason(status: number | undefined, error: string | undefined): FailureReason {
  if (status !== undefined && status >= 100) return 'http';
  if (error === undefined || error === '') return 'no_response';
  return PATTERNS.find(([pattern]) => pattern.test(error))?.[1] ?? 'other';
}

export function failureCause(status: number | undefined, error: string | undefined): FailureCause {
  const reason = failureReason(status, error);
  if (reason === 'other') return 'unknown';
  if (reason !== 'http') return 'transient';
  if (status === 429) return 'quota';
  if (status! >= 500) return 'transient';
  if (status! >= 400) return 'permanent';
  return 'unknown';
}

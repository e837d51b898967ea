/** Errors of a request to the service: a closed set, used as `reason` in metrics, ledger and logs. */
export const SERVICE_ERROR_CODES = [
  'dns', // the host name did not resolve
  'connection', // refused, reset or closed before a response
  'tls', // certificate or handshake
  'timeout', // no complete response in time
  'unauthorized', // 401
  'forbidden', // 403
  'not_found', // 404
  'rate_limited', // 429
  'client_error', // any other 4xx
  'server_error', // 5xx
  'too_large', // the response is larger than the limit
  'malformed', // the response does not match the interface
  'redirect', // 3xx: never followed, because it would send the credential elsewhere
  'cursor_loop', // a listing returned a cursor twice
  'budget', // the daemon's own request budget is used up
  'lease', // this replica does not own the account, or not for long enough
  'aborted', // stopped by the daemon
] as const;

export type ServiceErrorCode = (typeof SERVICE_ERROR_CODES)[number];

/** Returns the code of an error of any class; undefined for errors outside this set. */
export function serviceErrorCode(error: unknown): ServiceErrorCode | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return SERVICE_ERROR_CODES.find((code) => code === error.code);
}

/** Returns true if the client rejected an invalid argument. Nothing was sent. */
export function isInvalidRequest(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'invalid_request';
}

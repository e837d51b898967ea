/** What can go wrong with a request to the service: a closed set, the `reason` of metrics, ledger and logs. */
export const SERVICE_ERROR_CODES = [
  'dns', // the host name did not resolve
  'connection', // refused, reset or closed before an answer
  'tls', // certificate or handshake
  'timeout', // no complete answer in time
  'unauthorized', // 401
  'forbidden', // 403
  'not_found', // 404
  'rate_limited', // 429
  'client_error', // any other 4xx
  'server_error', // 5xx
  'too_large', // the answer is larger than the limit
  'malformed', // the answer is not what the interface promises
  'redirect', // 3xx: never followed, a credential would travel
  'cursor_loop', // a listing returned a cursor twice
  'budget', // the daemon's own request budget is used up
  'aborted', // stopped by us
] as const;

export type ServiceErrorCode = (typeof SERVICE_ERROR_CODES)[number];

/** The code that an error carries, whatever its class; undefined for errors that are not of this set. */
export function serviceErrorCode(error: unknown): ServiceErrorCode | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return SERVICE_ERROR_CODES.find((code) => code === error.code);
}

/** Whether the client refused an argument that cannot be put into a request: nothing was sent. */
export function isInvalidRequest(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'invalid_request';
}

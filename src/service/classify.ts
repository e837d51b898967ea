/**
 * Converts the result of an exchange to a `ServiceError`: its code, the possible effect of the request, and a message.
 * The message says what happened, where, and what to do.
 */
import { redact } from '#foundation/domain/redact.ts';
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import { CLIENT_CERTIFICATE } from '#foundation/platform/client-pair.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';
import { InvalidRequestError, ServiceError, type RequestEffect, type ServiceErrorDetails } from './service-error.ts';
import { AnswerTooLarge, type ExchangeError } from './transport.ts';

const MAX_SERVICE_TEXT = 200;

/** 4xx statuses that a proxy or server may return after it passed on the request. */
const UNCLEAR_REFUSALS: ReadonlySet<number> = new Set([408, 425, 499]);

const ADVICE: Readonly<Record<ServiceErrorCode, string>> = {
  dns: 'check the host name in the URL of the account, and the resolver of this machine',
  connection: 'check that the service can be reached from this machine, and the proxy if one is set',
  tls: 'check the certificate of the service, and the authorities that this machine trusts (NODE_EXTRA_CA_CERTS)',
  timeout: 'raise client.timeout if the service is that slow',
  unauthorized: 'check the token, or the user and password, of the account',
  forbidden: 'the credential is valid but lacks this permission; a read-only token cannot write',
  not_found: 'check the id or name, and the base URL of the account',
  rate_limited: 'lower client.requestsPerSecond if this happens often',
  client_error: 'the service rejects the request as invalid',
  server_error: 'the service failed; wait, and check its status page if it continues',
  too_large: 'raise client.maxResponseBytes, or request less at once',
  malformed: 'check that the base URL of the account is the URL of the service',
  redirect:
    'redirects are not followed because they would receive the credential; set the base URL to the final address',
  cursor_loop: 'the listing would never end; try again later',
  budget: 'raise client.requestsPerDay, or lengthen the intervals',
  lease: 'the replica that owns the account sends its requests',
  aborted: 'the daemon stopped the request',
};

/** Destination of a request, for messages: no query, and only the origin of a message's destination. */
export interface RequestPlace {
  readonly operation: string;
  readonly method: string;
  /** URL that is safe to show. */
  readonly url: string;
  /** Texts that must not appear in a message, regardless of the service's response. */
  readonly hidden: readonly string[];
}

interface Failure extends Omit<ServiceErrorDetails, 'operation'> {
  readonly what: string;
  /** Advice that replaces the one for the code. */
  readonly advice?: string;
}

export function serviceError(place: RequestPlace, failure: Failure): ServiceError {
  const unsure = failure.effect === 'possible' && place.method !== 'GET';
  const parts = [
    failure.what,
    failure.retryAfterMs !== undefined && `it requests a wait of ${Math.ceil(failure.retryAfterMs / 1_000)} s`,
    failure.advice ?? ADVICE[failure.code],
    unsure && 'it may have taken effect: check before you send it again',
  ];
  const message = `${place.operation} (${place.method} ${place.url}): ${parts.filter(Boolean).join('; ')}`;
  return new ServiceError(message, { ...failure, operation: place.operation });
}

/** Creates the error for a response that is not a 2xx. `text` is the service's error text. */
export function statusError(
  place: RequestPlace,
  status: number,
  text: string,
  retryAfterMs: number | undefined,
): ServiceError {
  const said = text === '' ? '' : `: ${shortened(place, text)}`;
  return serviceError(place, {
    code: statusCode(status),
    what: `the service answered ${status}${said}`,
    effect: effectOfStatus(status),
    status,
    advice: status === 407 ? PROXY_ADVICE : undefined,
    retryAfterMs,
  });
}

/**
 * Creates the error for an exchange without a response. `stopped` is the caller's signal, separate from the deadline.
 */
export function exchangeError(
  place: RequestPlace,
  error: ExchangeError,
  stopped: AbortSignal,
): ServiceError | InvalidRequestError {
  const { cause, sent, status } = error;
  if (INVALID_REQUEST.test(codeOf(cause))) {
    return new InvalidRequestError(place.operation, `HTTP cannot express this request (${errorMessage(cause)})`);
  }
  const { code, what } = explain(cause, stopped);
  const advice = codeOf(cause) === NO_TUNNEL ? PROXY_ADVICE : schemeAdvice(code, place, cause);
  return serviceError(place, {
    code,
    what: sent ? what : `${what}; the request was not sent`,
    // A rejection is valid once its status is known, even if its text was cut off.
    effect: sent && (status === undefined || effectOfStatus(status) === 'possible') ? 'possible' : 'none',
    advice,
    status,
    // A parser error contains the raw response, and the error of a tunnel contains the proxy's text.
    ...(!(cause instanceof Error && 'rawPacket' in cause) && codeOf(cause) !== NO_TUNNEL && { cause }),
  });
}

/** Returns the error text of a body: `error` or `message` of an object, else plain text. */
export function serviceText(body: Buffer): string {
  const raw = body.toString('utf8').trim();
  if (raw.startsWith('<')) return '';
  try {
    const json: unknown = JSON.parse(raw);
    if (typeof json === 'string') return json;
    if (typeof json !== 'object' || json === null) return '';
    const { error, message } = json as { readonly error?: unknown; readonly message?: unknown };
    return [error, message].find((text) => typeof text === 'string') ?? '';
  } catch {
    return raw;
  }
}

/** Replaces hidden texts first and then truncates: a secret at the truncation must not leave its first half. */
function shortened(place: RequestPlace, text: string): string {
  let clean = text;
  for (const hidden of place.hidden) {
    if (hidden.length >= 4) clean = clean.replaceAll(hidden, '[secret]');
  }
  clean = redact(clean.replace(/[\p{Cc}\s]+/gu, ' ').trim());
  return clean.length <= MAX_SERVICE_TEXT ? clean : `${clean.slice(0, MAX_SERVICE_TEXT - 1)}…`;
}

export function statusCode(status: number): ServiceErrorCode {
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'forbidden';
  if (status === 404) return 'not_found';
  if (status === 429) return 'rate_limited';
  if (status >= 500) return 'server_error';
  if (status >= 400) return 'client_error';
  return 'redirect';
}

function effectOfStatus(status: number): RequestEffect {
  return status >= 400 && status < 500 && !UNCLEAR_REFUSALS.has(status) ? 'none' : 'possible';
}

function explain(cause: unknown, stopped: AbortSignal): { readonly code: ServiceErrorCode; readonly what: string } {
  if (stopped.aborted && cause === stopped.reason)
    return { code: 'aborted', what: 'stopped before the response arrived' };
  if (cause instanceof TimeoutError)
    return { code: 'timeout', what: cause.message.replace('result', 'complete response') };
  if (cause instanceof AnswerTooLarge) return { code: 'too_large', what: cause.message };
  const code = codeOf(cause);
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return { code: 'dns', what: `the host name does not resolve (${code})` };
  if (code === 'ETIMEDOUT') return { code: 'timeout', what: `no response in time (${code})` };
  if (code === 'HPE_HEADER_OVERFLOW') return { code: 'too_large', what: 'the response headers are too large' };
  if (code.startsWith('HPE_')) return { code: 'malformed', what: 'the response is not HTTP' };
  if (code === CLIENT_CERTIFICATE) return { code: 'tls', what: errorMessage(cause) };
  if (/CERT|TLS|SSL|UNABLE_TO|EPROTO/.test(code)) return { code: 'tls', what: `no trusted connection (${code})` };
  if (code === NO_TUNNEL) {
    const { statusCode = 'no response' } = cause as { readonly statusCode?: number };
    return { code: 'connection', what: `the proxy does not connect to the service (${statusCode})` };
  }
  return { code: 'connection', what: `the connection failed (${code === '' ? 'closed' : code})` };
}

/** Returns advice if the scheme of the URL is probably wrong, or the client certificate. */
function schemeAdvice(code: ServiceErrorCode, { url }: RequestPlace, cause: unknown): string | undefined {
  if (code === 'tls' && NO_TLS.test(codeOf(cause))) {
    return 'the port does not use TLS; set a port that does, or use http:// on a private network';
  }
  if (code === 'tls' && /CLIENT_CERTIFICATE|_ALERT_/.test(codeOf(cause))) {
    return 'check certFile and keyFile of the API: the service may demand a client certificate, or reject this one';
  }
  const isClosed = code === 'connection' && /^(?:|ECONNRESET)$/.test(codeOf(cause));
  if (url.startsWith('http:') && (isClosed || code === 'malformed')) {
    return 'use https:// in the URL of the account if this port uses TLS';
  }
  return undefined;
}

const NO_TUNNEL = 'ERR_PROXY_TUNNEL';
const PROXY_ADVICE = 'check HTTP_PROXY, HTTPS_PROXY and NO_PROXY in the environment, and the rules of the proxy';

/** Codes of Node for a header or path that it does not write. */
const INVALID_REQUEST = /^ERR_(?:INVALID_CHAR|INVALID_HTTP_TOKEN|HTTP_INVALID_HEADER_VALUE|UNESCAPED_CHARACTERS)$/;

/** OpenSSL error codes for a response that is not TLS. */
const NO_TLS = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|EPROTO/;

/** Returns the error code of the system or Node. If several addresses were tried, returns the code of the first. */
function codeOf(cause: unknown): string {
  if (cause instanceof AggregateError && !('code' in cause)) return codeOf(cause.errors[0]);
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return '';
  return typeof cause.code === 'string' ? cause.code : '';
}

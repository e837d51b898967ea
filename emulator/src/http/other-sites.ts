/**
 * Rejects requests that a page of another site sends to the control API, which needs no credentials. A browser names
 * the site that makes it send a request. A page can also map its own host name to this machine. The Host header of its
 * requests shows that name.
 */
import type { IncomingMessage } from 'node:http';
import { HostError, requestHost, isKnownHost } from '#foundation/platform/known-hosts.ts';
import { ApiError } from '../state/api-error.ts';

/** @throws {ApiError} 400 or 403 */
export function refuseOtherSites(request: IncomingMessage, ownHost: string): void {
  const { origin, host, 'sec-fetch-site': site } = request.headers;
  const isOther =
    site !== undefined ? site !== 'same-origin' && site !== 'none' : origin !== undefined && !isOwn(origin, host);
  if (isOther) throw new ApiError(403, 'the control API refuses requests that another site makes a browser send');
  const name = nameOf(request);
  if (name !== undefined && !isKnownHost(name, [ownHost])) {
    throw new ApiError(
      403,
      'the control API refuses requests for a host that is neither an address nor a private name',
    );
  }
}

function nameOf(request: IncomingMessage): string | undefined {
  try {
    return requestHost(request);
  } catch (error) {
    throw error instanceof HostError ? new ApiError(400, error.message) : error;
  }
}

function isOwn(origin: string, host: string | undefined): boolean {
  const own = URL.parse(`http://${host ?? ''}`)?.host;
  return own !== undefined && own === URL.parse(origin)?.host;
}

/**
 * Rejects requests that a page of another site sends to a route that needs no credentials. A browser names
 * the site that makes it send a request. A page can also map its own host name to this machine. The Host header of its
 * requests shows that name.
 */
import type { IncomingMessage } from 'node:http';
import { HostError, requestHost, isKnownHost } from '#foundation/platform/known-hosts.ts';
import { ApiError } from '../state/api-error.ts';
import type { Route } from './route.ts';

/** @throws {ApiError} 400 or 403 */
export function refuseOtherSites(request: IncomingMessage, ownHost: string, sites: Route['sites']): void {
  const { origin, host, 'sec-fetch-site': site } = request.headers;
  const isOther =
    site !== undefined ? site !== 'same-origin' && site !== 'none' : origin !== undefined && !isOwn(origin, host);
  if (isOther && sites === 'own')
    throw new ApiError(403, 'requests that another site makes a browser send are rejected here');
  const name = nameOf(request);
  if (name !== undefined && !isKnownHost(name, [ownHost])) {
    throw new ApiError(403, 'requests for a host that is neither an address nor a private name are rejected here');
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

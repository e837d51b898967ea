/**
 * Keeps pages of other sites from the control API, which asks nobody for a credential. A browser says which site makes
 * it send a request; a page that points its own name at this machine is known by the host that it asks for.
 */
import type { IncomingMessage } from 'node:http';
import { HostError, hostOf, isKnownHost } from '#foundation/platform/known-hosts.ts';
import { ApiError } from '../state/api-error.ts';

/** @throws {ApiError} 400 or 403 */
export function refuseOtherSites(request: IncomingMessage, ownHost: string): void {
  const { origin, host, 'sec-fetch-site': site } = request.headers;
  const isOther =
    site !== undefined ? site !== 'same-origin' && site !== 'none' : origin !== undefined && !isOwn(origin, host);
  if (isOther) throw new ApiError(403, 'the control API refuses requests that another site makes a browser send');
  const name = nameOf(request);
  if (name !== undefined && !isKnownHost(name, [ownHost])) {
    throw new ApiError(403, 'the control API refuses requests for a host that is no address and no private name');
  }
}

function nameOf(request: IncomingMessage): string | undefined {
  try {
    return hostOf(request);
  } catch (error) {
    throw error instanceof HostError ? new ApiError(400, error.message) : error;
  }
}

function isOwn(origin: string, host: string | undefined): boolean {
  const own = URL.parse(`http://${host ?? ''}`)?.host;
  return own !== undefined && own === URL.parse(origin)?.host;
}

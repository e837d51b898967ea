/** Whether a request comes from the daemon's own pages, or from no browser at all. */
import type { IncomingMessage } from 'node:http';
import { HttpError } from './reply.ts';

const SAFE = ['GET', 'HEAD', 'OPTIONS'];

/**
 * A browser says with every request that may change something where it comes from; what says nothing is none.
 *
 * @throws {HttpError} 403 for a request that another site made a browser send
 */
export function requireSameOrigin({ method, headers }: IncomingMessage): void {
  if (SAFE.includes(method ?? '')) return;
  const site = headers['sec-fetch-site'];
  if (site === 'same-origin' || site === 'none') return;
  if (site === undefined && (headers.origin === undefined || isOwn(headers.origin, headers.host))) return;
  throw new HttpError(403, 'forbidden', 'Another site made a browser send this: it is not done.');
}

/** The scheme is left out: what stands before the daemon may have ended TLS. */
function isOwn(origin: string, host: string | undefined): boolean {
  const [theirs, own] = [URL.parse(origin)?.host, URL.parse(`http://${host ?? ''}`)?.host];
  return theirs !== undefined && theirs !== '' && theirs === own;
}

/** Check that a request comes from the daemon's own pages, or not from a browser. */
import type { IncomingMessage } from 'node:http';
import { HttpError } from './reply.ts';

const SAFE = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Rejects requests from other sites. A browser states the origin of every request that may change something; other
 * clients state none.
 *
 * @throws {HttpError} 403 for a request that another site made a browser send
 */
export function requireSameOrigin({ method, headers }: IncomingMessage): void {
  if (SAFE.includes(method ?? '')) return;
  const site = headers['sec-fetch-site'];
  if (site === 'same-origin' || site === 'none') return;
  if (site === undefined && (headers.origin === undefined || isOwn(headers.origin, headers.host))) return;
  throw new HttpError(403, 'forbidden', 'Rejected: another site made a browser send this request.');
}

/** Compares without the scheme: a proxy in front of the daemon may terminate TLS. */
function isOwn(origin: string, host: string | undefined): boolean {
  const [theirs, own] = [URL.parse(origin)?.host, URL.parse(`http://${host ?? ''}`)?.host];
  return theirs !== undefined && theirs !== '' && theirs === own;
}

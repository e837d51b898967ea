/** Bearer tokens of those who call the hooks. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Secret } from '#foundation/platform/secret.ts';
import { HttpError } from './reply.ts';

/**
 * Several tokens may stand in the secret, a line each: while one replaces another both are taken.
 *
 * @throws {HttpError} 401 when the header holds none of them
 * @throws {Error} when the secret cannot be read
 */
export function requireBearer(header: string | undefined, tokens: Secret): void {
  const given = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? '';
  let isKnown = false;
  // All of them are compared, so that the time tells nothing of which one it was.
  for (const token of linesOf(tokens)) isKnown = isSame(given, token) || isKnown;
  if (isKnown) return;
  const message = 'A bearer token is needed that this hook knows: Authorization: Bearer TOKEN.';
  throw new HttpError(401, 'unauthorized', message, { 'WWW-Authenticate': 'Bearer' });
}

/** Compares in a time that does not depend on where two texts differ. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

/** The secrets of a file with one on each line. */
export function linesOf(secret: Secret): readonly string[] {
  return secret
    .reveal()
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

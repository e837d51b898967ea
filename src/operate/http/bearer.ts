/** Bearer tokens of the hooks. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Secret } from '#foundation/platform/secret.ts';
import { HttpError } from './reply.ts';

/**
 * Checks a bearer token. The secret may contain several tokens, one on each line: during a rotation, both are valid.
 *
 * @param onWrong called with a wrong token; it may reject the request differently
 * @throws {HttpError} 401 if the header has none of them
 * @throws {Error} if the secret cannot be read
 */
export async function requireBearer(
  header: string | undefined,
  tokens: Secret,
  onWrong: (given: string) => Promise<void>,
): Promise<void> {
  const given = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? '';
  if (isOneOf(given, linesOf(tokens))) return;
  await onWrong(given);
  const message = 'A valid bearer token of this hook is required: Authorization: Bearer TOKEN.';
  throw new HttpError(401, 'unauthorized', message, { 'WWW-Authenticate': 'Bearer' });
}

/** Compares two texts in a time that does not depend on where they differ. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

/** Compares all texts, so that the time does not show which one matched. */
export function isOneOf(given: string, texts: readonly string[]): boolean {
  return texts.filter((text) => isSame(given, text)).length > 0;
}

/** Secrets of a file with one on each line. */
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

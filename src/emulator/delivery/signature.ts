/**
 * Signed deliveries: each request carries an HS256 JWT (RFC 7519) by which its receiver knows who sent it, to where,
 * when, and that the body is whole.
 */
import { createHash, createHmac } from 'node:crypto';

export interface SignedDelivery {
  /** Who signs. */
  readonly issuer: string;
  /** The destination, as it was given. */
  readonly url: string;
  /** Another one for each attempt: a receiver can refuse what it has seen. */
  readonly id: string;
  readonly body: Uint8Array;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A request that is this old is no longer to be believed. */
const LIFETIME_SECONDS = 300;
const HEADER = base64url(JSON.stringify({ alg: 'HS256', typ: 'JWT' }));

/** Claims: `iss`, `sub` (the destination), `iat`, `nbf`, `exp` (seconds), `jti`, and `body`, the body's SHA-256. */
export function signDelivery(key: string, { issuer, url, id, body, now }: SignedDelivery): string {
  const at = Math.floor(now / 1_000);
  const hash = createHash('sha256').update(body).digest('base64url');
  const claims = { iss: issuer, sub: url, iat: at, nbf: at, exp: at + LIFETIME_SECONDS, jti: id, body: hash };
  const signed = `${HEADER}.${base64url(JSON.stringify(claims))}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

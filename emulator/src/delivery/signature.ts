/**
 * Signed deliveries: each request carries an HS256 JWT (RFC 7519). It proves to the receiver the sender, destination
 * and time of the request, and the integrity of its body.
 */
import { createHash, createHmac } from 'node:crypto';

export interface SignedDelivery {
  /** Signer. */
  readonly issuer: string;
  /** Destination as given. */
  readonly url: string;
  /** Unique per attempt, so that a receiver can reject duplicates. */
  readonly id: string;
  readonly body: Uint8Array;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Lifetime of a signature. Receivers must reject older requests. */
const LIFETIME_SECONDS = 300;
const HEADER = base64url(JSON.stringify({ alg: 'HS256', typ: 'JWT' }));

/**
 * Builds the JWT. Claims: `iss`, `sub` (the destination), `iat`, `nbf`, `exp` (seconds), `jti`, and `body`, the body's
 * SHA-256.
 */
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
